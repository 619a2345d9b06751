"""Honest items are what the encoder makes its rows of, one by one; their faults, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_item_grid
from simulators.encoder import honest_items, owner_of
from simulators.faults import FAULTS
from simulators.media_items import honest_media
from simulators.payload import Payload
from simulators.processed_media import modelled_rows
from simulators.rng import stream


def faulty(name: str, at: Any) -> Payload:
    """Return two items with keys and one fault."""
    return FAULTS[name].change(honest_media(2, keyed=True), at, stream(0))


@pytest.mark.parametrize("keyed", [True, False])
def test_the_model_makes_the_encoders_rows_of_each_item(keyed: bool) -> None:
    """And no clause is broken."""
    payload, items = honest_media(3, keyed=keyed), honest_items(3).records
    request = {
        "entry": "batch",
        "items": [1, 2],
        "counts": [item.count for item in items],
        "grids": [item.grid for item in items],
        "keys": [1000, 1001, 1002] if keyed else [None] * 3,
        "merge_size": 2,
    }
    told = [record._asdict() for record in payload.records]
    passed = {"items": told, "grids": payload.beside["grids"]}

    for record, item in zip(payload.records, items, strict=True):
        assert torch.equal(modelled_rows(record.features), item.rows)
    assert list(encoder_item_grid.check(passed, request, owner_of)) == []


@pytest.mark.parametrize(
    ("name", "at", "keys"),
    [
        ("media-item-key-foreign", (1,), [1000, 1065]),
        ("media-item-key-doubled", (0, 1), [1000, 1000]),
        ("media-item-key-doubled", (1, 0), [1001, 1001]),
        ("media-item-keys-swapped", (0, 1), [1001, 1000]),
    ],
)
def test_keys_change_as_the_picture_says(name: str, at: Any, keys: list[int]) -> None:
    """The features do not."""
    records = faulty(name, at).records

    assert [record.key for record in records] == keys
    for got, was in zip(records, honest_media(2).records, strict=True):
        assert torch.equal(got.features, was.features)


@pytest.mark.parametrize(
    ("name", "patches", "first"),
    [
        ("media-item-short", 20, 0),
        ("media-item-empty", 0, None),
        ("media-item-longer", 28, 0),
        ("media-item-turned", 24, 5),
    ],
)
def test_features_change_as_the_picture_says(name: str, patches: int, first: Any) -> None:
    """Those of one item, and which row its first patch is a part of."""
    one, other = faulty(name, (0,)).records

    assert len(one.features) == patches
    assert [o.position for o in owner_of(one.features[:1].tolist()) if o] == (
        [] if first is None else [first]
    )
    assert torch.equal(other.features, honest_media(2).records[1].features)


def test_an_item_is_of_another_modality() -> None:
    """One of them alone."""
    assert [r.modality for r in faulty("media-item-video", (1,)).records] == ["image", "video"]
    assert [r.modality for r in faulty("media-item-audio", (0,)).records] == ["audio", "image"]


@pytest.mark.parametrize(
    ("name", "grids"),
    [
        ("media-item-grids-short", [(1, 4, 6)]),
        ("media-item-grids-long", [(1, 4, 6), (1, 8, 6), (1, 4, 6)]),
        ("media-item-grids-turned", [(1, 8, 6), (1, 4, 6)]),
    ],
)
def test_grids_change_as_the_picture_says(name: str, grids: list[Any]) -> None:
    """The items do not."""
    changed = faulty(name, ())

    assert list(changed.beside["grids"]) == grids
    assert [record.key for record in changed.records] == [1000, 1001]
