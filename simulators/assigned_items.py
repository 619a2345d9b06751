"""Honest assignments of a request's media to encoders: how many items each of them encodes.

A record is one encoder: its count of items by modality, in the order of the modalities. Beside
the records stand the `mode` of transport, the encoders' `urls`, the items' `hashes` (None: none
are told), and how the counts are told: `shape` (`dict`: a list for each modality; `list`: those
of the first modality alone; `none`), `keys` (`enum` or `text`), the modalities that are `lost`,
and the one that is `added` in front.

Source: sglang 0.5.23, srt/disaggregation/encoder/receiver.py,
MMReceiverBase._assign_items_by_modality
"""

from collections.abc import Mapping
from typing import Any

from simulators.encoder_urls import hosts
from simulators.payload import ASSIGNED, Payload

_HASH = 0xA551


def modalities_of(items: int, modality: str) -> list[str]:
    """Return the modality of each item: all images, or from the middle on videos if `mixed`."""
    videos = items // 2 if modality == "mixed" else 0
    return ["IMAGE"] * (items - videos) + ["VIDEO"] * videos


def hashes_of(items: int, modality: str) -> list[str]:
    """Return the hash of each image, as the client sends them: hexadecimal digits."""
    images = modalities_of(items, modality).count("IMAGE")
    return [f"{_HASH + place:064x}" for place in range(images)]


def honest_assignment(encoders: int, items: int, modality: str, mode: str) -> Payload:
    """Return an assignment of all items, as even as can be.

    Args:
        encoders: How many encoders.
        items: How many items.
        modality: `image` or `mixed`.
        mode: `http` or `grpc`.
    """
    named = modalities_of(items, modality)
    totals = {name: named.count(name) for name in dict.fromkeys(named)}
    records = tuple(
        {name: len(range(encoder, total, encoders)) for name, total in totals.items()}
        for encoder in range(encoders)
    )
    beside = {
        "mode": mode,
        "urls": [f"{mode}://{host}" for host in hosts(encoders)],
        "hashes": hashes_of(items, modality),
        "shape": "dict",
        "keys": "enum",
        "lost": (),
        "added": None,
    }
    return Payload(ASSIGNED, records, (), beside)


def told_counts(payload: Payload) -> dict[str, list[Any]] | list[Any] | None:
    """Return the counts as they are told: by modality, of one modality alone, or none."""
    beside = payload.beside
    if beside["shape"] == "none":
        return None
    names = list(dict.fromkeys(name for record in payload.records for name in record))
    by_name = {name: [record[name] for record in payload.records] for name in names}
    if beside["shape"] == "list":
        return next(iter(by_name.values()), [])
    if beside["added"]:
        by_name = {beside["added"]: [1] * len(payload.records), **by_name}
    return {name: told for name, told in by_name.items() if name not in beside["lost"]}


def largest(record: Mapping[str, Any]) -> str:
    """Return the modality of which an encoder has the most items; of the same, the first."""
    known = {name: count for name, count in record.items() if type(count) is int}
    return max(known, key=lambda name: known[name], default=next(iter(record)))
