"""Faults inside one reply item: its ids and usage are not what they should be."""

from collections.abc import Callable
from random import Random
from typing import Any

from contracts.clauses.prior_tokens import CODEBOOK_SIZE, END_OF_IMAGE
from simulators.faults.fault import Change, Fault, Place, each
from simulators.payload import REPLY, Payload
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


# fmt: off
#: The rows of these faults in the table.
FAULTS = (
    Fault("ids-null", "substitution", ids_become(lambda i: None), (REPLY,), each,
          "a = 1 2 3 -> a = null", scope="ids"),
    Fault("ids-missing", "omission", without("output_ids"), (REPLY,), each,
          "{output_ids, ..} -> {..}", scope="ids"),
    Fault("ids-empty", "truncation", ids_become(lambda i: []), (REPLY,), each,
          "a = 1 2 3 -> a = nothing", scope="ids"),
    Fault("ids-half", "truncation", ids_become(half), (REPLY,), each,
          "a = 1 2 3 4 -> a = 1 2", scope="ids"),
    Fault("ids-repeated", "duplication", ids_repeated, (REPLY,), each,
          "a = 1 2 end -> a = 1 2 end 1 2 end", scope="ids"),
    Fault("ids-shifted", "skew", ids_become(shifted), (REPLY,), each,
          "a = 1 2 3 end -> a = 2 3 end 0", scope="ids"),
    Fault("ids-front-lost", "skew", ids_become(front_lost), (REPLY,), each,
          "a = 1 2 3 4 -> a = 3 4 0 0", scope="ids"),
    Fault("ids-prompt-front", "skew", ids_prompt_front, (REPLY,), each,
          "a = 1 2 end -> a = prompt 1 2 end", scope="ids"),
    Fault("ids-ended-early", "truncation", ids_become(ended_early), (REPLY,), each,
          "a = 1 2 3 end -> a = 1 end end end", scope="ids"),
    Fault("ids-swapped", "reordering", ids_become(two_swapped), (REPLY,), each,
          "a = 1 2 3 end -> a = 1 3 2 end", scope="ids"),
    Fault("ids-reversed", "reordering", ids_become(lambda i: i[::-1]), (REPLY,), each,
          "a = 1 2 3 -> a = 3 2 1", scope="ids"),
    Fault("ids-few-distinct", "substitution", ids_become(few_distinct), (REPLY,), each,
          "a = 1 2 3 4 -> a = 1 2 1 2", scope="ids"),
    Fault("ids-beyond-codebook", "substitution", each_id(beyond_codebook), (REPLY,), each,
          "a = 1 2 -> a = 16385 16386", scope="ids"),
    Fault("ids-one-beyond", "substitution", ids_become(one_beyond), (REPLY,), each,
          "a = 1 2 end -> a = 1 16384 end", scope="ids"),
    Fault("ids-negative", "substitution", each_id(lambda i: -1), (REPLY,), each,
          "a = 1 2 -> a = -1 -1", scope="ids"),
    Fault("ids-bool", "substitution", each_id(lambda i: True), (REPLY,), each,
          "a = 1 2 -> a = true true", scope="ids"),
    Fault("ids-fraction", "substitution", each_id(fraction), (REPLY,), each,
          "a = 1 2 -> a = 1.5 2.5", scope="ids"),
    Fault("ids-whole-float", "substitution", each_id(float), (REPLY,), each,
          "a = 1 2 -> a = 1.0 2.0", scope="ids"),
    Fault("ids-beyond-float32", "substitution", each_id(beyond_float32), (REPLY,), each,
          "a = 1 2 -> a = 16777217 16777217", scope="ids"),
    Fault("ids-beyond-int64", "substitution", each_id(lambda i: 2**63), (REPLY,), each,
          "a = 1 2 -> a = 2**63 2**63", scope="ids"),
    Fault("ids-digits", "substitution", each_id(str), (REPLY,), each,
          'a = 1 2 -> a = "1" "2"', scope="ids"),
    Fault("ids-nested", "substitution", each_id(nested), (REPLY,), each,
          "a = 1 2 -> a = [1] [2]", scope="ids"),
    Fault("ids-nulls", "substitution", each_id(lambda i: None), (REPLY,), each,
          "a = 1 2 -> a = null null", scope="ids"),
    Fault("ids-one-null", "substitution", ids_become(one_null), (REPLY,), each,
          "a = 1 2 end -> a = 1 null end", scope="ids"),
    Fault("ids-text", "substitution", ids_become(as_text), (REPLY,), each,
          'a = 1 2 -> a = "aa"', scope="ids"),
    Fault("ids-object", "substitution", ids_become(numbered), (REPLY,), each,
          'a = 1 2 -> a = {"0": 1, "1": 2}', scope="ids"),
    Fault("ids-number", "substitution", ids_become(len), (REPLY,), each,
          "a = 1 2 -> a = 2", scope="ids"),
    Fault("finish-stop", "substitution",
          meta_becomes(finish_reason={"type": "stop", "matched": 16385}), (REPLY,), each,
          "finished by length -> finished by a stop id", scope="ids", benign=True),
    Fault("finish-error", "substitution",
          meta_becomes(finish_reason={"type": "error"}), (REPLY,), each,
          "finished by length -> finished by an error", scope="ids"),
    Fault("meta-missing", "omission", without("meta_info"), (REPLY,), each,
          "{meta_info, ..} -> {..}", scope="ids"),
    Fault("meta-text", "substitution", meta_text, (REPLY,), each,
          'meta_info {..} -> "ok"', scope="ids"),
    Fault("meta-mismatch", "substitution", meta_becomes(prompt_tokens=9999), (REPLY,), each,
          "7 prompt tokens -> 9999", scope="ids"),
    Fault("meta-list", "substitution", meta_becomes(cached_tokens=[1]), (REPLY,), each,
          "0 cached tokens -> [1]", scope="ids"),
)
# fmt: on
