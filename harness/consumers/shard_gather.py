"""shard-gather: how LingBot's model cuts a sequence into shards, and gathers what became of them.

Driven, on every rank of a real group: `_sequence_shard_tensor`, `_sequence_all_gather_varlen`, and
the one after the other, as the model's forward does. The forward tells them splits that it has
computed itself, so they are called with other ones directly. Provided is what
`harness.consumers.lingbot_ranks` lists.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Output, outcome_of, spans
from harness.consumers.lingbot_ranks import ForwardContext, load_lingbot
from harness.consumers.rank_consumer import RankConsumer
from harness.outcome import Outcome, Passed, Whose
from harness.ranks import Rank
from harness.upstream.loading import Upstream
from simulators.exchanged_rows import WIDTH, RowReader, shard_of, stamped
from simulators.scheduler import Told

_SEQUENCE = "the sequence"
_DOES = {
    "cut": "cut the sequence",
    "gather": "gather the shards",
    "both": "cut the sequence and gather it",
}


class ShardGather(RankConsumer):
    """The consumer of shard-gather."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        super().__init__(upstream, device)
        self._lingbot = load_lingbot(upstream, self.state, ForwardContext())

    def passed(self, told: Sequence[Told], dims: Mapping[str, str]) -> Passed:
        """Return what each rank is told, and holds."""
        parts = [
            {"splits": one.splits, "rows": one.rows, "fate": one.fate, "form": one.form}
            for one in told
        ]
        request = {"entry": dims["entry"], "rows": [one.rows for one in told]}
        return Passed({"ranks": parts}, request, RowReader())

    def be(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> Outcome:
        """Return which rows the rank had in the end."""
        self.state.enter(rank, told[rank.index].fate)

        def call() -> Output:
            self.state.begin(_DOES[dims["entry"]])
            made = self._made(rank, told, dims["entry"])
            return _read(rank.index, made, told, dims["entry"])

        return outcome_of(self.upstream, call)

    def _made(self, rank: Rank, told: Sequence[Told], entry: str) -> torch.Tensor:
        mine, rows = told[rank.index], _rows(told)
        if entry == "gather":
            tokens = shard_of(mine.form, rank.index, [one.rows for one in told])
            held = rows[:, tokens].to(self.device)
        else:
            whole = rows.to(self.device)
            held = self._lingbot._sequence_shard_tensor(whole, mine.splits, rank.index)
            if entry == "cut":
                return held  # type: ignore[no-any-return]
        return self._lingbot._sequence_all_gather_varlen(  # type: ignore[no-any-return]
            held.contiguous(), mine.splits, self.state.group().device_group
        )


def _rows(told: Sequence[Told]) -> torch.Tensor:
    """Return the whole sequence, (1, rows, WIDTH)."""
    return stamped(range(sum(one.rows for one in told)), range(1))[:, :, 0]


def _read(rank: int, made: torch.Tensor, told: Sequence[Told], entry: str) -> Output:
    mine = told[rank]
    first, count = (mine.first, mine.rows) if entry == "cut" else (0, _rows(told).shape[1])
    is_right = tuple(made.shape) == (1, count, WIDTH)
    kind = "as it should be" if is_right else f"{tuple(made.shape)}"
    wants = [Whose(_SEQUENCE, token) for token in range(first, first + count)]
    has: list[Any] = []
    if made.ndim == 3:
        read = RowReader()(made[0].tolist())
        has = [Whose(_SEQUENCE, origin.position) if origin else None for origin in read]
    found = spans(f"rank {rank}", wants, has, unit="rows")
    return Output(found, {f"the form of the rows of rank {rank}": kind}, made)
