"""kernel-gdn-states: sequences go on from their states, by the gated delta rule.

Payload: `states` (recurrent: one for each sequence; update and chunk: a pool), each (value heads,
values, keys); `slots` of the sequences in the pool, a tensor or None; `starts`, a tensor or None,
where each sequence begins in the packed tokens, and the end; `batch` and `tokens`, the first two
sizes of the tokens' tensors; their `dtype`; `scale` of the queries; `places` for the states after
each token, a tensor or None. Request: `entry`, and `starts`, `slots`, `scale` and `shape` of a
state as they should be.

Entries: `fused_recurrent_gated_delta_rule` (recurrent), `fused_recurrent_gated_delta_rule_update`
(update), `chunk_gated_delta_rule` (chunk). Their checks compare counts; nothing looks at what the
starts or the slots are. Two sequences with one slot are a race on a card: here, where a kernel's
programs run one after the other, the later one goes on from what the earlier one left.

What a pool with room between its slots gets back is lost, in every release: the kernels are
handed a copy without the room. Until 0.5.22 update without `places` ends in an AttributeError,
though upstream's own JetNemotron calls it so.

No case tells starts that lie far beyond the tokens: what a kernel meets there is chance.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

_FLA = "kernels/ops/attention/fla"
_ENTRIES = {
    "recurrent": (f"{_FLA}/fused_recurrent.py", "fused_recurrent_gated_delta_rule"),
    "update": (f"{_FLA}/fused_recurrent.py", "fused_recurrent_gated_delta_rule_update"),
    "chunk": (f"{_FLA}/chunk.py", "chunk_gated_delta_rule"),
}
_FLAT = (
    "The batch size is expected to be 1 rather than {batch} when using `cu_seqlens`."
    "Please flatten variable-length inputs before processing."
)
_COUNT = (
    "The number of initial states is expected to be equal to the number of input sequences, "
    "i.e., {sequences} rather than {states}."
)
_PLACES = (
    "The number of intermediate state indices is expected to be equal to the number of input "
    "sequences, i.e., {states} != {places}."
)


def _guarded(
    name: str, sentence: str, text: str, entries: tuple[str, ...], error: str = "ValueError"
) -> dict[str, Clause]:
    """Return one clause for each of some entries, each guarded in its own function."""
    return {
        entry: Clause(
            f"{name}-{entry}",
            f"{sentence} ({entry}.)",
            guards=(Guard(error, text, EVER, Source("0.5.23", *_ENTRIES[entry])),),
        )
        for entry in entries
    }


_ALL = ("recurrent", "update", "chunk")
BATCH_FLAT = _guarded("batch-flat", "Sequences with starts are one batch row.", _FLAT, _ALL)
STATE_COUNT = _guarded("state-count", "Each sequence has one state.", _COUNT, _ALL)
PLACE_COUNT = _guarded("place-count", "Each sequence has one place.", _PLACES, ("update",))
SCALE_POSITIVE = _guarded(
    "scale-positive",
    "The scale is positive.",
    "scale must be positive",
    ("recurrent", "update"),
    "AssertionError",
)
DTYPE_FITS = _guarded(
    "dtype-fits",
    "The tokens are of less than 32 bits.",
    "ChunkGatedDeltaRuleFunction does not support float32. Please use bfloat16.",
    ("chunk",),
    "AssertionError",
)
SLOTS_TOLD = Clause("slots-told", "The slots are told.")
PLACES_TOLD = Clause(
    "places-told",
    "The places are told.",
    incidental=("AttributeError",),
    accidents=Span(until="0.5.22"),
)
STARTS_TOLD = Clause("starts-told", "The starts are told.")
STARTS_WHOLE = Clause("starts-whole", "The starts are whole numbers.")
STARTS_AT_ZERO = Clause("starts-at-zero", "The first sequence begins at token 0.")
STARTS_RISE = Clause("starts-rise", "No sequence ends before it begins.")
STARTS_END = Clause("starts-end", "The last sequence ends at the last token.")
STARTS_ASKED = Clause("starts-asked", "Each sequence has the tokens that are its own.")
SLOT_WITHIN = Clause("slot-within", "Each slot is one of the pool.")
SLOT_ONCE = Clause("slot-once", "No slot stands twice.")
STATE_SHAPE = Clause("state-shape", "A state is (value heads, values, keys).")
STATE_DTYPE = Clause("state-dtype", "States are kept in float32.")
STATES_TOGETHER = Clause("states-together", "The states of a pool lie side by side.")
SCALE_ASKED = Clause("scale-asked", "The scale is the request's.")
STATE_IDENTITY = Clause("state-identity", "State i is the one that request i left.", identity=True)
_GUARDED = (DTYPE_FITS, BATCH_FLAT, STATE_COUNT, PLACE_COUNT, SCALE_POSITIVE)
_CLAUSES = (
    *(clause for clauses in _GUARDED for clause in clauses.values()),
    SLOTS_TOLD,
    PLACES_TOLD,
    STARTS_TOLD,
    STARTS_WHOLE,
    STARTS_AT_ZERO,
    STARTS_RISE,
    STARTS_END,
    STARTS_ASKED,
    SLOT_WITHIN,
    SLOT_ONCE,
    STATE_SHAPE,
    STATE_DTYPE,
    STATES_TOGETHER,
    SCALE_ASKED,
    STATE_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    yield from _walk_counts(payload, request["entry"])
    yield from _walk_scale(payload, request)
    yield from _walk_starts(payload, request)
    yield from _walk_states(payload, request)
    if request["entry"] != "recurrent":
        yield from _walk_slots(payload)
    yield from _walk_identity(payload, request, owner_of)


def _walk_counts(payload: Mapping[str, Any], entry: str) -> Iterator[Violation]:
    """Walk what upstream checks, in its order."""
    if entry in DTYPE_FITS and payload["dtype"] == "torch.float32":
        yield Violation(DTYPE_FITS[entry], "q", "bfloat16 or float16", "float32")
    starts, batch = payload["starts"], payload["batch"]
    if starts is None:
        return
    if batch != 1:
        yield Violation(BATCH_FLAT[entry], "q", "1 row", str(batch), {"batch": batch})
    counted = payload["states"] if entry == "recurrent" else payload["slots"]
    if counted is None:
        accident = ("AttributeError",) if entry == "update" else ()
        yield Violation(SLOTS_TOLD, "slots", "slots", "none", incidental=accident)
        return
    sequences, states = starts.shape[0] - 1, counted.shape[0]
    if states != sequences:
        fields = {"sequences": sequences, "states": states}
        yield Violation(STATE_COUNT[entry], "states", str(sequences), str(states), fields)
    if entry != "update":
        return
    places = payload["places"]
    if places is None:
        yield Violation(PLACES_TOLD, "places", "places", "none")
    elif len(places) != states:
        fields = {"states": states, "places": len(places)}
        yield Violation(PLACE_COUNT[entry], "places", str(states), str(len(places)), fields)


def _walk_scale(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    entry, scale = request["entry"], payload["scale"]
    if entry in SCALE_POSITIVE and not scale > 0:
        yield Violation(SCALE_POSITIVE[entry], "scale", "more than 0", str(scale))
    if scale != request["scale"]:
        yield Violation(SCALE_ASKED, "scale", str(request["scale"]), str(scale))


def _walk_starts(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    asked, told = list(request["starts"]), payload["starts"]
    if told is None:
        yield Violation(STARTS_TOLD, "starts", str(asked), "none")
        return
    if "int" not in str(told.dtype):
        yield Violation(STARTS_WHOLE, "starts", "int64 or int32", str(told.dtype))
    starts = told.tolist()
    if starts and starts[0] != 0:
        yield Violation(STARTS_AT_ZERO, "starts[0]", "0", str(starts[0]))
    for place, (begin, end) in enumerate(pairwise(starts)):
        if end < begin:
            yield Violation(STARTS_RISE, f"starts[{place + 1}]", f"{begin} or more", str(end))
    if starts and starts[-1] != asked[-1]:
        yield Violation(STARTS_END, f"starts[{len(starts) - 1}]", str(asked[-1]), str(starts[-1]))
    if starts != asked:
        yield Violation(STARTS_ASKED, "starts", str(asked), str(starts))


def _walk_states(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    states, shape = payload["states"], tuple(request["shape"])
    if tuple(states.shape[1:]) != shape:
        yield Violation(STATE_SHAPE, "states", str(shape), str(tuple(states.shape[1:])))
    if str(states.dtype) != "torch.float32":
        yield Violation(STATE_DTYPE, "states", "torch.float32", str(states.dtype))
    if not states.is_contiguous():
        yield Violation(STATES_TOGETHER, "states", "side by side", f"strides {states.stride()}")


def _walk_slots(payload: Mapping[str, Any]) -> Iterator[Violation]:
    if payload["slots"] is None:
        return
    count, seen = payload["states"].shape[0], set()
    for place, slot in enumerate(payload["slots"].tolist()):
        if not 0 <= slot < count:
            yield Violation(SLOT_WITHIN, f"slots[{place}]", f"0 to {count - 1}", str(slot))
        if slot in seen:
            yield Violation(SLOT_ONCE, f"slots[{place}]", "a slot of its own", str(slot))
        seen.add(slot)


def _walk_identity(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if owner_of is None:
        yield Unchecked(STATE_IDENTITY, "whose states they are can be told only by a stamp reader")
        return
    states, slots, count = payload["states"], payload["slots"], len(request["slots"])
    if tuple(states.shape[1:]) != tuple(request["shape"]) or slots is None:
        return
    origins = owner_of(states)
    places = list(range(states.shape[0])) if request["entry"] == "recurrent" else slots.tolist()
    for sequence, place in enumerate(places[:count]):
        wanted = f"request {sequence}'s state"
        origin = origins[place] if 0 <= place < len(origins) else None
        said = str(origin.owner) if origin is not None else "no known state"
        if said != wanted:
            yield Violation(STATE_IDENTITY, f"states[{sequence}]", wanted, said)


CONTRACT = Contract(
    "kernel-gdn-states",
    "Sequences go on from their states, by the gated delta rule.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
