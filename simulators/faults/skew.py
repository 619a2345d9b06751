"""Skew: counts are off by some, or off here and made good there (compensated)."""

from random import Random
from typing import Any

from simulators.faults.fault import Place
from simulators.payload import Payload, fields_of


def skew_front(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end -> a = 9 1 2 3 end: one id too many in front"""
    (index,) = at
    item = fields_of(payload.records[index])
    return payload.with_record(index, _with_ids(item, [9, *item["output_ids"]]))


def skew_end(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end -> a = 1 2 3 end end: one id too many behind"""
    (index,) = at
    item = fields_of(payload.records[index])
    return payload.with_record(index, _with_ids(item, [*item["output_ids"], item["output_ids"][-1]]))


def skew_compensated(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end, b = 4 5 6 end -> a = 1 2 3 end 4 5, b = 6 end: the sum still fits"""
    longer, shorter = at
    one, two = fields_of(payload.records[longer]), fields_of(payload.records[shorter])
    moved, left = two["output_ids"][:2], two["output_ids"][2:]
    longer_item = _with_ids(one, [*one["output_ids"], *moved])
    changed = payload.with_record(longer, longer_item)
    return changed.with_record(shorter, _with_ids(two, left))


def rows_wide(payload: Payload, at: Place, rng: Random) -> Payload:
    """[1 2 | 4 5] -> [1 2 2 | 4 5 5]"""
    import torch

    return payload.with_records([torch.cat([row, row[-1:]]) for row in payload.records])


def _with_ids(item: dict[str, Any], ids: list[Any]) -> dict[str, Any]:
    meta = {**item["meta_info"], "completion_tokens": len(ids)}
    return {**item, "output_ids": ids, "meta_info": meta}
