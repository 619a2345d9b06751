"""Faults of what a preprocessor counts: off by some, of another kind, or by another rule."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.encoder import RULES
from simulators.encoder_rules import tokens_of_picture
from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.payload import EMBEDDINGS, Payload


def count_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that tells another count of one item, if it is still a whole number."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        if type(item.count) is not int:
            return payload
        return payload.with_record(at[0], item._replace(count=edit(item.count)))

    return change


def two_counts_become(edit: Callable[[Any, Any], tuple[Any, Any]]) -> Change:
    """Return the fault that tells other counts of two items, if both are whole numbers."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        if type(one.count) is not int or type(two.count) is not int:
            return payload
        first, second = edit(one.count, two.count)
        changed = payload.with_record(at[0], one._replace(count=first))
        return changed.with_record(at[1], two._replace(count=second))

    return change


def counted_by(**rules: Any) -> Change:
    """Return the fault by which items are counted by other rules than they are encoded by."""
    setting = replace(RULES, **rules)

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records(
            [item._replace(count=tokens_of_picture(item.size, setting)) for item in payload.records]
        )

    return change


def counts_on_first(payload: Payload, at: Place, rng: Random) -> Payload:
    """[3 | 2 | 2] -> [7 | 0 | 0]"""
    counts = [item.count for item in payload.records]
    if not counts or any(type(count) is not int for count in counts):
        return payload
    told = [sum(counts), *[0] * (len(counts) - 1)]
    pairs_of = zip(payload.records, told, strict=True)
    return payload.with_records([item._replace(count=count) for item, count in pairs_of])


def _tensor(count: int) -> Any:
    import torch

    return torch.tensor(count)


def _one(name: str, kind: str, edit: Callable[[Any], Any], picture: str, **more: Any) -> Fault:
    change = count_becomes(edit)
    return Fault(name, kind, change, (EMBEDDINGS,), each, picture, scope="items", **more)


def _by(name: str, picture: str, **rules: Any) -> Fault:
    change = counted_by(**rules)
    return Fault(name, "skew", change, (EMBEDDINGS,), whole, picture, scope="rules")


#: The rows of these faults in the table.
FAULTS = (
    _one("count-one-less", "skew", lambda count: count - 1, "[6 | 12] -> [6 | 11]"),
    _one("count-one-more", "skew", lambda count: count + 1, "[6 | 12] -> [6 | 13]"),
    _one("count-double", "skew", lambda count: 2 * count, "[6 | 12] -> [6 | 24]"),
    _one("count-zero", "omission", lambda count: 0, "[6 | 12] -> [6 | 0]"),
    _one("count-negative", "substitution", lambda count: -count, "[6 | 12] -> [6 | -12]"),
    _one("count-float", "substitution", float, "[6 | 12] -> [6 | 12.0]"),
    _one("count-fraction", "skew", lambda count: count + 0.5, "[6 | 12] -> [6 | 12.5]"),
    _one("count-tensor", "substitution", _tensor, "[6 | 12] -> [6 | tensor(12)]", benign=True),
    Fault("counts-swapped", "reordering", two_counts_become(lambda one, two: (two, one)),
          (EMBEDDINGS,), pairs, "[6 | 12] -> [12 | 6]", scope="two"),
    Fault("counts-moved", "skew", two_counts_become(lambda one, two: (one + 2, two - 2)),
          (EMBEDDINGS,), ordered_pairs, "[6 | 12] -> [8 | 10], the sum fits", scope="two"),
    Fault("counts-minus-moved", "skew", two_counts_become(lambda one, two: (-2, two + one + 2)),
          (EMBEDDINGS,), ordered_pairs, "[6 | 12] -> [-2 | 20], the sum fits", scope="two"),
    Fault("counts-on-first", "merge", counts_on_first, (EMBEDDINGS,), whole,
          "[6 | 12] -> [18 | 0], the sum fits", scope="rules"),
    _by("counts-unmerged", "2x2 patches a token -> 1 patch a token", merge=1),
    _by("counts-floor", "sides half to even -> down", rounding="floor"),
    _by("counts-ceil", "sides half to even -> up", rounding="ceil"),
    _by("counts-patch-16", "patches of 14 pixels -> of 16", patch=16),
    _by("counts-small-side", "23x3 pixels as 3 tokens -> its sides first scaled up: 7",
        small_side=True),
    _by("counts-class-token", "6 -> 6 and a class token", before=1),
)  # fmt: skip
