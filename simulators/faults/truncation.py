"""Truncation: the end is cut off, of the list of records or of one record."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload, fields_of


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
    return _cut_ids(payload, at, 2)


def ids_without_end(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 4 end -> a = 1 2 3 4, with its usage to match"""
    return _cut_ids(payload, at, 1)


def rows_narrow(payload: Payload, at: Place, rng: Random) -> Payload:
    """[1 2 3 | 4 5 6] -> [1 2 | 4 5]"""
    return payload.with_records([row[:-1] for row in payload.records])


def _cut_ids(payload: Payload, at: Place, count: int) -> Payload:
    (index,) = at
    item = fields_of(payload.records[index])
    ids = item["output_ids"][:-count]
    meta = {**item["meta_info"], "completion_tokens": len(ids)}
    return payload.with_record(index, {**item, "output_ids": ids, "meta_info": meta})
