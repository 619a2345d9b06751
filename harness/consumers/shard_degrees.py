"""shard-degrees: LingBot's model, its denoising stage and its attention take a launcher's degrees.

Driven: for `model`, the forward, on every rank of the group, one after the other, from the flag
to the states that come out of the last block; for `stage`, how many heads a request's cache gets,
asked as the cache's policy asks it; for `cache`, the same, asked as the cache's making asks it;
for `attention`, the layer's `__init__`, with its real parent.

Provided, by name: the sizes of the groups and the rank that is asked; the forward context; a
request with the flag; and of the model its patch embedding, which keeps each patch's number, its
condition embedding, and one block, which lets the states through and notes their positions. The
model and the stage have the members that the driven functions read, without their `__init__`. The
rotary embedding is upstream's own, with three coordinates of one frequency each.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.lingbot_parts import HEAD_DIM, LingbotParts, SharingRequest
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.degrees import PATCH, coordinate_of, honest_degrees, numbered_latents, token_of

FRAMES = 3
_PIXELS = 8 * PATCH
_STRATEGY = "SGLANG_LINGBOT_SP_STRATEGY"
_SEQUENCE, _MODEL = "the sequence", "the model"


class ShardDegrees:
    """The consumer of shard-degrees."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._parts = LingbotParts(upstream, module)
        self._told: Mapping[str, Any] = {}
        self._rank = 0
        for loaded in (self._parts.dit, self._parts.stage):
            provide(
                loaded,
                get_ulysses_parallel_world_size=lambda: self._told["ulysses"],
                get_ring_parallel_world_size=lambda: self._told["ring"],
            )
        provide(
            self._parts.dit,
            get_sp_world_size=lambda: self._told["sp"],
            get_sp_parallel_rank=lambda: self._rank,
        )
        provide(self._parts.rotary, get_sp_group=self._group)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the degrees as they would be told."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return who holds which tokens, or how many heads there are for each rank."""
        passed = _passed(dims, lie)
        self._told = passed.payload
        entries: dict[str, Callable[[Passed], Output]] = {
            "model": self._model_output,
            "stage": self._stage_output,
            "cache": self._cache_output,
            "attention": self._attention_output,
        }
        entry = entries[dims["entry"]]

        def call() -> Output:
            # Another strategy than the default one shares by tokens: that is its own seam.
            with patch.dict(os.environ), torch.no_grad():
                os.environ.pop(_STRATEGY, None)
                return entry(passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _group(self) -> Provided:
        return Provided("GroupCoordinator", world_size=self._told["sp"], rank_in_group=self._rank)

    def _model_output(self, passed: Passed) -> Output:
        grid, heads = passed.request["grid"], passed.request["heads"]
        latents = numbered_latents(*grid).to(self._device)
        held: list[_Held] = []
        for rank in range(passed.request["ranks"]):
            self._rank = rank
            batch, block = SharingRequest(self._told), _Block()
            with self._parts.context(batch):
                states = _forward(self._parts.model(heads, self._told["sp"], block), latents)
            held.append(_Held(states, block.rotary, batch.sequence_shard_splits))
        return _shared(held, self._told["ulysses"], passed)

    def _stage_output(self, passed: Passed) -> Output:
        stage = self._parts.denoising_stage(self._told["heads"])
        shares = stage._causal_sequence_shard_enabled(SharingRequest(self._told))
        heads = stage._num_causal_cache_attention_heads(sequence_shard_enabled=shares)
        return _heads({"the cache": heads}, passed)

    def _cache_output(self, passed: Passed) -> Output:
        stage = self._parts.denoising_stage(self._told["heads"])
        # Where nothing is said, the cache is made for one rank.
        shares = self._told.get("shard", False)
        heads = stage._num_causal_cache_attention_heads(sequence_shard_enabled=shares)
        return _heads({"the cache": heads}, passed)

    def _attention_output(self, passed: Passed) -> Output:
        heads = self._told["heads"]
        width = HEAD_DIM * int(passed.request["heads"])
        layer = self._parts.dit.LingBotWorldCausalSelfAttention(width, heads, head_dim=HEAD_DIM)
        shares = {
            "the layer's share": layer.ulysses_num_heads,
            "the shared attention": layer.ulysses_attn.num_heads,
        }
        return _heads(shares, passed)


class _Block:
    """Lets the states through, and notes the positions that came with them."""

    def __init__(self) -> None:
        self.rotary: tuple[torch.Tensor, ...] = ()

    def __call__(
        self,
        states: torch.Tensor,
        text: torch.Tensor,
        timestep: torch.Tensor,
        rotary: tuple[torch.Tensor, ...],
        **rest: Any,
    ) -> torch.Tensor:
        self.rotary = rotary
        return states


@dataclass(frozen=True)
class _Held:
    """What one rank holds after the last block."""

    states: torch.Tensor
    rotary: tuple[torch.Tensor, ...]
    splits: Sequence[int] | None

    def tokens(self) -> list[int | None]:
        """Return which token each row is."""
        return [token_of(number) for number in self.states[0, :, 0].tolist()]

    def positions(self, grid: tuple[int, int, int]) -> list[int | None]:
        """Return where the rotary embedding puts each row, as the token that belongs there."""
        cosines, sines = (part.tolist() for part in self.rotary[:2])
        return [_position(*row, grid) for row in zip(cosines, sines, strict=True)]


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    ranks, heads = int(dims["world"]), int(dims["heads"])
    told = lie.told(honest_degrees(ranks, heads)).records[0]
    height, width = (int(side) // _PIXELS for side in dims["shape"].split("x"))
    request = {
        "entry": dims["entry"],
        "ranks": ranks,
        "heads": heads,
        "grid": (FRAMES, height, width),
    }
    return Passed(told, request)


def _forward(model: nn.Module, latents: torch.Tensor) -> Any:
    timestep = torch.zeros(1, FRAMES, device=latents.device)
    text = torch.zeros(1, 1, 1, device=latents.device)
    # The text's keys and values are there already, as in every step but the first.
    crossed = Provided("CrossAttentionKVCache", is_init=True)
    return model.forward(
        latents,
        text,
        timestep,
        kv_cache=[None],
        crossattn_cache=[crossed],
        skip_final_projection=True,
    )


def _shared(held: Sequence[_Held], ulysses: Any, passed: Passed) -> Output:
    grid, ranks = passed.request["grid"], passed.request["ranks"]
    told = {_splits(one.splits, ulysses) for one in held}
    facts = {"the splits": "; ".join(sorted(told))}
    found: list[Span] = []
    together: list[Whose | None] = []
    for rank, one in enumerate(held):
        place, share = f"rank {rank}", _share(rank, passed.request)
        tokens = list(map(_whose, one.tokens()))
        facts[f"the number of tokens of {place}"] = f"{len(tokens)}"
        # Another number is told as such: what stands where is then no question of one rank.
        found += spans(place, share, tokens) if len(tokens) == len(share) else ()
        together += tokens
        wants = [token or NOTHING for token in tokens]
        stands = list(map(_whose, one.positions(grid)))
        found += spans(f"the rotary embedding of {place}", wants, stands, unit="positions")
    if ranks > 1 and any(one.splits is not None for one in held):
        whole = [Whose(_SEQUENCE, token) for token in range(math.prod(grid))]
        found += spans("the ranks' sequence", whole, together)
    return Output(tuple(found), facts, [one.states for one in held])


def _splits(splits: Sequence[int] | None, ulysses: Any) -> str:
    if splits is None:
        return "none: nothing is shared"
    if len(splits) == ulysses:
        return "one for each rank that exchanges heads"
    return f"{len(splits)}, for {ulysses} ranks that exchange heads"


def _share(rank: int, request: Mapping[str, Any]) -> list[Whose]:
    frames, rows, columns = request["grid"]
    # As even as can be, in the order of ranks, the longer shares first.
    ranks = request["ranks"]
    owners = sorted(token % ranks for token in range(frames * rows * columns))
    return [Whose(_SEQUENCE, token) for token, owner in enumerate(owners) if owner == rank]


def _whose(position: int | None) -> Whose | None:
    return None if position is None else Whose(_SEQUENCE, position)


def _position(
    cosines: Sequence[float], sines: Sequence[float], grid: tuple[int, int, int]
) -> int | None:
    frame, row, column = map(coordinate_of, cosines, sines)
    if frame is None or row is None or column is None:
        return None
    return (frame * grid[1] + row) * grid[2] + column


def _heads(shares: Mapping[str, Any], passed: Passed) -> Output:
    wants = [Whose(_MODEL, h) for h in range(passed.request["heads"] // passed.request["ranks"])]
    facts: dict[str, str] = {}
    found: list[Span] = []
    for place, count in shares.items():
        facts[f"the number of heads of {place}"] = repr(count)
        # More than the share, less than none and fractions are told by their number.
        if type(count) is int and 0 <= count <= len(wants):
            found += spans(place, wants, wants[:count], unit="heads")
    return Output(tuple(found), facts, list(shares.values()))
