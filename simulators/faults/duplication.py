"""Duplication: one record is sent more than once, beside the others or in their place."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload


def duplication(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a a c]: one doubled, one lost, and the count is right"""
    kept, lost = at
    return payload.with_record(lost, payload.records[kept])


def duplication_extra(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a b c a]"""
    (index,) = at
    return payload.with_records([*payload.records, payload.records[index]])


def duplication_all(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [b b b]"""
    (index,) = at
    return payload.with_records([payload.records[index]] * len(payload.records))
