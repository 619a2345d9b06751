"""Merge: two neighbouring records become one."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload
from simulators.reply_item import item_of, with_ids


def merge(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [ab c]"""
    (index,) = at
    records = payload.records
    one, two = (item_of(record) for record in records[index : index + 2])
    if one is None or two is None:
        return payload
    merged = with_ids(one, [*one["output_ids"], *two["output_ids"]])
    return payload.with_records([*records[:index], merged, *records[index + 2 :]])


def merge_padded(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [ab c c]: merged, and filled up to the right count with the last record"""
    shorter = merge(payload, at, rng)
    missing = len(payload.records) - len(shorter.records)
    return payload.with_records([*shorter.records, *shorter.records[-1:] * missing])
