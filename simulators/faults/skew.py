"""Skew: counts are off by some, or off here and made good there (compensated)."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload
from simulators.reply_item import edited, item_of, with_ids


def skew_front(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end -> a = 9 1 2 3 end: one id too many in front"""
    return edited(payload, at[0], lambda item: with_ids(item, [9, *item["output_ids"]]))


def skew_end(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end -> a = 1 2 3 end end: one id too many where nothing looks"""

    def longer(item: dict[str, list[int]]) -> dict[str, list[int]]:
        return {**item, "output_ids": [*item["output_ids"], *item["output_ids"][-1:]]}

    return edited(payload, at[0], longer)


def skew_compensated(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end, b = 4 5 6 end -> a = 1 2 3 end 4 5, b = 6 end: the sum still fits"""
    longer, shorter = at
    one, two = item_of(payload.records[longer]), item_of(payload.records[shorter])
    if one is None or two is None:
        return payload
    moved, left = two["output_ids"][:2], two["output_ids"][2:]
    changed = payload.with_record(longer, with_ids(one, [*one["output_ids"], *moved]))
    return changed.with_record(shorter, with_ids(two, left))


def rows_wide(payload: Payload, at: Place, rng: Random) -> Payload:
    """[1 2 | 4 5] -> [1 2 2 | 4 5 5]"""
    import torch

    return payload.with_records([torch.cat([row, row[-1:]]) for row in payload.records])
