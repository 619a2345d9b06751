"""Edits of one item of a reply, for the faults that look inside.

An edit leaves alone what is no item any more, so that faults can follow one another.
"""

from collections.abc import Callable
from typing import Any

from simulators.payload import JsonItem, Payload

Item = dict[str, Any]


def item_of(record: Any) -> Item | None:
    """Return a fresh dict of a record's fields, or None if it is no item with ids."""
    fields = record.value if isinstance(record, JsonItem) else record
    if not isinstance(fields, dict) or not isinstance(fields.get("output_ids"), list):
        return None
    return dict(fields)


def edited(payload: Payload, index: int, edit: Callable[[Item], Item]) -> Payload:
    """Return the payload with one item edited."""
    item = item_of(payload.records[index]) if index < len(payload.records) else None
    return payload if item is None else payload.with_record(index, edit(item))


def with_ids(item: Item, ids: list[Any]) -> Item:
    """Return the item with other ids, and with its usage to match."""
    return with_meta({**item, "output_ids": ids}, completion_tokens=len(ids))


def with_meta(item: Item, **fields: Any) -> Item:
    """Return the item with fields of its `meta_info` changed."""
    meta = item.get("meta_info")
    return {**item, "meta_info": {**(meta if isinstance(meta, dict) else {}), **fields}}
