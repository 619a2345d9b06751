"""Omission: one record is left out."""

from dataclasses import replace
from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload


def omission(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a c]"""
    (index,) = at
    return payload.with_records(payload.records[:index] + payload.records[index + 1 :])


def usage_omission(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c], usage [1 2 3] -> [a b c], usage [1 2]"""
    usages = payload.beside["usage_by_output"][:-1]
    return replace(payload, beside={**payload.beside, "usage_by_output": usages})
