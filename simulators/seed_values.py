"""Honest seeds of one request, and whose seed a number is.

Seeds are far apart, so that one that is made of another by counting on is nobody's.
"""

from collections.abc import Mapping
from typing import Any

from contracts.contract import Origin
from simulators.payload import RECORDS, SEEDS, Payload

_FIRST = 40_000
_OTHER = 9_000_000
_STEP = 1009


def honest_seeds(kind: str, outputs: int) -> Payload:
    """Return a payload of seeds.

    Args:
        kind: `none`, `int` for one that stands for those behind it, or `list`.
        outputs: How many outputs are asked for.
    """
    if kind == "none":
        return Payload(SEEDS, (), body=None)
    count = outputs if kind == "list" else 1
    return Payload(
        SEEDS,
        tuple(_FIRST + _STEP * i for i in range(count)),
        tuple(_OTHER + _STEP * i for i in range(count)),
        beside={"alone": kind == "int"},
    )


def seed(payload: Payload) -> Any:
    """Return the seed as it stands in the request."""
    if payload.body is not RECORDS:
        return payload.body
    if payload.beside["alone"] and len(payload.records) == 1:
        return payload.records[0]
    return list(payload.records)


def owners(kind: str, outputs: int) -> Mapping[int, Origin]:
    """Return whose each known seed is: an output's index, or an outsider's name."""
    if kind == "none":
        return {}
    step = _STEP if kind == "list" else 1
    ours = {_FIRST + step * i: Origin(i, 0) for i in range(outputs)}
    foreign = {
        _OTHER + step * i: Origin(f"another request's output {i}", 0) for i in range(outputs)
    }
    return ours | foreign
