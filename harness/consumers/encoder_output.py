"""encoder-features and encoder-grid-dim: upstream cuts a processor's output for its items.

Driven: `MMEncoder.batch_encode` with upstream's own preprocessor behind it, from the requests to
what is staged for each. The preprocessor's look-up of grids and counts is real, as is the cut of
pixel features. The simulated model makes a row of each group of patches that it is given, so the
rows say which patches those were.

Provided, by name: what `harness.consumers.processing_encoder` lists.
"""

from collections.abc import Mapping

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import (
    ended,
    fields_of,
    read_staged,
    request_name,
    with_refusals,
)
from harness.consumers.encoder_server import DTYPE, EncoderServer
from harness.consumers.processing_encoder import processing_encoder
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.encoder import RULES, WIDTH, honest_items, owner_of
from simulators.processed_media import honest_output


class EncoderOutput:
    """The consumer of encoder-features and encoder-grid-dim."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the output as it would be cut."""
        return _passed(dims, lie, self._server.device)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request."""
        passed = _passed(dims, lie, self._server.device)
        server, refusals = self._server, dict[str, str]()
        modality = server.module.Modality.IMAGE
        requests = [fields_of(index, n) for index, n in enumerate(passed.request["items"])]

        def call() -> Output:
            fields, said = passed.payload["fields"], passed.payload["merge_size"]
            encoder = processing_encoder(server, lambda: dict(fields), said)
            answers = ended(encoder.batch_encode(requests, modality))
            return read_staged(server, encoder, answers, passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)


def _passed(dims: Mapping[str, str], lie: Lie, device: torch.device) -> Passed:
    layout = [int(dims["each"])] * int(dims["requests"])
    payload = lie.told(honest_output(sum(layout), dims["pictures"]))
    items = honest_items(sum(layout), dims["pictures"]).records
    fields = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in payload.records[0].items()
    }
    told = {"fields": fields, "merge_size": payload.beside["merge_size"]}
    request = {
        "counts": [item.count for item in items],
        "grids": [item.grid for item in items],
        "items": layout,
        "names": [request_name(index) for index in range(len(layout))],
        "merge_size": RULES.merge,
        "width": WIDTH,
        "dtype": str(DTYPE),
    }
    return Passed(told, request, owner_of)
