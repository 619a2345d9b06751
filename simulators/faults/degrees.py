"""Faults of degrees of parallelism: some that do not fit together, and some that are none."""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import DEGREES, Payload


def degree_becomes(name: str, edit: Callable[[int], Any]) -> Change:
    """Return the fault that tells another degree, if it is still a whole number."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        degree = payload.records[0][name]
        if type(degree) is not int:
            return payload
        return payload.with_record(0, {**payload.records[0], name: edit(degree)})

    return change


def degrees_become(edit: Callable[[int, int], tuple[int, int]]) -> Change:
    """Return the fault that tells another Ulysses and another ring degree."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        degrees = payload.records[0]
        if type(degrees["ulysses"]) is not int or type(degrees["ring"]) is not int:
            return payload
        ulysses, ring = edit(degrees["ulysses"], degrees["ring"])
        return payload.with_record(0, {**degrees, "ulysses": ulysses, "ring": ring})

    return change


def flag_lost(payload: Payload, at: Place, rng: Random) -> Payload:
    """shard, degrees -> degrees"""
    kept = {name: told for name, told in payload.records[0].items() if name != "shard"}
    return payload.with_record(0, kept)


def flag_becomes(told: Any) -> Change:
    """Return the fault that tells something else for the flag."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(0, {**payload.records[0], "shard": told})

    return change


def _row(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (DEGREES,), whole, picture, scope="degrees")


def _of(degree: str, name: str, kind: str, edit: Callable[[int], Any], picture: str) -> Fault:
    return _row(name, kind, degree_becomes(degree, edit), f"{degree} {picture}")


#: The rows of these faults in the table.
FAULTS = (
    _of("ulysses", "degree-ulysses-one", "substitution", lambda n: 1, "4 -> 1"),
    _of("ulysses", "degree-ulysses-zero", "substitution", lambda n: 0, "4 -> 0"),
    _of("ulysses", "degree-ulysses-negative", "substitution", lambda n: -n, "4 -> -4"),
    _of("ulysses", "degree-ulysses-half", "skew", lambda n: n // 2, "4 -> 2"),
    _of("ulysses", "degree-ulysses-double", "skew", lambda n: 2 * n, "4 -> 8"),
    _of("ulysses", "degree-ulysses-more", "skew", lambda n: n + 1, "4 -> 5"),
    _of("ulysses", "degree-ulysses-float", "substitution", float, "4 -> 4.0"),
    _of("ulysses", "degree-ulysses-fraction", "skew", lambda n: n + 0.5, "4 -> 4.5"),
    _of("ulysses", "degree-ulysses-text", "substitution", str, '4 -> "4"'),
    _of("ulysses", "degree-ulysses-missing", "omission", lambda n: None, "4 -> nothing"),
    _of("ring", "degree-ring-two", "skew", lambda n: 2, "1 -> 2"),
    _of("ring", "degree-ring-zero", "substitution", lambda n: 0, "1 -> 0"),
    _of("ring", "degree-ring-fraction", "skew", lambda n: n + 0.5, "1 -> 1.5"),
    _of("ring", "degree-ring-text", "substitution", str, '1 -> "1"'),
    _of("ring", "degree-ring-missing", "omission", lambda n: None, "1 -> nothing"),
    _row("degree-ring-half", "skew", degrees_become(lambda u, r: (u // 2, 2 * r)),
         "ulysses 4, ring 1 -> ulysses 2, ring 2"),
    _row("degree-ring-all", "reordering", degrees_become(lambda u, r: (r, u)),
         "ulysses 4, ring 1 -> ulysses 1, ring 4"),
    _of("sp", "degree-sp-one", "substitution", lambda n: 1, "4 -> 1"),
    _of("sp", "degree-sp-zero", "substitution", lambda n: 0, "4 -> 0"),
    _of("sp", "degree-sp-negative", "substitution", lambda n: -n, "4 -> -4"),
    _of("sp", "degree-sp-half", "skew", lambda n: n // 2, "4 -> 2"),
    _of("sp", "degree-sp-double", "skew", lambda n: 2 * n, "4 -> 8"),
    _of("sp", "degree-sp-more", "skew", lambda n: n + 1, "4 -> 5"),
    _of("sp", "degree-sp-float", "substitution", float, "4 -> 4.0"),
    _of("sp", "degree-sp-missing", "omission", lambda n: None, "4 -> nothing"),
    _row("degree-flag-lost", "omission", flag_lost, "shard, degrees -> degrees"),
    _row("degree-flag-off", "substitution", flag_becomes(False), "shard true -> false"),
    _row("degree-flag-text", "substitution", flag_becomes("false"), 'shard true -> "false"'),
    _of("heads", "heads-half", "skew", lambda n: n // 2, "8 -> 4"),
    _of("heads", "heads-one-less", "skew", lambda n: n - 1, "8 -> 7"),
    _of("heads", "heads-one-more", "skew", lambda n: n + 1, "8 -> 9"),
    _of("heads", "heads-zero", "substitution", lambda n: 0, "8 -> 0"),
    _of("heads", "heads-negative", "substitution", lambda n: -n, "8 -> -8"),
    _of("heads", "heads-float", "substitution", float, "8 -> 8.0"),
    _of("heads", "heads-text", "substitution", str, '8 -> "8"'),
    _of("heads", "heads-missing", "omission", lambda n: None, "8 -> nothing"),
)  # fmt: skip
