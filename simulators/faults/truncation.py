"""Truncation: the end is cut off, of the list of records or of one record."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload
from simulators.reply_item import edited, with_ids


def truncation(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c d] -> [a b]"""
    (kept,) = at
    return payload.with_records(payload.records[:kept])


def collapse(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [b]"""
    (index,) = at
    return payload.with_records(payload.records[index : index + 1])


def ids_short(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 4 end -> a = 1 2 3, with its usage to match"""
    return edited(payload, at[0], lambda item: with_ids(item, item["output_ids"][:-2]))


def ids_without_end(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 4 end -> a = 1 2 3 4: what nothing relies on is left out"""
    return edited(payload, at[0], lambda item: {**item, "output_ids": item["output_ids"][:-1]})


def rows_narrow(payload: Payload, at: Place, rng: Random) -> Payload:
    """[1 2 3 | 4 5 6] -> [1 2 | 4 5]"""
    return payload.with_records([row[:-1] for row in payload.records])
