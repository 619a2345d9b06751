"""A packed batch of requests that decode one token each, and the states that they go on from.

Numbers are made as in `simulators.stateful_sequences`. A payload has one record for each request,
the slot of its state in the pool; every second slot is another batch's.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.delta_rule import Token, normalised
from simulators.payload import DECODE, Payload
from simulators.state_runs import Rows, Runs, runs_of
from simulators.stateful_sequences import numbers, slot_name

if TYPE_CHECKING:
    import torch

_TOKENS, _GATES, _DECAYS, _POOL = 10, 11, 12, 13
_OTHERS = 100
#: What stands in the output before anything is written: no token is like that.
_UNWRITTEN = 0.75
#: What an output of zeros is.
SKIPPED = Origin("a skipped request", 0)


@dataclass(frozen=True)
class Batch:
    """How many requests there are, and the sizes of a head."""

    requests: int
    heads: int = 1
    value_heads: int = 2
    keys: int = 16
    values: int = 16
    #: Whether each key has a decay of its own, and not each head.
    by_key: bool = False

    @property
    def slots(self) -> int:
        """How many slots the pool has."""
        return 2 * self.requests + 1

    @property
    def decays(self) -> int:
        """How many decays a request has."""
        return self.value_heads * (self.keys if self.by_key else 1)


@lru_cache(maxsize=64)
def _rows(batch: Batch, owner: int) -> "torch.Tensor":
    """Return the packed queries, keys and values of a batch, one row for each request."""
    import torch

    width = batch.heads * batch.keys
    rows = [
        (numbers(_TOKENS, owner + i, width), numbers(_TOKENS, owner + i + 50, width) / 4,
         numbers(_TOKENS, owner + i + 70, batch.value_heads * batch.values))
        for i in range(batch.requests)
    ]  # fmt: skip
    return torch.stack([torch.cat(row) for row in rows])


@lru_cache(maxsize=64)
def _pool(batch: Batch) -> "torch.Tensor":
    import torch

    shape = (batch.value_heads, batch.values, batch.keys)
    owners = [slot // 2 + (0 if slot % 2 else _OTHERS) for slot in range(batch.slots)]
    return torch.stack([numbers(_POOL, owner, *shape) for owner in owners])


@lru_cache(maxsize=16)
def honest_decode(batch: Batch, dtype: str = "float32") -> Payload:
    """Return the slots of a batch of requests, and beside them what a kernel gets with them.

    Beside them stand `mixed_qkv` (requests, 2 * heads * keys + value heads * values), and `others`,
    the same of another batch; `a` (requests, decays), `b` (requests, value heads), `A_log` (value
    heads,) and `dt_bias` (decays,) in float32; `out` (requests, 1, value heads, values), all alike;
    `initial_state` (slots, value heads, values, keys) in float32; `index_form`, and `scale`.
    """
    import torch

    kind = getattr(torch, dtype)
    count, heads = batch.requests, batch.value_heads
    beside = {
        "mixed_qkv": _rows(batch, 0).to(kind),
        "others": _rows(batch, _OTHERS).to(kind),
        "a": numbers(_GATES, 0, count, batch.decays).float(),
        "b": numbers(_GATES, 1, count, heads).float(),
        # Small, or nothing would be left of a state.
        "A_log": (numbers(_DECAYS, 0, heads) / 2 - 1.5).float(),
        "dt_bias": numbers(_DECAYS, 1, batch.decays).float(),
        "out": torch.full((count, 1, heads, batch.values), _UNWRITTEN, dtype=kind),
        "initial_state": _pool(batch).float(),
        "index_form": "",
        "scale": batch.keys**-0.5,
    }
    ours = tuple(2 * request + 1 for request in range(count))
    return Payload(DECODE, ours, tuple(slot - 1 for slot in ours), beside)


def decode_runs(batch: Batch, payload: Payload, is_normalised: bool) -> Runs:
    """Return what every request of an honest payload makes of every state of its pool.

    Args:
        batch: That of the payload.
        payload: An honest one.
        is_normalised: Whether queries and keys are made of length 1 first.
    """
    import torch

    named = ("mixed_qkv", "a", "b", "A_log", "dt_bias")
    mixed, a, b, rates, bias = (payload.beside[name].double() for name in named)
    shape = (batch.requests, batch.value_heads, -1)
    # softplus(x) = log(1 + e^x)
    opened = torch.logaddexp(a + bias, torch.zeros_like(a)).reshape(shape)
    decay = (-rates.exp()[:, None] * opened).exp()
    beta = 1 / (1 + (-b).exp())
    width = batch.heads * batch.keys
    tokens = []
    for request in range(batch.requests):
        query, key, value = mixed[request].split([width, width, mixed.shape[1] - 2 * width])
        query, key = (part.reshape(batch.heads, batch.keys) for part in (query, key))
        if is_normalised:
            query, key = normalised(query), normalised(key)
        decays = decay[request] if batch.by_key else decay[request, :, 0]
        rows = value.reshape(batch.value_heads, batch.values)
        tokens.append(Token(query, key, rows, decays, beta[request]))
    begins = {request: f"request {request}" for request in range(batch.requests)}
    states = {slot_name(slot): s for slot, s in enumerate(payload.beside["initial_state"])}
    made = runs_of(tokens, begins, states, payload.beside["scale"], longest=1)
    zeros = torch.zeros_like(made.outputs.values[:1])
    outputs = Rows(torch.cat([zeros, made.outputs.values]), (SKIPPED, *made.outputs.origins))
    return Runs(outputs, made.states)


def decode_reader(batch: Batch) -> Any:
    """Return the reader of packed rows and of states: whose each one is."""
    states = [(slot_name(slot), state) for slot, state in enumerate(_pool(batch))]
    rows = [(f"request {i}", row) for i, row in enumerate(_rows(batch, 0))]
    rows += [("another batch's request", row) for row in _rows(batch, _OTHERS)]

    def owner_of(tensors: Any) -> list[Origin | None]:
        return [_origin(tensor) for tensor in tensors]

    def _origin(tensor: Any) -> Origin | None:
        for name, known in rows if tensor.ndim == 1 else states:
            # A row may be held in 16 bits, which hold its numbers exactly.
            if known.shape == tensor.shape and bool((known == tensor.double().cpu()).all()):
                return Origin(name, 0)
        return None

    return owner_of


def index_told(payload: Payload) -> Any:
    """Return the slots as they are told, a tensor.

    Raises:
        ValueError: if there is no such form.
    """
    import torch

    form, slots = payload.beside["index_form"], torch.tensor(payload.records, dtype=torch.int64)
    if form == "apart":
        return slots.repeat_interleave(2)[::2]
    if form not in ("", "column", "int32", "meta"):
        raise ValueError(f"no slots are told in the form {form!r}")
    made = {"column": slots[:, None], "int32": slots.int(), "meta": slots.to("meta")}
    return made.get(form, slots)
