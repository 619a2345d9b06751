"""shard-splits, shard-strategy, shard-kv-guard: LingBot's attention over a shared sequence.

Driven, on every rank of a real group: `LingBotWorldCausalSelfAttention.forward` of two blocks one
after the other, with real exchanges and a real cache. Provided is what
`harness.consumers.lingbot_ranks` lists.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from contracts.contract import Origin
from harness.consumers.consumer import Output, outcome_of, spans
from harness.consumers.lingbot_ranks import (
    ForwardContext,
    attention,
    cache_module,
    load_lingbot,
)
from harness.consumers.rank_consumer import RankConsumer
from harness.outcome import Outcome, Passed, Span, Whose
from harness.ranks import Rank
from harness.upstream.loading import Upstream
from simulators.attention_rows import (
    WIDTH,
    ValueReader,
    looked_for,
    near,
    stamped_rows,
    weighed,
)
from simulators.scheduler import MISSING, Told

_STRATEGY = "SGLANG_LINGBOT_SP_STRATEGY"
_BLOCKS = 2
_SEQUENCE = "the sequence"
_OWN_ROWS = "its own shard"
_ALL_ROWS = "the whole sequence"


class ShardSplits(RankConsumer):
    """The consumer of shard-splits, shard-strategy and shard-kv-guard."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        super().__init__(upstream, device)
        self._context = ForwardContext()
        self._lingbot = load_lingbot(upstream, self.state, self._context)

    def passed(self, told: Sequence[Told], dims: Mapping[str, str]) -> Passed:
        """Return what each rank is told, and holds."""
        parts = [
            {name: value for name, value in vars(one).items() if value is not MISSING}
            for one in told
        ]
        rows = [one.rows for one in told]
        request = {"rows": rows, "heads": told[0].heads}
        return Passed({"ranks": parts}, request, ValueReader(sum(rows)))

    def be(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> Outcome:
        """Return what attention made of the rank's rows."""
        mine = told[rank.index]
        self.state.enter(rank, mine.fate)
        self._context.tell(mine)
        os.environ[_STRATEGY] = mine.strategy
        rows = sum(one.rows for one in told)
        part = slice(mine.first, mine.first + mine.rows)

        def call() -> Output:
            made = []
            for block in range(_BLOCKS):
                self.state.begin(f"attend in block {block}")
                parts = [one[:, part].to(self.device) for one in stamped_rows(rows, mine.heads)]
                made.append(self._attend(parts, mine, len(told), rows))
            return _read(rank.index, made, mine, rows)

        return outcome_of(self.upstream, call)

    def _attend(
        self, parts: Sequence[torch.Tensor], mine: Told, ranks: int, rows: int
    ) -> torch.Tensor:
        block = attention(self._lingbot, mine.heads, WIDTH)
        cache = self._cache(mine, ranks, rows) if mine.cache else None
        nothing = torch.zeros(1, device=self.device)
        with torch.no_grad():
            return block.forward(  # type: ignore[no-any-return]
                *(part.clone() for part in parts),
                (nothing, nothing),
                None,
                kv_cache=cache,
                current_start=0,
            )

    def _cache(self, mine: Told, ranks: int, rows: int) -> Any:
        # As the denoising stage makes it, from the same batch: Ulysses shares out the heads.
        is_shared = mine.batch and mine.enabled and mine.strategy.strip().lower() == "ulysses"
        heads = mine.heads // ranks if is_shared else mine.heads
        ends = [torch.zeros(1, dtype=torch.long, device=self.device) for _ in range(2)]
        shape = (1, 2 * rows, heads, WIDTH)
        return cache_module().CausalSelfAttentionKVCache(
            k=torch.zeros(shape, device=self.device),
            v=torch.zeros(shape, device=self.device),
            global_end_index=ends[0],
            local_end_index=ends[1],
            global_end_index_int=0,
            local_end_index_int=0,
            cache_size=2 * rows,
            sink_tokens=0,
            attention_window_size=2 * rows,
        )


def _read(rank: int, made: Sequence[Any], mine: Told, rows: int) -> Output:
    facts: dict[str, str] = {}
    found: list[Span] = []
    for block, rowed in enumerate(made):
        place = f"rank {rank}" + (f" in block {block}" if block else "")
        is_tensor = isinstance(rowed, torch.Tensor)
        shape = tuple(rowed.shape) if is_tensor else type(rowed).__name__
        is_right = shape == (1, mine.rows, mine.heads, WIDTH)
        facts[f"the form of {place}"] = "as it should be" if is_right else str(shape)
        repeated = block > 0 and is_tensor and torch.equal(rowed, made[0])
        if is_tensor and rowed.ndim == 4 and not repeated:
            found += _of_block(place, rowed[0].cpu(), mine, rows)
    return Output(tuple(found), facts, list(made))


def _of_block(place: str, made: torch.Tensor, mine: Told, rows: int) -> list[Span]:
    heads = range(mine.heads)
    tokens = range(mine.first, mine.first + mine.rows)
    sought = [(head, token) for head in heads if not head % 2 for token in tokens]
    wants = [Whose(_SEQUENCE, looked_for(token, head, rows)) for head, token in sought]
    reader = ValueReader(rows)
    there = [(head, token - mine.first) for head, token in sought]
    has = [_whose(reader([(h, made[i, h])])[0]) if _has(made, i, h) else None for h, i in there]
    found = [*spans(place, wants, has, unit="values")]
    for head in heads:
        if head % 2:
            found += _of_odd(place, made, head, mine, rows)
    return found


def _of_odd(place: str, made: torch.Tensor, head: int, mine: Told, rows: int) -> tuple[Span, ...]:
    whole = weighed(rows, mine.heads)
    alone = weighed(rows, mine.heads, mine.first, mine.rows)
    wants, has = [], []
    for index in range(mine.rows):
        token = mine.first + index
        wants.append(Whose(_ALL_ROWS, token))
        references = ((_ALL_ROWS, whole), (_OWN_ROWS, alone))
        known = [
            Whose(owner, token)
            for owner, reference in references
            if _has(made, index, head) and near(made[index, head], reference[token, head])
        ]
        has.append(known[0] if known else None)
    return spans(f"the blend of {place}", wants, has, unit="weights")


def _has(made: torch.Tensor, index: int, head: int) -> bool:
    return index < made.shape[0] and head < made.shape[1] and made.shape[2] == WIDTH


def _whose(origin: Origin | None) -> Whose | None:
    return None if origin is None else Whose(_SEQUENCE, origin.position)
