"""Faults of a prepared batch: its layout, counts or grids do not fit, or it fails to be prepared.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.payload import PREPARED, Payload
from simulators.prepared_requests import Prepared


def told_becomes(edit: Callable[[int], tuple[Any, ...]]) -> Change:
    """Return the fault that tells another count of items of one request, if it is one number."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        request = payload.records[at[0]]
        if not _is_one(request.told):
            return payload
        return payload.with_record(at[0], request._replace(told=edit(request.told[0])))

    return change


def both_told(edit: Callable[[int, int], tuple[int, int]]) -> Change:
    """Return the fault that tells other counts of items of two requests."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        if not _is_one(one.told) or not _is_one(two.told):
            return payload
        first, second = edit(one.told[0], two.told[0])
        changed = payload.with_record(at[0], one._replace(told=(first,)))
        return changed.with_record(at[1], two._replace(told=(second,)))

    return change


def _is_one(told: tuple[Any, ...]) -> bool:
    return len(told) == 1 and type(told[0]) is int


def request_becomes(edit: Callable[[Prepared], Prepared]) -> Change:
    """Return the fault that edits what was made of one request, if it has any items."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        request = payload.records[at[0]]
        if not request.counts or not request.grids:
            return payload
        return payload.with_record(at[0], edit(request))

    return change


def field_swaps(name: str) -> Change:
    """Return the fault that swaps one field of two requests, and leaves all else."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        first = one._replace(**{name: getattr(two, name)})
        second = two._replace(**{name: getattr(one, name)})
        return payload.with_record(at[0], first).with_record(at[1], second)

    return change


def features_foreign(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a a | b b] -> [x x | b b], and all that is told is honest"""
    features = payload.foreign[at[0]].features
    return payload.with_record(at[0], payload.records[at[0]]._replace(features=features))


def error_is(kind: str) -> Change:
    """Return the fault by which the batch is not prepared, and an error raised.

    Of several kinds, as in `ValueError|KeyError`, each rank in turn raises one.
    """

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "error": kind})

    return change


def _turned(request: Prepared) -> Prepared:
    grids = tuple((frames, columns, rows) for frames, rows, columns in request.grids)
    return request._replace(grids=grids)


def _as_floats(request: Prepared) -> Prepared:
    grids = tuple(tuple(map(float, grid)) for grid in request.grids)
    return request._replace(grids=grids)  # type: ignore[arg-type]


def _told(name: str, kind: str, edit: Callable[[int], tuple[Any, ...]], picture: str) -> Fault:
    return Fault(name, kind, told_becomes(edit), (PREPARED,), each, picture, scope="layout")


def _made(name: str, kind: str, edit: Callable[[Prepared], Prepared], picture: str) -> Fault:
    return Fault(name, kind, request_becomes(edit), (PREPARED,), each, picture, scope="made")


def _raises(word: str, kind: str, scope: str = "errors") -> Fault:
    picture = f"the batch is prepared -> {kind.replace('|', ' on one rank, on the next ')}"
    return Fault(f"layout-raises-{word}", "substitution", error_is(kind), (PREPARED,), whole,
                 picture, scope)  # fmt: skip


#: The rows of these faults in the table.
FAULTS = (
    _told("layout-one-less", "skew", lambda items: (items - 1,), "[1 | 2] -> [1 | 1]"),
    _told("layout-one-more", "skew", lambda items: (items + 1,), "[1 | 2] -> [1 | 3]"),
    _told("layout-zero", "omission", lambda items: (0,), "[1 | 2] -> [1 | 0]"),
    _told("layout-negative", "substitution", lambda items: (-items,), "[1 | 2] -> [1 | -2]"),
    _told("layout-untold", "omission", lambda items: (), "[1 | 2] -> [1]"),
    _told("layout-twice", "duplication", lambda items: (items, items), "[1 | 2] -> [1 | 2 | 2]"),
    _told("layout-float", "substitution", lambda items: (float(items),), "[1 | 2] -> [1 | 2.0]"),
    _told("layout-null", "substitution", lambda items: (None,), "[1 | 2] -> [1 | null]"),
    Fault("layout-moved", "skew", both_told(lambda one, two: (one + 1, two - 1)), (PREPARED,),
          ordered_pairs, "[1 | 2] -> [2 | 1], the sum fits", scope="layout"),
    Fault("layout-swapped", "reordering", both_told(lambda one, two: (two, one)), (PREPARED,),
          pairs, "[1 | 3] -> [3 | 1], the sum fits", scope="layout"),
    _made("layout-count-lost", "truncation", lambda r: r._replace(counts=r.counts[:-1]),
          "[6 | 12 8] -> [6 | 12]"),
    _made("layout-count-twice", "duplication",
          lambda r: r._replace(counts=(*r.counts, r.counts[-1])), "[6 | 12 8] -> [6 | 12 8 8]"),
    _made("layout-count-more", "skew",
          lambda r: r._replace(counts=(*r.counts[:-1], r.counts[-1] + 1)), "[6 | 12] -> [6 | 13]"),
    _made("layout-grid-lost", "truncation", lambda r: r._replace(grids=r.grids[:-1]),
          "[1x4x6 | 1x8x6] -> [1x4x6]"),
    _made("layout-grid-twice", "duplication", lambda r: r._replace(grids=(*r.grids, r.grids[-1])),
          "[1x4x6] -> [1x4x6 1x4x6]"),
    _made("layout-grids-turned", "reordering", _turned, "1x4x6 -> 1x6x4, as many tokens"),
    _made("layout-grids-float", "substitution", _as_floats, "1x4x6 -> 1.0x4.0x6.0"),
    Fault("layout-counts-swapped", "reordering", field_swaps("counts"), (PREPARED,), pairs,
          "[6 | 12] -> [12 | 6], the sum fits", scope="made"),
    Fault("layout-features-swapped", "reordering", field_swaps("features"), (PREPARED,), pairs,
          "[a a | b b] -> [b b | a a], and all that is told is honest", scope="made"),
    Fault("layout-features-foreign", "substitution", features_foreign, (PREPARED,), each,
          "[a a | b b] -> [x x | b b], and all that is told is honest", scope="made"),
    _raises("value", "ValueError"),
    _raises("type", "TypeError"),
    _raises("key", "KeyError"),
    _raises("runtime", "RuntimeError"),
    _raises("file", "OSError"),
    _raises("unwritten", "NotImplementedError"),
    _raises("apart", "ValueError|RuntimeError", scope="apart"),
    _raises("apart-again", "RuntimeError|ValueError", scope="apart"),
)  # fmt: skip
