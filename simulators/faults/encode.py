"""Faults of a request to encode: a field is missing, of a wrong type, out of range, another's."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import ENCODE, RECORDS, Payload

_Edit = Callable[[Payload], Any]


def field_missing(name: str) -> Change:
    """Return the fault that takes a field away; of the items, the records."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        beside = {key: value for key, value in payload.beside.items() if key != name}
        return replace(payload, beside=beside)

    return change


def field_says(name: str, edit: _Edit) -> Change:
    """Return the fault that sets a field, made from the honest request."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, name: edit(payload)})

    return change


def item_becomes(edit: Callable[[str], Any]) -> Change:
    """Return the fault that puts something else in the place of one URL."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        return payload.with_record(at[0], edit(item)) if isinstance(item, str) else payload

    return change


def request_becomes(edit: _Edit) -> Change:
    """Return the fault that sends something else than an object."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(payload)) if payload.body is RECORDS else payload

    return change


def items_missing(payload: Payload, at: Place, rng: Random) -> Payload:
    """{req_id, mm_items, ..} -> {req_id, ..}"""
    return payload.with_body(dict(payload.beside))


def _cut(payload: Payload) -> bytes:
    # The body itself, without its end.
    return json.dumps(dict(payload.beside), default=str).encode()[:-1]


def _hashes(payload: Payload) -> list[Any]:
    told = payload.beside.get("hashes")
    return list(told) if isinstance(told, list) else ["a hash"]


def _field(name: str, field: str, edit: _Edit, picture: str, kind: str = "substitution",
           benign: bool = False) -> Fault:  # fmt: skip
    change = field_says(field, edit)
    return Fault(name, kind, change, (ENCODE,), whole, picture, scope="fields", benign=benign)


def _gone(name: str, field: str, benign: bool = False) -> Fault:
    picture = f"{{{field}, ..}} -> {{..}}"
    change = field_missing(field)
    return Fault(name, "omission", change, (ENCODE,), whole, picture, scope="fields", benign=benign)


def _item(name: str, edit: Callable[[str], Any], picture: str, benign: bool = False) -> Fault:
    change = item_becomes(edit)
    return Fault(name, "substitution", change, (ENCODE,), each, picture, "items", benign)


def _body(name: str, edit: _Edit, picture: str) -> Fault:
    change = request_becomes(edit)
    return Fault(name, "substitution", change, (ENCODE,), whole, picture, scope="body")


#: The rows of these faults in the table.
FAULTS = (
    _gone("encode-id-missing", "req_id"),
    _field("encode-id-null", "req_id", lambda p: None, '"request 0" -> null'),
    _field("encode-id-empty", "req_id", lambda p: "", '"request 0" -> ""'),
    _field("encode-id-number", "req_id", lambda p: 7, '"request 0" -> 7'),
    _field("encode-id-foreign", "req_id", lambda p: "request 1", '"request 0" -> "request 1"'),
    _gone("encode-modality-missing", "modality"),
    _field("encode-modality-null", "modality", lambda p: None, '"IMAGE" -> null'),
    _field("encode-modality-number", "modality", lambda p: 1, '"IMAGE" -> 1'),
    _field("encode-modality-list", "modality", lambda p: ["IMAGE"], '"IMAGE" -> ["IMAGE"]'),
    _field("encode-modality-unknown", "modality", lambda p: "smell", '"IMAGE" -> "smell"'),
    _field("encode-modality-empty", "modality", lambda p: "", '"IMAGE" -> ""'),
    _field("encode-modality-spaced", "modality", lambda p: " image", '"IMAGE" -> " image"'),
    _field("encode-modality-small", "modality",
           lambda p: str(p.beside.get("modality", "image")).lower(), '"IMAGE" -> "image"',
           benign=True),
    _field("encode-modality-other", "modality",
           lambda p: "IMAGE" if p.beside.get("modality") == "VIDEO" else "VIDEO",
           '"IMAGE" -> "VIDEO"'),
    Fault("encode-items-missing", "omission", items_missing, (ENCODE,), whole,
          "{mm_items, ..} -> {..}", scope="fields"),
    _field("encode-items-null", "mm_items", lambda p: None, "[a b] -> null", "omission"),
    _field("encode-items-empty", "mm_items", lambda p: [], "[a b] -> []", "omission"),
    _field("encode-items-text", "mm_items", lambda p: ",".join(map(str, p.records)),
           '[a b] -> "a,b"', "merge"),
    _field("encode-items-empty-text", "mm_items", lambda p: "", '[a b] -> ""'),
    _field("encode-items-object", "mm_items", lambda p: dict(enumerate(p.records)),
           '[a b] -> {"0": a, "1": b}'),
    _field("encode-items-empty-object", "mm_items", lambda p: {}, "[a b] -> {}"),
    _field("encode-items-number", "mm_items", lambda p: len(p.records), "[a b] -> 2"),
    _item("encode-item-null", lambda url: None, "[a b] -> [a null]"),
    _item("encode-item-empty", lambda url: "", '[a b] -> [a ""]'),
    _item("encode-item-number", lambda url: 7, "[a b] -> [a 7]"),
    _item("encode-item-nested", lambda url: [url], "[a b] -> [a [b]]"),
    _item("encode-item-without-url", lambda url: {"max_pixels": 64}, "[a b] -> [a {pixels}]"),
    _item("encode-item-url-null", lambda url: {"url": None}, '[a b] -> [a {"url": null}]'),
    _item("encode-item-options", lambda url: {"url": url, "max_pixels": 64},
          "[a b] -> [a {b, pixels}]", benign=True),
    _gone("encode-count-missing", "num_parts"),
    _field("encode-count-null", "num_parts", lambda p: None, "1 of 3 -> 1 of null"),
    _field("encode-count-zero", "num_parts", lambda p: 0, "1 of 3 -> 1 of 0", "skew"),
    _field("encode-count-negative", "num_parts", lambda p: -3, "1 of 3 -> 1 of -3", "skew"),
    _field("encode-count-true", "num_parts", lambda p: True, "1 of 3 -> 1 of true"),
    _field("encode-count-text", "num_parts", lambda p: "3", '1 of 3 -> 1 of "3"'),
    _field("encode-count-float", "num_parts", lambda p: 3.0, "1 of 3 -> 1 of 3.0"),
    _field("encode-count-more", "num_parts", lambda p: 4, "1 of 3 -> 1 of 4", "skew"),
    _field("encode-count-less", "num_parts", lambda p: 2, "1 of 3 -> 1 of 2", "skew"),
    _gone("encode-index-missing", "part_idx"),
    _field("encode-index-null", "part_idx", lambda p: None, "1 of 3 -> null of 3"),
    _field("encode-index-negative", "part_idx", lambda p: -2, "1 of 3 -> -2 of 3"),
    _field("encode-index-count", "part_idx", lambda p: 3, "1 of 3 -> 3 of 3"),
    _field("encode-index-true", "part_idx", lambda p: True, "1 of 3 -> true of 3"),
    _field("encode-index-text", "part_idx", lambda p: "1", '1 of 3 -> "1" of 3'),
    _field("encode-index-float", "part_idx", lambda p: 1.0, "1 of 3 -> 1.0 of 3"),
    _field("encode-index-other", "part_idx", lambda p: 2, "1 of 3 -> 2 of 3"),
    _gone("encode-hashes-missing", "hashes", benign=True),
    _field("encode-hashes-null", "hashes", lambda p: None, "[h j] -> null", benign=True),
    _field("encode-hashes-empty", "hashes", lambda p: [], "[h j] -> []", "omission"),
    _field("encode-hashes-short", "hashes", lambda p: _hashes(p)[:-1], "[h j] -> [h]",
           "truncation"),
    _field("encode-hashes-long", "hashes", lambda p: [*_hashes(p), "a hash"], "[h j] -> [h j k]",
           "skew"),
    _field("encode-hashes-turned", "hashes", lambda p: [*_hashes(p)[1:], *_hashes(p)[:1]],
           "[h j] -> [j h]", "reordering"),
    _field("encode-hashes-alike", "hashes", lambda p: _hashes(p)[:1] * len(_hashes(p)),
           "[h j] -> [h h]", "duplication"),
    _field("encode-hashes-nulls", "hashes", lambda p: [None] * len(_hashes(p)),
           "[h j] -> [null null]"),
    _field("encode-hashes-text", "hashes", lambda p: ",".join(map(str, _hashes(p))),
           '[h j] -> "h,j"', "merge"),
    _field("encode-hashes-number", "hashes", lambda p: 7, "[h j] -> 7"),
    _field("encode-hashes-float", "hashes", lambda p: 7.5, "[h j] -> 7.5"),
    _field("encode-hashes-object", "hashes", lambda p: dict(enumerate(_hashes(p))),
           '[h j] -> {"0": h, "1": j}'),
    _field("encode-field-extra", "priority", lambda p: 1, "{req_id, ..} -> {req_id, .., priority}",
           benign=True),
    _body("encode-list", lambda p: [dict(p.beside)], "{..} -> [{..}]"),
    _body("encode-text", lambda p: "encode", '{..} -> "encode"'),
    _body("encode-null", lambda p: None, "{..} -> null"),
    Fault("encode-cut", "truncation", request_becomes(_cut), (ENCODE,), whole,
          "{..} -> {..", scope="body"),
)  # fmt: skip
