"""Substitution of records: something else stands where a record should be."""

from random import Random
from typing import Any

from simulators.faults.fault import Change, Place
from simulators.payload import Payload
from simulators.reply_item import edited, with_ids, with_meta

_ABORTED = {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}


def substitution(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a x c]: x belongs to another request"""
    (index,) = at
    return payload.with_record(index, payload.foreign[index])


def substitution_extra(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a b c x]: x belongs to another request"""
    return payload.with_records([*payload.records, payload.foreign[0]])


def item_becomes(value: Any) -> Change:
    """Return the fault that puts one fixed JSON value in the place of an item."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        (index,) = at
        return payload.with_record(index, value)

    return change


def item_aborted(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, finished -> a = 1 2 3, aborted"""
    return edited(payload, at[0], lambda item: with_meta(item, finish_reason=dict(_ABORTED)))


def item_aborted_empty(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, finished -> a = nothing, aborted"""
    empty = edited(payload, at[0], lambda item: with_ids(item, []))
    return item_aborted(empty, at, rng)


def usage_text(payload: Payload, at: Place, rng: Random) -> Payload:
    """a, 7 prompt tokens -> a, "seven" prompt tokens"""
    return edited(payload, at[0], lambda item: with_meta(item, prompt_tokens="seven"))


def usage_null(payload: Payload, at: Place, rng: Random) -> Payload:
    """a, meta_info -> a, null"""
    return edited(payload, at[0], lambda item: {**item, "meta_info": None})


def item_extra_field(payload: Payload, at: Place, rng: Random) -> Payload:
    """{ids} -> {ids, a field that a later server may add}"""
    return edited(payload, at[0], lambda item: {**item, "prompt_routed_experts": None})


def item_key_order(payload: Payload, at: Place, rng: Random) -> Payload:
    """{text, ids, meta} -> {meta, ids, text}"""
    return edited(payload, at[0], lambda item: dict(reversed(item.items())))
