"""encoder-tp-layout: the ranks of upstream's encoder prepare a batch each, and encode it together.

Driven, on every rank of a real group: `MMEncoder.batch_encode`, from the requests to what rank 0
stages and answers, and what the others answer. A rank that has answered stays, as a server does.

Provided, by name: the tensor-parallel group (its gather of objects as upstream's does it on a CPU),
a model that is parallel by columns: each rank makes its columns of every row of the features that
it has, and the ranks gather them; and what `harness.consumers.prepared_batch` lists.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import ended, fields_of, read_staged, with_refusals
from harness.consumers.encoder_server import EncoderServer
from harness.consumers.prepared_batch import (
    asked_of,
    layout_of,
    part_of,
    passed_prepared,
    prepared_encoder,
    with_status,
)
from harness.outcome import Outcome, Passed, Run
from harness.rank_outcome import of_group
from harness.ranks import Rank
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.prepared_requests import honest_requests
from simulators.processed_media import modelled_rows

_STAYS = {"after": "stays"}


class EncoderTpLayout:
    """The consumer of encoder-tp-layout."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        self._server = EncoderServer(upstream, module, "cpu")

    def close(self) -> None:
        """Do nothing: every group is over when its drive is."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the batch as each rank would prepare it."""
        return self._passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the ranks made of the batch."""
        passed = self._passed(dims, lie)
        parts, asked = passed.payload["ranks"], passed.request
        outcome = of_group(
            self._upstream, self._device, _STAYS, len(parts), lambda r: self._be(r, parts, asked)
        )
        return Run(outcome, passed)

    def _be(
        self, rank: Rank, parts: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]
    ) -> Outcome:
        refusals: dict[str, str] = {}
        server, mine = self._server, parts[rank.index]
        server.joins(_group(rank))
        mine = {**mine, "features": mine["features"].to(rank.device)}
        requests = [fields_of(index, items) for index, items in enumerate(asked["items"])]

        def call() -> Output:
            encoder = prepared_encoder(server, mine, _modelled_by(rank))
            encoder.rank = rank.index
            rank.about_to("encode the batch")
            answers = ended(encoder.batch_encode(requests, server.module.Modality.IMAGE))
            if rank.index == 0:
                return read_staged(server, encoder, with_status(answers), asked, refusals)
            refusals.update(
                {
                    name: str(answer[3])
                    for name, answer in zip(asked["names"], with_status(answers), strict=True)
                    if answer[3] is not None
                }
            )
            return Output(value=answers)

        return with_refusals(outcome_of(self._upstream, call), refusals)

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> Passed:
        layout, pictures, count = layout_of(dims), dims["pictures"], int(dims["ranks"])
        honest = honest_requests(layout, pictures)
        lied = lie.told(honest)
        liars = range(count) if dims["told"] == "all" else [int(dims["told"])]
        # On the CPU: a worker that had used a card could fork no rank that does.
        parts = [
            part_of(lied if rank in liars else honest, torch.device("cpu"), rank)
            for rank in range(count)
        ]
        return passed_prepared({"ranks": parts}, asked_of(layout, pictures))


def _group(rank: Rank) -> Provided:
    def gathered(mine: Any) -> list[Any]:
        rank.about_to("hear what the others could not prepare")
        return _gathered(rank, mine)

    return Provided(
        "tp_group", world_size=rank.count, cpu_group=rank.group, all_gather_object=gathered
    )


def _gathered(rank: Rank, mine: Any) -> list[Any]:
    every: list[Any] = [None] * rank.count
    dist.all_gather_object(every, mine, group=rank.group)
    return every


def _modelled_by(rank: Rank) -> Callable[[torch.Tensor], torch.Tensor]:
    def modelled(features: torch.Tensor) -> torch.Tensor:
        rows = modelled_rows(features)
        mine = rows.chunk(rank.count, dim=1)[rank.index]
        rank.about_to("gather the columns of its rows")
        columns = _gathered(rank, mine.cpu())
        if len({len(one) for one in columns}) > 1:
            raise RuntimeError("the ranks made other numbers of rows")
        return torch.cat(columns, dim=1).to(rows.device)

    return modelled
