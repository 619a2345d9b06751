"""Reordering: every record is there, and not all in their places."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload


def reordering(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [c b a]: two records change places"""
    first, second = at
    records = list(payload.records)
    records[first], records[second] = records[second], records[first]
    return payload.with_records(records)


def reordering_reverse(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c d] -> [d c b a]"""
    return payload.with_records(payload.records[::-1])


def reordering_rotate(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c d] -> [b c d a]"""
    return payload.with_records(payload.records[1:] + payload.records[:1])
