"""Faults of the media that a receiver gets: of what modality they are, and in what form."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, Places, each, whole
from simulators.payload import ASKED_MEDIA, Payload

_Record = Mapping[str, Any]


def item_says(edit: Callable[[_Record], Any]) -> Change:
    """Return the fault that makes one item anew; a plain URL has nothing to change."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        return payload.with_record(at[0], edit(record)) if isinstance(record, dict) else payload

    return change


def all_say(edit: Callable[[_Record], Any]) -> Change:
    """Return the fault that makes every item anew."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = [edit(r) if isinstance(r, dict) else r for r in payload.records]
        return payload.with_records(told)

    return change


def none_told(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> []"""
    return payload.with_records([])


def _modality(name: str | None) -> Callable[[_Record], _Record]:
    return lambda record: {**record, "modality": name}


def _without(field: str) -> Callable[[_Record], _Record]:
    return lambda record: {key: value for key, value in record.items() if key != field}


def _plain(record: _Record) -> Any:
    # What was not told cannot be told plainly.
    return record.get("url")


def _row(name: str, kind: str, change: Change, picture: str, places: Places = each,
         scope: str = "items") -> Fault:  # fmt: skip
    return Fault(name, kind, change, (ASKED_MEDIA,), places, picture, scope)


#: The rows of these faults in the table.
FAULTS = (
    _row("modality-video", "substitution", item_says(_modality("VIDEO")),
         "[image image] -> [image video]"),
    _row("modality-audio", "substitution", item_says(_modality("AUDIO")),
         "[image image] -> [image audio]"),
    _row("modality-null", "substitution", item_says(_modality(None)),
         "[image image] -> [image null]"),
    _row("modality-missing", "omission", item_says(_without("modality")),
         "{url, modality} -> {url}"),
    _row("modality-text", "substitution", item_says(lambda r: {**r, "as_text": True}),
         'Modality.IMAGE -> "IMAGE"'),
    _row("modality-all-videos", "substitution", all_say(_modality("VIDEO")),
         "[image image] -> [video video]", whole, "told"),
    _row("modality-plain", "substitution", item_says(_plain), "{url, modality} -> url"),
    _row("modality-all-plain", "substitution", all_say(_plain),
         "[{url} {url}] -> [url url]", whole, "told"),
    _row("modality-url-null", "substitution", item_says(lambda r: {**r, "url": None}),
         "{url: a} -> {url: null}"),
    _row("modality-url-missing", "omission", item_says(_without("url")),
         "{url, modality} -> {modality}"),
    _row("modality-url-empty", "substitution", item_says(lambda r: {**r, "url": ""}),
         '{url: a} -> {url: ""}'),
    _row("modality-url-nested", "substitution", item_says(lambda r: {**r, "url": [r.get("url")]}),
         "{url: a} -> {url: [a]}"),
    _row("modality-options", "skew", item_says(lambda r: {**r, "max_dynamic_patch": 4}),
         "{url, modality} -> {url, modality, patches}"),
    _row("modality-hash", "skew", item_says(lambda r: {**r, "content_hash": "5eed"}),
         "{url, modality} -> {url, modality, hash}"),
    _row("modality-none-told", "omission", none_told, "[a b c] -> []", whole, "told"),
)  # fmt: skip
