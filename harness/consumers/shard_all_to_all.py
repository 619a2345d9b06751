"""shard-all-to-all: the exchanges of rows and heads between the ranks of one sequence.

Driven, on every rank of a real group: the four exchanges of `layers.usp`, in and out, with splits
and without. Provided is what `harness.consumers.lingbot_ranks` lists for the exchanges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Output, outcome_of
from harness.consumers.exchange_provenance import provenance
from harness.consumers.lingbot_ranks import load_usp
from harness.consumers.rank_consumer import RankConsumer
from harness.outcome import Outcome, Passed, Span, Whose
from harness.ranks import Rank
from harness.stretches import Stretch, spans_between
from harness.upstream.loading import Upstream
from simulators.exchanged_rows import changed, named, stamped
from simulators.scheduler import Told

_SEQUENCE = "the sequence"


class ShardAllToAll(RankConsumer):
    """The consumer of shard-all-to-all."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        super().__init__(upstream, device)
        self._usp = load_usp(upstream, self.state)

    def passed(self, told: Sequence[Told], dims: Mapping[str, str]) -> Passed:
        """Return what each rank is told, and holds."""
        parts = []
        for rank, mine in enumerate(told):
            rows = _brought(mine, rank, told, dims)
            part: dict[str, Any] = {
                "shape": tuple(rows.shape),
                "dtype": str(rows.dtype),
                "heads": mine.heads,
                "rows": mine.rows,
                "fate": mine.fate,
                "form": mine.form,
            }
            if dims["entry"].startswith("varlen"):
                part["splits"] = mine.splits
            parts.append(part)
        request = {
            "entry": dims["entry"],
            "rows": [one.rows for one in told],
            "width": int(dims["width"]),
            "head_dim": int(dims["head_dim"]),
        }
        return Passed({"ranks": parts}, request, provenance(int(dims["width"])))

    def be(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> Outcome:
        """Return what the rank had after the exchange."""
        mine = told[rank.index]
        self.state.enter(rank, mine.fate)

        def call() -> Output:
            self.state.begin(f"take part in {dims['entry']}")
            rows = _brought(mine, rank.index, told, dims).to(self.device)
            return _read(rank.index, self._exchanged(rows, mine, dims), told, dims)

        return outcome_of(self.upstream, call)

    def _exchanged(self, rows: torch.Tensor, mine: Told, dims: Mapping[str, str]) -> torch.Tensor:
        head_dim = int(dims["head_dim"])
        fixed, varlen = {
            "in": (self._usp._usp_input_all_to_all, self._usp._usp_input_all_to_all_varlen),
            "out": (self._usp._usp_output_all_to_all, self._usp._usp_output_all_to_all_varlen),
        }[dims["entry"].partition("-")[2]]
        if dims["entry"].startswith("fixed"):
            return fixed(rows, head_dim=head_dim)  # type: ignore[no-any-return]
        return varlen(rows, mine.splits, head_dim=head_dim)  # type: ignore[no-any-return]


def _brought(mine: Told, rank: int, told: Sequence[Told], dims: Mapping[str, str]) -> torch.Tensor:
    """Return the rows that a rank brings: its own with all heads, or all with its own heads."""
    tokens, heads = _own(mine), range(mine.heads)
    if dims["entry"].endswith("out"):
        share = mine.heads // len(told)
        tokens, heads = _all(told), range(rank * share, (rank + 1) * share)
    rows = changed(stamped(tokens, heads, int(dims["width"])), mine.form)
    is_first = dims["head_dim"] == "1" and rows.ndim == 4
    return rows.transpose(1, 2).contiguous() if is_first else rows


def _own(mine: Told) -> range:
    return range(mine.first, mine.first + mine.rows)


def _all(told: Sequence[Told]) -> range:
    return range(sum(one.rows for one in told))


def _read(rank: int, made: torch.Tensor, told: Sequence[Told], dims: Mapping[str, str]) -> Output:
    share = int(dims["heads"]) // len(told)
    tokens, heads = _all(told), range(rank * share, (rank + 1) * share)
    if dims["entry"].endswith("out"):
        tokens, heads = _own(told[rank]), range(int(dims["heads"]))
    width = int(dims["width"])
    shape = (1, len(tokens), len(heads), width)
    wanted = shape if dims["head_dim"] == "2" else (1, shape[2], shape[1], width)
    is_right = (tuple(made.shape), made.dtype) == (wanted, torch.float32)
    kind = "as it should be" if is_right else f"{tuple(made.shape)}, {made.dtype}"
    facts = {f"the form of the rows of rank {rank}": kind}
    rows = made.transpose(1, 2) if dims["head_dim"] == "1" and made.ndim == 4 else made
    found: list[Span] = []
    if rows.ndim == 4:
        wants = [Stretch(Whose(_SEQUENCE, tokens.start), len(tokens))]
        for place, head in enumerate(heads):
            has = _of_head(rows, place, named(head), width)
            found += spans_between(f"rank {rank}", wants, has, "rows")
    return Output(tuple(found), facts, made)


def _of_head(rows: torch.Tensor, place: int, head: str, width: int) -> list[Stretch]:
    if place >= rows.shape[2]:
        return []

    def called(owner: int | str) -> str:
        return _SEQUENCE if owner == head else str(owner)

    return provenance(width).stretches(rows[0, :, place], called)
