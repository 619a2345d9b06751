"""Scramble: something anywhere inside a record becomes something else, by the case's seed."""

import copy
from random import Random
from typing import Any

from simulators.faults.fault import Place
from simulators.payload import Payload, plain

#: What a field may become: each kind of JSON value, and the edges of numbers.
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 16384, 2**24 + 1, 2**31, 2**63, 1.5, -0.0, 1e300,
    "", "7", "ok", [], [0], [None], [[0]], {}, {"error": "x"},
)  # fmt: skip


def scramble(payload: Payload, at: Place, rng: Random) -> Payload:
    """{text, ids, meta} -> {text, ids, 7}"""
    (index,) = at
    record = copy.deepcopy(plain(payload.records[index]))
    return payload.with_record(index, _scrambled(record, rng))


def _scrambled(value: Any, rng: Random) -> Any:
    # Half of the time deeper, so that the ids and the usage are reached as often as the whole.
    if rng.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return copy.deepcopy(rng.choice(_VALUES))
    if isinstance(value, dict):
        key = rng.choice(sorted(value))
        if rng.random() < 0.2:
            del value[key]
        else:
            value[key] = _scrambled(value[key], rng)
        return value
    return _scrambled_list(value, rng)


def _scrambled_list(value: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(value))
    how = rng.randrange(4)
    if how == 0:
        return value[:at]
    if how == 1:
        return value[:at] + value[at + 1 :]
    if how == 2:
        return [*value[:at], value[at], *value[at:]]
    value[at] = _scrambled(value[at], rng)
    return value
