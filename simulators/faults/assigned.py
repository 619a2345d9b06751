"""Faults of an assignment of items to encoders: its counts, its modalities, its URLs."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.assigned_items import largest
from simulators.faults.fault import Change, Fault, Place, Places, each, ordered_pairs, whole
from simulators.payload import ASSIGNED, Payload


def count_becomes(edit: Callable[[int], Any]) -> Change:
    """Return the fault that tells one encoder another count of its largest modality."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        name = largest(record)
        if type(record[name]) is not int:
            return payload
        return payload.with_record(at[0], {**record, name: edit(record[name])})

    return change


def count_moves(by: Callable[[int], int]) -> Change:
    """Return the fault that gives to one encoder what it takes from another."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        source, target = (payload.records[index] for index in at)
        name = largest(source)
        if type(source[name]) is not int or type(target.get(name)) is not int:
            return payload
        moved = by(source[name])
        changed = payload.with_record(at[0], {**source, name: source[name] - moved})
        return changed.with_record(at[1], {**target, name: target[name] + moved})

    return change


def all_counts_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that tells every encoder another count."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        records = [{name: edit(count) for name, count in r.items()} for r in payload.records]
        return payload.with_records(records)

    return change


def entry_more(count: int) -> Change:
    """Return the fault that adds an entry behind the last encoder's, taken from an earlier one."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        records = [dict(record) for record in payload.records]
        added = {name: 0 for record in records[:1] for name in record}
        for record in reversed(records):
            name = largest(record)
            if count and type(record[name]) is int and record[name] > 0:
                record[name] -= count
                added[name] = count
                break
        return payload.with_records([*records, added])

    return change


def entry_lost(payload: Payload, at: Place, rng: Random) -> Payload:
    """[2 1 1] -> [2 1]"""
    return payload.with_records(payload.records[:-1])


def told_as(**beside: Any) -> Change:
    """Return the fault that tells the counts otherwise."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **beside})

    return change


def urls_become(edit: Callable[[list[Any]], list[Any]]) -> Change:
    """Return the fault that tells other encoders than those of the assignment."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return told_as(urls=edit(list(payload.beside["urls"])))(payload, at, rng)

    return change


def hashes_become(edit: Callable[[list[Any]], Any]) -> Change:
    """Return the fault that makes other hashes of the honest ones."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = payload.beside["hashes"]
        return told_as(hashes=edit(list(told)))(payload, at, rng) if told else payload

    return change


def _row(name: str, kind: str, change: Change, picture: str, places: Places = each,
         scope: str = "items", benign: bool = False) -> Fault:  # fmt: skip
    return Fault(name, kind, change, (ASSIGNED,), places, picture, scope, benign)


def _told(name: str, kind: str, change: Change, picture: str, benign: bool = False) -> Fault:
    return _row(name, kind, change, picture, whole, "told", benign)


def _hashes(name: str, kind: str, change: Change, picture: str, benign: bool = False) -> Fault:
    return _row(name, kind, change, picture, whole, "hashes", benign)


#: The rows of these faults in the table.
FAULTS = (
    _row("assigned-one-less", "skew", count_becomes(lambda n: n - 1), "[2 1] -> [1 1]"),
    _row("assigned-one-more", "skew", count_becomes(lambda n: n + 1), "[2 1] -> [3 1]"),
    _row("assigned-many-more", "skew", count_becomes(lambda n: n + 9), "[2 1] -> [11 1]"),
    _row("assigned-negative", "skew", count_becomes(lambda n: -n - 1), "[2 1] -> [-3 1]"),
    _row("assigned-null", "substitution", count_becomes(lambda n: None), "[2 1] -> [null 1]"),
    _row("assigned-text", "substitution", count_becomes(str), '[2 1] -> ["2" 1]'),
    _row("assigned-float", "substitution", count_becomes(float), "[2 1] -> [2.0 1]"),
    _row("assigned-true", "substitution", count_becomes(lambda n: True), "[2 1] -> [true 1]"),
    _row("assigned-moved", "skew", count_moves(lambda n: 1), "[2 1] -> [1 2]", ordered_pairs,
         "two", benign=True),
    _row("assigned-overdrawn", "skew", count_moves(lambda n: n + 1), "[2 1] -> [-1 4]",
         ordered_pairs, "two"),
    _row("assigned-entry-lost", "omission", entry_lost, "[2 1 1] -> [2 1]", whole, "entries"),
    _row("assigned-entry-more", "skew", entry_more(1), "[2 1] -> [2 0 1]", whole, "entries"),
    _row("assigned-entry-more-empty", "skew", entry_more(0), "[2 1] -> [2 1 0]", whole, "entries",
         benign=True),
    _row("assigned-nothing", "omission", all_counts_become(lambda n: 0), "[2 1] -> [0 0]", whole,
         "entries"),
    _row("assigned-everything", "duplication",
         all_counts_become(lambda n: n * 2 if type(n) is int else n), "[2 1] -> [4 2]", whole,
         "entries"),
    _told("assigned-list", "substitution", told_as(shape="list"), "{IMAGE: [2 1]} -> [2 1]"),
    _told("assigned-by-none", "omission", told_as(shape="none"), "{IMAGE: [2 1]} -> null",
          benign=True),
    _told("assigned-by-grpc", "substitution", told_as(mode="grpc"), "http -> grpc"),
    _told("assigned-keys-text", "substitution", told_as(keys="text"),
          '{IMAGE: [2 1]} -> {"IMAGE": [2 1]}'),
    _told("assigned-images-lost", "omission", told_as(lost=("IMAGE",)), "{IMAGE: [2 1]} -> {}"),
    _told("assigned-modality-added", "skew", told_as(added="AUDIO"),
          "{IMAGE: [2 1]} -> {AUDIO: [1 1], IMAGE: [2 1]}"),
    _told("assigned-encoders-none", "omission", urls_become(lambda u: []), "[u v] -> []"),
    _told("assigned-encoder-gone", "disconnect", urls_become(lambda u: u[:-1]), "[u v] -> [u]"),
    _told("assigned-encoder-joined", "skew", urls_become(lambda u: [*u, "http://late:30099"]),
          "[u v] -> [u v w]", benign=True),
    _hashes("assigned-hashes-none", "omission", told_as(hashes=None), "[h j] -> null",
            benign=True),
    _hashes("assigned-hashes-short", "truncation", hashes_become(lambda h: h[:-1]),
            "[h j] -> [h]"),
    _hashes("assigned-hashes-long", "skew", hashes_become(lambda h: [*h, h[0]]),
            "[h j] -> [h j h]"),
    _hashes("assigned-hashes-turned", "reordering", hashes_become(lambda h: [*h[1:], h[0]]),
            "[h j] -> [j h]"),
    _hashes("assigned-hashes-alike", "duplication", hashes_become(lambda h: h[:1] * len(h)),
            "[h j] -> [h h]"),
    _hashes("assigned-hashes-null", "substitution", hashes_become(lambda h: [None, *h[1:]]),
            "[h j] -> [null j]", benign=True),
)  # fmt: skip
