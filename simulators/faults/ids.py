"""Faults inside one reply item: its ids and usage are not what they should be."""

from collections.abc import Callable
from random import Random
from typing import Any

from contracts.clauses.prior_tokens import CODEBOOK_SIZE, END_OF_IMAGE
from simulators.faults.fault import Change, Place
from simulators.payload import Payload
from simulators.reply_item import edited, with_ids, with_meta

#: The first whole number that float32 cannot hold.
_BEYOND_FLOAT32 = 2**24 + 1


def ids_become(edit: Callable[[list[int]], Any]) -> Change:
    """Return the fault that replaces an item's ids, and leaves its usage as it was."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        ids = "output_ids"
        return edited(payload, at[0], lambda item: {**item, ids: edit(item[ids])})

    return change


def each_id(edit: Callable[[int], Any]) -> Change:
    """Return the fault that replaces every id of an item that is still a whole number."""
    return ids_become(lambda ids: [edit(i) if type(i) is int else i for i in ids])


def meta_becomes(**fields: Any) -> Change:
    """Return the fault that sets fields of an item's `meta_info`."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return edited(payload, at[0], lambda item: with_meta(item, **fields))

    return change


def without(key: str) -> Change:
    """Return the fault that leaves a key of an item out."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return edited(payload, at[0], lambda i: {k: v for k, v in i.items() if k != key})

    return change


def meta_text(payload: Payload, at: Place, rng: Random) -> Payload:
    """{meta_info {..}} -> {meta_info "ok" }"""
    return edited(payload, at[0], lambda item: {**item, "meta_info": "ok"})


def ids_prompt_front(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 end -> a = the prompt's last five, then 1 2 3 end; the usage is the true one"""
    return edited(
        payload, at[0], lambda item: {**item, "output_ids": [7, 7, 7, 7, 7, *item["output_ids"]]}
    )


def ids_repeated(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 end -> a = 1 2 end 1 2 end, with its usage to match"""
    return edited(payload, at[0], lambda item: with_ids(item, item["output_ids"] * 2))


def half(ids: list[int]) -> list[int]:
    """1 2 3 4 -> 1 2"""
    return ids[: len(ids) // 2]


def shifted(ids: list[int]) -> list[int]:
    """1 2 3 end -> 2 3 end 0: one lost in front, and filled up behind"""
    return [*ids[1:], 0]


def front_lost(ids: list[int]) -> list[int]:
    """1 2 3 4 -> 3 4 0 0: the preview lost, and filled up behind"""
    lost = len(ids) // 2
    return [*ids[lost:], *[0] * lost]


def ended_early(ids: list[int]) -> list[int]:
    """1 2 3 4 end -> 1 2 3 end end: stopped early, and filled up with the end"""
    kept = max(0, len(ids) - 4)
    return [*ids[:kept], *[END_OF_IMAGE] * (len(ids) - kept)]


def one_beyond(ids: list[int]) -> list[int]:
    """1 2 3 end -> 1 2 16384 end: the last one that is needed is out of the codebook"""
    return [*ids[:-2], CODEBOOK_SIZE, *ids[-1:]]


def one_null(ids: list[int]) -> list[int | None]:
    """1 2 3 end -> 1 2 null end"""
    return [*ids[:-2], None, *ids[-1:]]


def two_swapped(ids: list[int]) -> list[int]:
    """1 2 3 end -> 1 3 2 end: the last two that are needed change places"""
    return [*ids[:-3], ids[-2], ids[-3], *ids[-1:]] if len(ids) > 2 else ids


def few_distinct(ids: list[int]) -> list[int]:
    """1 2 3 4 5 -> 1 2 1 2 1: a sampler that has collapsed to fifteen ids"""
    return [ids[position % 15] for position in range(len(ids))]


def numbered(ids: list[int]) -> dict[str, int]:
    """1 2 -> {"0": 1, "1": 2}"""
    return {str(position): i for position, i in enumerate(ids)}


def as_text(ids: list[int]) -> str:
    """1 2 3 -> "aaa" for every three ids"""
    return "a" * len(ids)


def beyond_codebook(i: int) -> int:
    """1 -> 16385"""
    return i + CODEBOOK_SIZE


def fraction(i: int) -> float:
    """1 -> 1.5"""
    return i + 0.5


def beyond_float32(i: int) -> int:
    """1 -> 16777217"""
    return _BEYOND_FLOAT32


def nested(i: int) -> list[int]:
    """1 -> [1]"""
    return [i]
