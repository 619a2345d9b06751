"""Substitution of records: something else stands where a record should be."""

from random import Random
from typing import Any

from simulators.faults.fault import Change, Place
from simulators.payload import Payload, fields_of


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
    return _aborted(payload, at, keep_ids=True)


def item_aborted_empty(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, finished -> a = nothing, aborted"""
    return _aborted(payload, at, keep_ids=False)


def usage_text(payload: Payload, at: Place, rng: Random) -> Payload:
    """a, usage 7 -> a, usage "seven\""""
    (index,) = at
    item = fields_of(payload.records[index])
    meta = {**item["meta_info"], "prompt_tokens": "seven"}
    return payload.with_record(index, {**item, "meta_info": meta})


def usage_null(payload: Payload, at: Place, rng: Random) -> Payload:
    """a, usage 7 -> a, no usage"""
    (index,) = at
    return payload.with_record(index, {**fields_of(payload.records[index]), "meta_info": None})


def item_extra_field(payload: Payload, at: Place, rng: Random) -> Payload:
    """{ids} -> {ids, a field that a later server may add}"""
    (index,) = at
    item = fields_of(payload.records[index])
    return payload.with_record(index, {**item, "prompt_routed_experts": None})


def item_key_order(payload: Payload, at: Place, rng: Random) -> Payload:
    """{text, ids, meta} -> {meta, ids, text}"""
    (index,) = at
    item = fields_of(payload.records[index])
    return payload.with_record(index, dict(reversed(item.items())))


def _aborted(payload: Payload, at: Place, keep_ids: bool) -> Payload:
    (index,) = at
    item = fields_of(payload.records[index])
    ids = item["output_ids"] if keep_ids else []
    reason = {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}
    meta = {**item["meta_info"], "finish_reason": reason, "completion_tokens": len(ids)}
    return payload.with_record(index, {**item, "output_ids": ids, "meta_info": meta})
