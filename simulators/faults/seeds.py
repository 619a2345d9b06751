"""Faults of seeds: one is no whole number, out of range, or stands for all of them.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import SEEDS, Payload


def seed_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that puts something else in the place of one seed."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        value = payload.records[at[0]]
        return payload.with_record(at[0], edit(value)) if type(value) is int else payload

    return change


def seeds_become(edit: Callable[[list[Any]], Any]) -> Change:
    """Return the fault that puts something else in the place of all seeds."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(list(payload.records)))

    return change


def _one(name: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = seed_becomes(edit)
    return Fault(name, "substitution", change, (SEEDS,), each, picture, scope="items")


def _all(name: str, kind: str, edit: Callable[[list[Any]], Any], picture: str) -> Fault:
    return Fault(name, kind, seeds_become(edit), (SEEDS,), whole, picture, scope="body")


FAULTS = (
    _one("seed-null", lambda s: None, "[7 9] -> [7 null]"),
    _one("seed-true", lambda s: True, "[7 9] -> [7 true]"),
    _one("seed-float", float, "[7 9] -> [7 9.0]"),
    _one("seed-fraction", lambda s: s + 0.5, "[7 9] -> [7 9.5]"),
    _one("seed-digits", str, '[7 9] -> [7 "9"]'),
    _one("seed-word", lambda s: "nine", '[7 9] -> [7 "nine"]'),
    _one("seed-nested", lambda s: [s], "[7 9] -> [7 [9]]"),
    _one("seed-next", lambda s: s + 1, "[7 9] -> [7 10]"),
    _one("seed-negative", lambda s: -s, "[7 9] -> [7 -9]"),
    _one("seed-beyond-int64", lambda s: s + 2**63, "[7 9] -> [7 2**63 + 9]"),
    _all("seeds-none", "omission", lambda s: [], "[7 9] -> []"),
    _all("seeds-object", "substitution", lambda s: {str(i): x for i, x in enumerate(s)},
         '[7 9] -> {"0": 7, "1": 9}'),
    _all("seeds-joined", "merge", lambda s: ",".join(map(str, s)), '[7 9] -> "7,9"'),
    _all("seeds-nested", "substitution", lambda s: [s], "[7 9] -> [[7 9]]"),
    _all("seeds-first", "truncation", lambda s: s[0] if s else None,
         "[7 9] -> 7, which stands for 7 8"),
)  # fmt: skip
