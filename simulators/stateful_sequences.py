"""Sequences packed one after the other, and the states that they go on from, in a pool of slots.

Every number is a multiple of 1/128 that float16 and bfloat16 hold exactly, mixed from whose it is
and where: no two states are alike. A payload has one record for each sequence, which is one
request: the slot of its state in the pool. Every second slot is another batch's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.delta_rule import Token, normalised
from simulators.payload import STATES, Payload
from simulators.stamp import mix_torch
from simulators.state_runs import Runs, runs_of

if TYPE_CHECKING:
    import torch

#: Who has the states of another batch: the number of the sequence is added.
_OTHERS = 100
_TOKENS, _GATES, _POOL = 0, 1, 2


@dataclass(frozen=True)
class Sizes:
    """Tokens of each sequence, and the sizes of a head."""

    lengths: tuple[int, ...]
    heads: int = 1
    value_heads: int = 2
    keys: int = 16
    values: int = 16

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each sequence begins, and where the last one ends."""
        return tuple(sum(self.lengths[:count]) for count in range(len(self.lengths) + 1))

    @property
    def slots(self) -> int:
        """How many slots the pool has."""
        return 2 * len(self.lengths) + 1


def numbers(what: int, owner: int, *shape: int) -> "torch.Tensor":
    """Return numbers from -1 to 1 in multiples of 1/128, float64, mixed from whose they are."""
    import torch

    count = int(torch.Size(shape).numel())
    mixed = mix_torch(owner, what, torch.arange(count))
    return ((mixed % 257).double() - 128).reshape(shape) / 128


def slot_name(slot: int) -> str:
    """Return the name of the state in a slot."""
    return f"request {slot // 2}'s state" if slot % 2 else f"another batch's state {slot // 2}"


@lru_cache(maxsize=64)
def _pool(sizes: Sizes) -> "torch.Tensor":
    import torch

    shape = (sizes.value_heads, sizes.values, sizes.keys)
    owners = [slot // 2 + (0 if slot % 2 else _OTHERS) for slot in range(sizes.slots)]
    return torch.stack([numbers(_POOL, owner, *shape) for owner in owners])


@lru_cache(maxsize=16)
def honest_sequences(sizes: Sizes, dtype: str = "float32") -> Payload:
    """Return the slots of some sequences, and beside them tokens and states.

    Beside them stand `q` and `k` as (1, tokens, heads, keys), `v` as (1, tokens, value heads,
    values), `g` (logarithm of the decay) and `beta` as (1, tokens, value heads) in float32,
    `pool` as (slots, value heads, values, keys) in float32, `starts` (one more than sequences),
    `starts_form`, `slots_form` and `states_form`, `scale`, and `places`, one for each sequence,
    where the states after each token would go.
    """
    import torch

    count, tokens = len(sizes.lengths), sizes.starts[-1]
    queries = (1, tokens, sizes.heads, sizes.keys)
    made = [numbers(_TOKENS, owner, *queries) for owner in range(2)]
    value = numbers(_TOKENS, 2, 1, tokens, sizes.value_heads, sizes.values)
    gates = [numbers(_GATES, owner, 1, tokens, sizes.value_heads) for owner in range(2)]
    kind = getattr(torch, dtype)
    beside = {
        # Keys are short, or the rule would let states grow.
        "q": made[0].to(kind),
        "k": (made[1] / 4).to(kind),
        "v": value.to(kind),
        "g": (gates[0] / 8 - 0.25).float(),
        "beta": (gates[1] / 4 + 0.5).float(),
        "pool": _pool(sizes).float(),
        "starts": sizes.starts,
        "starts_form": "",
        "slots_form": "",
        "states_form": "",
        "scale": sizes.keys**-0.5,
        "places": tuple(range(count)),
    }
    ours = tuple(2 * sequence + 1 for sequence in range(count))
    return Payload(STATES, ours, tuple(slot - 1 for slot in ours), beside)


def runs(sizes: Sizes, payload: Payload, is_normalised: bool) -> Runs:
    """Return what every run of an honest payload's tokens makes of every state of its pool.

    Args:
        sizes: Those of the payload.
        payload: An honest one.
        is_normalised: Whether queries and keys are made of length 1 first.
    """
    q, k, v, g, beta = (payload.beside[name][0].double() for name in ("q", "k", "v", "g", "beta"))
    if is_normalised:
        q, k = normalised(q), normalised(k)
    tokens = [Token(q[at], k[at], v[at], g[at].exp(), beta[at]) for at in range(sizes.starts[-1])]
    pairs = zip(sizes.starts, sizes.lengths, strict=False)
    begins = {start: f"request {i}" for i, (start, length) in enumerate(pairs) if length}
    states = {slot_name(slot): state for slot, state in enumerate(payload.beside["pool"])}
    return runs_of(tokens, begins, states, payload.beside["scale"])


def owner_reader(sizes: Sizes) -> Any:
    """Return the reader of states: whose each one is, of a tensor (any count, ...)."""
    pool = _pool(sizes)

    def owner_of(states: Any) -> list[Origin | None]:
        return [_origin(state) for state in states]

    def _origin(state: Any) -> Origin | None:
        if state.shape != pool.shape[1:]:
            return None
        same = (pool == state.double().cpu()).flatten(1).all(1).nonzero().flatten().tolist()
        return Origin(slot_name(same[0]), 0) if same else None

    return owner_of


def starts_told(payload: Payload) -> Any:
    """Return the starts as they are told: a tensor, or None.

    Raises:
        ValueError: if there is no such form.
    """
    return _told(payload.beside["starts"], payload.beside["starts_form"])


def slots_told(payload: Payload) -> Any:
    """Return the slots as they are told: a tensor, or None.

    Raises:
        ValueError: if there is no such form.
    """
    return _told(payload.records, payload.beside["slots_form"])


def _told(values: Sequence[int], form: str) -> Any:
    import torch

    kinds = {"": torch.int64, "apart": torch.int64, "int32": torch.int32, "float": torch.float32}
    if form == "none":
        return None
    if form not in kinds:
        raise ValueError(f"nothing is told in the form {form!r}")
    told = torch.tensor(list(values), dtype=kinds[form])
    return told.repeat_interleave(2)[::2] if form == "apart" else told


def states_told(payload: Payload, is_gathered: bool) -> Any:
    """Return the states as they are told: a tensor.

    Args:
        payload: The slots, the pool, and the form in which states are told.
        is_gathered: Whether each sequence's state is taken out of the pool first.

    Raises:
        ValueError: if there is no such form.
    """
    import torch

    form, states = payload.beside["states_form"], payload.beside["pool"]
    if is_gathered:
        states = states[list(payload.records)]
    plain: dict[str, Any] = {
        "": lambda: states,
        "half": lambda: states.to(torch.float16),
        "bfloat16": lambda: states.to(torch.bfloat16),
        "turned": lambda: states.transpose(-1, -2).contiguous(),
        "apart": lambda: states.repeat_interleave(2, 0)[::2],
        "head-less": lambda: states[:, :-1].contiguous(),
        "value-less": lambda: states[:, :, :-1].contiguous(),
        "key-less": lambda: states[..., :-1].contiguous(),
        "flat": lambda: states.flatten(1),
        "deep": lambda: states[None],
    }
    if form not in plain:
        raise ValueError(f"no states are told in the form {form!r}")
    return plain[form]()
