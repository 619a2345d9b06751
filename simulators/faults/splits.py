"""Faults of splits: what a scheduler tells the ranks of a shared sequence, and leaves out.

Their rows of the table stand at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import SPLITS, Payload


def split_becomes(edit: Callable[[int], Any]) -> Change:
    """Return the fault that puts something else in the place of one split."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        value = payload.records[at[0]]
        return payload.with_record(at[0], edit(value)) if type(value) is int else payload

    return change


def splits_become(edit: Callable[[list[int]], Sequence[Any]]) -> Change:
    """Return the fault that puts other splits in the place of all of them."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        if not _are_splits(payload):
            return payload
        return payload.with_records(list(edit(list(payload.records))))

    return change


def sent(make: Callable[[list[int]], Any]) -> Change:
    """Return the fault that sends the splits as something else than a tuple of ints."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(make(list(payload.records))) if _are_splits(payload) else payload

    return change


def told(**beside: Any) -> Change:
    """Return the fault that tells something else beside the splits."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **beside})

    return change


def splits_stale(payload: Payload, at: Place, rng: Random) -> Payload:
    """[5 3] -> [7 5], those of the batch before"""
    return payload.with_records(payload.foreign)


def _are_splits(payload: Payload) -> bool:
    # An earlier fault may have left too few, or something else in the place of one.
    return len(payload.records) > 1 and all(type(split) is int for split in payload.records)


def _all(count: int) -> Callable[[list[int]], list[int]]:
    return lambda splits: [sum(splits) // len(splits) + count] * len(splits)


def _per_request(splits: list[int]) -> list[int]:
    # One request more than there are ranks.
    requests = len(splits) + 1
    return [len(range(index, sum(splits), requests)) for index in range(requests)]


def _moved(splits: list[int]) -> list[int]:
    return [splits[0] + 1, *splits[1:-1], splits[-1] - 1]


def _floored(splits: list[int]) -> list[int]:
    return [sum(splits) // len(splits)] * len(splits)


def _negative(splits: list[int]) -> list[int]:
    # The sum still fits.
    return [-splits[0], splits[1] + 2 * splits[0], *splits[2:]]


def _tensor(splits: list[int]) -> Any:
    import torch

    return torch.tensor(splits)


def _tensors(splits: list[int]) -> Any:
    import torch

    return [torch.tensor(split) for split in splits]


def _generator(splits: list[int]) -> Any:
    return (split for split in splits)


def _one(name: str, kind: str, edit: Callable[[int], Any], picture: str) -> Fault:
    return Fault(name, kind, split_becomes(edit), (SPLITS,), each, picture, scope="items")


def _every(name: str, kind: str, change: Change, picture: str, benign: bool = False) -> Fault:
    return Fault(name, kind, change, (SPLITS,), whole, picture, "splits", benign)


def _sent(name: str, make: Callable[[list[int]], Any], picture: str, benign: bool = False) -> Fault:
    return Fault(name, "substitution", sent(make), (SPLITS,), whole, picture, "body", benign)


def _batch(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (SPLITS,), whole, picture, scope="batch")


FAULTS = (
    _batch("splits-omitted", "omission", told(has_splits=False), "splits -> no such field"),
    _every("splits-stale", "staleness", splits_stale, "[5 3] -> [7 5], of the batch before"),
    _every("splits-total", "merge", splits_become(lambda s: [sum(s)]),
           "[5 3] -> [8], one for the request"),
    _every("splits-per-request", "substitution", splits_become(_per_request),
           "[5 3] -> [3 3 2], one for each of 3 requests"),
    _every("splits-floor", "truncation", splits_become(_floored),
           "[5 4] -> [4 4], the floor of 9 / 2"),
    _every("splits-ceil", "skew", splits_become(_all(1)), "[5 4] -> [5 5], the ceiling of 9 / 2"),
    _every("splits-moved", "skew", splits_become(_moved), "[4 4] -> [5 3], compensated"),
    _every("splits-huge-alike", "skew", splits_become(lambda s: [99] * len(s)),
           "[4 4] -> [99 99]"),
    _every("splits-negative", "skew", splits_become(_negative), "[5 3] -> [-5 13], compensated"),
    _one("split-one-less", "skew", lambda s: s - 1, "[5 3] -> [5 2]"),
    _one("split-one-more", "skew", lambda s: s + 1, "[5 3] -> [5 4]"),
    _one("split-zero", "skew", lambda s: 0, "[5 3] -> [5 0]"),
    _one("split-minus", "skew", lambda s: -s, "[5 3] -> [5 -3]"),
    _one("split-null", "substitution", lambda s: None, "[5 3] -> [5 null]"),
    _one("split-fraction", "substitution", lambda s: s + 0.5, "[5 3] -> [5 3.5]"),
    _one("split-text", "substitution", str, '[5 3] -> [5 "3"]'),
    _one("split-nested", "substitution", lambda s: [s], "[5 3] -> [5 [3]]"),
    _sent("splits-list", list, "(5 3) -> [5 3]", benign=True),
    _sent("splits-floats", lambda s: tuple(map(float, s)), "(5 3) -> (5.0 3.0)"),
    _sent("splits-text", lambda s: "".join(map(str, s)), '(5 3) -> "53"'),
    _sent("splits-texts", lambda s: tuple(map(str, s)), '(5 3) -> ("5" "3")'),
    _sent("splits-number", sum, "(5 3) -> 8"),
    _sent("splits-tensor", _tensor, "(5 3) -> tensor([5 3])"),
    _sent("splits-tensors", _tensors, "(5 3) -> (tensor(5) tensor(3))"),
    _sent("splits-generator", _generator, "(5 3) -> a generator, read once"),
    _sent("splits-by-rank", lambda s: dict(enumerate(s)), "(5 3) -> {0: 5, 1: 3}"),
    _batch("flag-lost", "omission", told(enabled=False), "sharded -> not sharded"),
    _batch("flag-none", "omission", told(enabled=None), "sharded -> null"),
    _batch("batch-none", "omission", told(batch=False), "a batch -> no batch"),
    _batch("row-heads-more", "skew", lambda p, at, rng: told(heads=p.beside["heads"] + 1)(
           p, at, rng), "12 heads -> 13 heads"),
    Fault("cache-none", "omission", told(cache=False), (SPLITS,), whole,
          "a cache -> no cache", scope="cache"),
)  # fmt: skip
