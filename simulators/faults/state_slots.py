"""Faults of the slots, starts and states of sequences that go on from a pool of states."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, neighbours, whole
from simulators.payload import STATES, Payload

_TENSORS = ("q", "k", "v", "g", "beta")
#: Tokens behind the last, so few that margins still tell a read from one of other memory.
_FAR = 20
#: No memory is there.
_NOWHERE = 2**40


def beside_becomes(edit: Callable[[Payload], dict[str, Any]]) -> Change:
    """Return the fault that changes what stands beside the slots."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **edit(payload)})

    return change


def starts_become(edit: Callable[[list[int], int], list[int]]) -> Change:
    """Return the fault that tells other starts; it gets them, and a sequence."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        starts = list(payload.beside["starts"])
        # An earlier fault may have left no start for the sequence.
        if len(starts) < len(payload.records) + 1:
            return payload
        told = tuple(edit(starts, at[0] if at else 0))
        return replace(payload, beside={**payload.beside, "starts": told})

    return change


def slot_becomes(edit: Callable[[int, Payload], int]) -> Change:
    """Return the fault that tells another slot of one sequence."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], edit(payload.records[at[0]], payload))

    return change


def state_becomes(edit: Callable[[Any, Any], Any]) -> Change:
    """Return the fault that changes the state of one sequence; it gets another batch's too."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        slot, pool = payload.records[at[0]], payload.beside["pool"].clone()
        if not 0 < slot < len(pool):
            return payload
        pool[slot] = edit(pool[slot].clone(), pool[slot - 1])
        return replace(payload, beside={**payload.beside, "pool": pool})

    return change


def _moved(starts: Sequence[int], place: int, by: int) -> list[int]:
    told = list(starts)
    told[place] += by
    return told


def _swapped(starts: Sequence[int], place: int) -> list[int]:
    told = list(starts)
    told[place], told[place + 1] = told[place + 1], told[place]
    return told


def _stuck(starts: Sequence[int], place: int) -> list[int]:
    told = list(starts)
    told[place + 1] = told[place]
    return told


def _with_nan(state: Any, other: Any) -> Any:
    state[0, 0, 0] = float("nan")
    return state


def _twice(payload: Payload) -> dict[str, Any]:
    return {name: payload.beside[name].repeat_interleave(2, 0) for name in _TENSORS}


def _one_more(payload: Payload) -> dict[str, Any]:
    places = payload.beside["places"]
    return {} if places is None else {"places": (*places, len(places))}


def _one_less(payload: Payload) -> dict[str, Any]:
    places = payload.beside["places"]
    return {} if places is None else {"places": places[:-1]}


def _float32(payload: Payload) -> dict[str, Any]:
    return {name: payload.beside[name].float() for name in _TENSORS}


def first(count: int) -> Iterator[Place]:
    """Yield the first record, for what is alike wherever it stands."""
    return iter([(0,)] if count else [])


def _slot(name: str, edit: Callable[[int, Payload], int], picture: str) -> Fault:
    return Fault(name, "skew", slot_becomes(edit), (STATES,), each, picture, scope="slots")


def _start(
    name: str, kind: str, edit: Callable[[list[int], int], list[int]], picture: str,
    places: Callable[[int], Iterator[Place]] = each,
) -> Fault:  # fmt: skip
    return Fault(name, kind, starts_become(edit), (STATES,), places, picture, scope="starts")


def _state(name: str, kind: str, edit: Callable[[Any, Any], Any], picture: str) -> Fault:
    return Fault(name, kind, state_becomes(edit), (STATES,), each, picture, scope="states")


def _told(name: str, what: str, form: str, picture: str, scope: str, benign: bool = False) -> Fault:
    change = beside_becomes(lambda payload: {what: form})
    return Fault(
        name, "substitution", change, (STATES,), whole, picture, scope=scope, benign=benign
    )


def _beside(
    name: str, kind: str, edit: Callable[[Payload], dict[str, Any]], picture: str, scope: str
) -> Fault:
    return Fault(name, kind, beside_becomes(edit), (STATES,), whole, picture, scope=scope)


#: The rows of these faults in the table.
FAULTS = (
    _slot("gdn-slot-past-end", lambda s, p: len(p.beside["pool"]), "slot 1 of 5 -> slot 5"),
    _slot("gdn-slot-negative", lambda s, p: -1, "slot 1 -> slot -1"),
    _slot("gdn-slot-next", lambda s, p: s + 1, "slot 1 -> slot 2, of another batch"),
    Fault("gdn-slot-nowhere", "skew", slot_becomes(lambda s, p: _NOWHERE), (STATES,), first,
          "slot 1 -> slot 2**40", scope="nowhere"),
    _told("gdn-slots-apart", "slots_form", "apart",
          "side by side -> every second place of a larger tensor", "told", benign=True),
    _told("gdn-slots-int32", "slots_form", "int32", "int64 -> int32", "told", benign=True),
    _told("gdn-slots-none", "slots_form", "none", "slots 1 3 -> null", "told"),
    _start("gdn-start-late", "skew", lambda s, i: _moved(s, i, 1), "starts 0 2 6 -> 1 2 6"),
    _start("gdn-start-early", "skew", lambda s, i: _moved(s, i, -1), "starts 0 2 6 -> 0 1 6"),
    _start("gdn-start-missing", "omission", lambda s, i: s[:i] + s[i + 1 :],
           "starts 0 2 6 -> 0 6"),
    _start("gdn-start-twice", "duplication", lambda s, i: s[: i + 1] + s[i:],
           "starts 0 2 6 -> 0 0 2 6"),
    _start("gdn-start-stuck", "duplication", _stuck, "starts 0 2 6 -> 0 0 6"),
    _start("gdn-starts-swapped", "reordering", _swapped, "starts 0 2 6 -> 2 0 6", neighbours),
    _start("gdn-end-swapped", "reordering", lambda s, i: _swapped(s, len(s) - 2),
           "starts 0 2 6 -> 0 6 2", whole),
    _start("gdn-end-early", "truncation", lambda s, i: _moved(s, -1, -1),
           "starts 0 2 6 -> 0 2 5", whole),
    _start("gdn-end-late", "skew", lambda s, i: _moved(s, -1, 1), "starts 0 2 6 -> 0 2 7", whole),
    _start("gdn-end-far", "skew", lambda s, i: _moved(s, -1, _FAR),
           "starts 0 2 6 -> 0 2 26", whole),
    _start("gdn-starts-shifted", "skew", lambda s, i: [start + 1 for start in s],
           "starts 0 2 6 -> 1 3 7", whole),
    _start("gdn-starts-lengths", "substitution",
           lambda s, i: [0, *(b - a for a, b in pairwise(s))],
           "starts 0 2 6 -> 0 2 4, lengths that are not summed up", whole),
    _told("gdn-starts-none", "starts_form", "none", "starts 0 2 6 -> null", "starts"),
    _told("gdn-starts-float", "starts_form", "float", "int64 -> float32", "starts"),
    _told("gdn-starts-int32", "starts_form", "int32", "int64 -> int32", "starts", benign=True),
    _told("gdn-starts-apart", "starts_form", "apart",
          "side by side -> every second place of a larger tensor", "starts", benign=True),
    _state("gdn-state-stale", "staleness", lambda s, o: o, "a state -> another batch's"),
    _state("gdn-state-zero", "omission", lambda s, o: s * 0, "a state -> zeros"),
    _state("gdn-state-nan", "substitution", _with_nan, "a state -> with one NaN"),
    _told("gdn-states-half", "states_form", "half", "float32 -> float16", "states"),
    _told("gdn-states-bfloat16", "states_form", "bfloat16", "float32 -> bfloat16", "states"),
    _told("gdn-states-turned", "states_form", "turned",
          "(.., values, keys) -> (.., keys, values)", "states"),
    _told("gdn-states-apart", "states_form", "apart",
          "side by side -> a state's room between them", "states"),
    _told("gdn-states-head-less", "states_form", "head-less", "2 heads -> 1 head", "states"),
    _told("gdn-states-value-less", "states_form", "value-less", "16 values -> 15", "states"),
    _told("gdn-states-key-less", "states_form", "key-less", "16 keys -> 15", "states"),
    _told("gdn-states-flat", "states_form", "flat",
          "(slots, heads, values, keys) -> (slots, heads * values * keys)", "states"),
    _told("gdn-states-deep", "states_form", "deep",
          "(slots, ..) -> (1, slots, ..)", "deep"),
    _beside("gdn-batch-of-two", "duplication", _twice, "one batch row -> two", "batch"),
    _beside("gdn-scale-zero", "substitution", lambda p: {"scale": 0.0}, "1/4 -> 0", "scale"),
    _beside("gdn-scale-negative", "substitution", lambda p: {"scale": -p.beside["scale"]},
            "1/4 -> -1/4", "scale"),
    _beside("gdn-scale-nan", "substitution", lambda p: {"scale": float("nan")},
            "1/4 -> NaN", "scale"),
    _beside("gdn-scale-one", "substitution", lambda p: {"scale": 1.0}, "1/4 -> 1", "scale"),
    _beside("gdn-places-none", "omission", lambda p: {"places": None},
            "places 0 1 -> null", "places"),
    _beside("gdn-place-less", "truncation", _one_less, "places 0 1 -> 0", "places"),
    _beside("gdn-place-more", "duplication", _one_more, "places 0 1 -> 0 1 2", "places"),
    _beside("gdn-tokens-float32", "substitution", _float32, "bfloat16 -> float32", "tokens"),
)  # fmt: skip
