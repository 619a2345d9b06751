"""shard-gather: how LingBot's model cuts a sequence into shards, and gathers what became of them.

Driven, on every rank of a real group: `_sequence_shard_tensor`, `_sequence_all_gather_varlen`, and
the one after the other, as the model's forward does. The forward tells them splits that it has
computed itself, so they are called with other ones directly. Provided is what
`harness.consumers.lingbot_ranks` lists.
"""

from collections.abc import Mapping, Sequence

import torch

from harness.consumers.consumer import Output, outcome_of
from harness.consumers.exchange_provenance import provenance
from harness.consumers.lingbot_ranks import ForwardContext, load_lingbot
from harness.consumers.rank_consumer import RankConsumer
from harness.outcome import Outcome, Passed, Whose
from harness.ranks import Rank
from harness.stretches import Stretch, spans_between
from harness.upstream.loading import Upstream
from simulators.exchanged_rows import shard_of, stamped
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
        return Passed({"ranks": parts}, request, provenance(int(dims["width"])))

    def be(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> Outcome:
        """Return which rows the rank had in the end."""
        self.state.enter(rank, told[rank.index].fate)

        def call() -> Output:
            self.state.begin(_DOES[dims["entry"]])
            return _read(rank.index, self._made(rank, told, dims), told, dims)

        return outcome_of(self.upstream, call)

    def _made(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> torch.Tensor:
        mine, rows, entry = told[rank.index], _rows(told, int(dims["width"])), dims["entry"]
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


def _rows(told: Sequence[Told], width: int) -> torch.Tensor:
    """Return the whole sequence, (1, rows, width)."""
    return stamped(range(_count(told)), range(1), width)[:, :, 0]


def _count(told: Sequence[Told]) -> int:
    return sum(one.rows for one in told)


def _read(rank: int, made: torch.Tensor, told: Sequence[Told], dims: Mapping[str, str]) -> Output:
    mine, width = told[rank], int(dims["width"])
    first, count = (mine.first, mine.rows) if dims["entry"] == "cut" else (0, _count(told))
    is_right = tuple(made.shape) == (1, count, width)
    kind = "as it should be" if is_right else f"{tuple(made.shape)}"
    has: list[Stretch] = []
    if made.ndim == 3:
        has = provenance(width).stretches(made[0], lambda owner: _SEQUENCE)
    wants = [Stretch(Whose(_SEQUENCE, first), count)]
    found = spans_between(f"rank {rank}", wants, has, "rows")
    return Output(found, {f"the form of the rows of rank {rank}": kind}, made)
