"""Faults of items that a preprocessor keeps apart: grids, modalities, features or keys do not fit.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.media_items import MediaItem
from simulators.payload import MEDIA, Payload
from simulators.processed_media import PATCHES


def item_becomes(edit: Callable[[MediaItem], MediaItem]) -> Change:
    """Return the fault that edits one item."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], edit(payload.records[at[0]]))

    return change


def grids_become(edit: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Change:
    """Return the fault that tells other grids of the same items, if there are any."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        grids = payload.beside["grids"]
        return (
            replace(payload, beside={**payload.beside, "grids": edit(grids)}) if grids else payload
        )

    return change


def key_foreign(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a, key a] -> [a, key x], of another request's item"""
    return payload.with_record(
        at[0], payload.records[at[0]]._replace(key=payload.foreign[at[0]].key)
    )


def key_doubled(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a, key a | b, key b] -> [a, key a | b, key a]"""
    return payload.with_record(
        at[1], payload.records[at[1]]._replace(key=payload.records[at[0]].key)
    )


def keys_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a, key a | b, key b] -> [a, key b | b, key a]"""
    one, two = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], one._replace(key=two.key))
    return changed.with_record(at[1], two._replace(key=one.key))


def _longer(item: MediaItem) -> MediaItem:
    import torch

    return item._replace(features=torch.cat([item.features, item.features[-PATCHES:]]))


def _item(name: str, kind: str, edit: Callable[[MediaItem], MediaItem], picture: str) -> Fault:
    return Fault(name, kind, item_becomes(edit), (MEDIA,), each, picture, scope="items")


def _grids(
    name: str, kind: str, edit: Callable[[tuple[Any, ...]], tuple[Any, ...]], picture: str
) -> Fault:
    return Fault(name, kind, grids_become(edit), (MEDIA,), whole, picture, scope="grids")


#: The rows of these faults in the table.
FAULTS = (
    _item("media-item-video", "substitution", lambda i: i._replace(modality="video"),
          "a picture -> a clip"),
    _item("media-item-audio", "substitution", lambda i: i._replace(modality="audio"),
          "a picture -> a sound"),
    _item("media-item-short", "truncation",
          lambda i: i._replace(features=i.features[:-PATCHES]), "a0 a1 a2 -> a0 a1"),
    _item("media-item-empty", "omission", lambda i: i._replace(features=i.features[:0]),
          "a0 a1 a2 -> no patch"),
    _item("media-item-longer", "duplication", _longer, "a0 a1 -> a0 a1 a1"),
    _item("media-item-turned", "reordering", lambda i: i._replace(features=i.features.flip(0)),
          "a0 a1 a2 -> a2 a1 a0"),
    Fault("media-item-key-foreign", "staleness", key_foreign, (MEDIA,), each,
          "[a, key a] -> [a, key x], of another request", scope="keys"),
    Fault("media-item-key-doubled", "duplication", key_doubled, (MEDIA,), ordered_pairs,
          "[key a | key b] -> [key a | key a]", scope="keys"),
    Fault("media-item-keys-swapped", "reordering", keys_swapped, (MEDIA,), pairs,
          "[key a | key b] -> [key b | key a]", scope="keys"),
    _grids("media-item-grids-short", "truncation", lambda g: g[:-1], "grids [a b] -> [a]"),
    _grids("media-item-grids-long", "duplication", lambda g: (*g, g[0]),
           "grids [a b] -> [a b a]"),
    _grids("media-item-grids-turned", "reordering", lambda g: (*g[1:], g[0]),
           "grids [a b c] -> [b c a]"),
)  # fmt: skip
