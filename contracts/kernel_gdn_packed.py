"""kernel-gdn-packed: a packed batch decodes one token of each request from its state.

Payload, by upstream's names: `mixed_qkv` (requests, columns), `a` and `b` (requests, gates),
`A_log` and `dt_bias` (heads), `scale`, `initial_state` (slots, value heads, values, keys), `out`
(requests, 1, value heads, values) and `ssm_state_indices` (requests,). Request: `entry`, and
`heads`, `scale`, and the `dtypes` of `out` and `initial_state` as they should be.

Entries: `fused_recurrent_gated_delta_rule_packed_decode` (gdn), `fused_recurrent_kda_packed_decode`
(kda), `helion_fused_recurrent_kda_packed_decode` (helion). Every size and layout is checked, and
no slot: a slot of -1 is skipped by design, any other one is followed wherever it leads. Two
requests with one slot are a race on a card. One layout slips through: with room between the heads
of a state, the kernels of gdn and kda read and write the room.

A last check of gdn and kda, that one block holds all keys, can never refuse: a block is as large
as the next power of two.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.packed_decode import CHECKED, GDN, KDA, walk_checks
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER
from contracts.source import Source

_FILE = "kernels/ops/attention/fla/fused_recurrent.py"
_FUNCTIONS = {
    GDN: "fused_recurrent_gated_delta_rule_packed_decode",
    KDA: "fused_recurrent_kda_packed_decode",
}
ONE_BLOCK = {
    entry: Clause(
        f"one-block-{entry}",
        f"One block holds all keys of a head. ({entry}.)",
        guards=(
            Guard(
                "ValueError",
                "Packed decode kernel only supports NK=1 (got K={K}, BK={BK}).",
                EVER,
                Source("0.5.23", _FILE, function),
                unreachable="a block is the next power of two, so that it holds all keys",
            ),
        ),
    )
    for entry, function in _FUNCTIONS.items()
}
HEADS_ASKED = Clause("heads-asked", "A packed row holds queries of as many heads as there are.")
SLOT_WITHIN = Clause("slot-within", "Each slot is one of the pool.")
SLOT_ONCE = Clause("slot-once", "No slot stands twice.")
HEADS_TOGETHER = Clause("heads-together", "The heads of a state lie side by side.")
DTYPES_ASKED = Clause("dtypes-asked", "Output and states are of the request's dtypes.")
SCALE_ASKED = Clause("scale-asked", "The scale is the request's.")
ROW_IDENTITY = Clause("row-identity", "Packed row i is request i's.", identity=True)
STATE_IDENTITY = Clause(
    "state-identity", "The state in slot i is the one that request i left.", identity=True
)
_CLAUSES = (
    *CHECKED,
    *ONE_BLOCK.values(),
    HEADS_ASKED,
    SLOT_WITHIN,
    SLOT_ONCE,
    HEADS_TOGETHER,
    DTYPES_ASKED,
    SCALE_ASKED,
    ROW_IDENTITY,
    STATE_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    checked = list(walk_checks(payload, request["entry"]))
    yield from checked
    rows, pool = payload["mixed_qkv"], payload["initial_state"]
    if not checked:
        heads, values, keys = pool.shape[-3:]
        found = (rows.shape[1] - heads * values) // (2 * keys)
        if found != request["heads"]:
            yield Violation(HEADS_ASKED, "mixed_qkv", str(request["heads"]), str(found))
        if pool.stride(1) != values * keys:
            yield Violation(
                HEADS_TOGETHER, "initial_state", str(values * keys), str(pool.stride(1))
            )
    for name, dtype in request["dtypes"].items():
        if str(payload[name].dtype) != dtype:
            yield Violation(DTYPES_ASKED, name, dtype, str(payload[name].dtype))
    if payload["scale"] != request["scale"]:
        yield Violation(SCALE_ASKED, "scale", str(request["scale"]), str(payload["scale"]))
    slots = payload["ssm_state_indices"]
    if slots.is_meta:
        return
    told = slots.flatten().tolist()
    yield from _walk_slots(told, pool.shape[0])
    yield from _walk_identity(rows, pool, told, owner_of)


def _walk_slots(slots: list[int], count: int) -> Iterator[Violation]:
    seen: set[int] = set()
    for place, slot in enumerate(slots):
        where = f"ssm_state_indices[{place}]"
        if not 0 <= slot < count:
            yield Violation(SLOT_WITHIN, where, f"0 to {count - 1}", str(slot))
        if slot in seen:
            yield Violation(SLOT_ONCE, where, "a slot of its own", str(slot))
        seen.add(slot)


def _walk_identity(
    rows: Any, pool: Any, slots: list[int], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if owner_of is None:
        for clause in (ROW_IDENTITY, STATE_IDENTITY):
            yield Unchecked(clause, "whose it is can be told only by a stamp reader")
        return
    for place, origin in enumerate(owner_of(rows) if rows.ndim == 2 else []):
        # A row of another width holds other heads, which is a clause of its own.
        if origin is not None and str(origin.owner) != f"request {place}":
            said = str(origin.owner)
            yield Violation(ROW_IDENTITY, f"mixed_qkv[{place}]", f"request {place}", said)
    origins = owner_of(pool)
    for place, slot in enumerate(slots):
        wanted = f"request {place}'s state"
        found = origins[slot] if 0 <= slot < len(origins) else None
        said = str(found.owner) if found is not None else "no known state"
        if said != wanted:
            yield Violation(STATE_IDENTITY, f"initial_state[{slot}]", wanted, said)


CONTRACT = Contract(
    "kernel-gdn-packed",
    "A packed batch decodes one token of each request from its state.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
