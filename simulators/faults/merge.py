"""Merge: two neighbouring records become one."""

from random import Random
from typing import Any

from simulators.faults.fault import Place
from simulators.payload import Payload, fields_of


def merge(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [ab c]"""
    (index,) = at
    merged = _merged(payload.records[index], payload.records[index + 1])
    records = payload.records
    return payload.with_records([*records[:index], merged, *records[index + 2 :]])


def merge_padded(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [ab c c]: merged, and filled up to the right count with the last record"""
    shorter = merge(payload, at, rng)
    return payload.with_records([*shorter.records, shorter.records[-1]])


def _merged(first: Any, second: Any) -> dict[str, Any]:
    one, two = fields_of(first), fields_of(second)
    ids = [*one["output_ids"], *two["output_ids"]]
    meta = {**one["meta_info"], "completion_tokens": len(ids)}
    return {**one, "output_ids": ids, "meta_info": meta}
