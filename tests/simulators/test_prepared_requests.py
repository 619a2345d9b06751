"""An honest prepared batch is what the encoder makes its rows of; its faults, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_layout
from simulators.encoded_forms import returned_rows
from simulators.encoder import honest_items, owner_of
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.prepared_requests import honest_requests
from simulators.processed_media import modelled_rows
from simulators.rng import stream


def faulty(name: str, at: Any) -> Payload:
    """Return a batch of two requests, of one item and of two, with one fault."""
    return FAULTS[name].change(honest_requests([1, 2]), at, stream(0))


def test_a_batch_is_made_of_the_encoders_items() -> None:
    """The model makes their rows, and no clause is broken."""
    records, items = honest_requests([1, 2]).records, honest_items(3)
    features = torch.cat([record.features for record in records])
    asked = {
        "items": [1, 2],
        "counts": [item.count for item in items.records],
        "grids": [item.grid for item in items.records],
        "merge_size": 2,
    }
    part = {
        "error": None,
        "layout": [n for record in records for n in record.told],
        "grids": [grid for record in records for grid in record.grids],
        "counts": [count for record in records for count in record.counts],
        "features": features,
    }

    assert torch.equal(modelled_rows(features), returned_rows(items))
    assert list(encoder_layout.check(part, asked, owner_of)) == []


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("layout-one-less", (1,), [(1,), (1,)]),
        ("layout-one-more", (0,), [(2,), (2,)]),
        ("layout-zero", (1,), [(1,), (0,)]),
        ("layout-negative", (1,), [(1,), (-2,)]),
        ("layout-untold", (0,), [(), (2,)]),
        ("layout-twice", (1,), [(1,), (2, 2)]),
        ("layout-null", (0,), [(None,), (2,)]),
        ("layout-moved", (0, 1), [(2,), (1,)]),
        ("layout-moved", (1, 0), [(0,), (3,)]),
        ("layout-swapped", (0, 1), [(2,), (1,)]),
    ],
)
def test_a_layout_changes_as_the_picture_says(name: str, at: Any, told: list[Any]) -> None:
    """And nothing that was made."""
    changed, honest = faulty(name, at), honest_requests([1, 2])

    assert [record.told for record in changed.records] == told
    for got, was in zip(changed.records, honest.records, strict=True):
        assert (got.grids, got.counts) == (was.grids, was.counts)
        assert torch.equal(got.features, was.features)


def test_a_layout_of_floats_says_the_same() -> None:
    """As another kind of number."""
    told = faulty("layout-float", (1,)).records[1].told

    assert [(type(items), items) for items in told] == [(float, 2.0)]


@pytest.mark.parametrize(
    ("name", "at", "counts", "grids"),
    [
        ("layout-count-lost", (1,), [(6,), (12,)], [1, 2]),
        ("layout-count-twice", (1,), [(6,), (12, 8, 8)], [1, 2]),
        ("layout-count-more", (0,), [(7,), (12, 8)], [1, 2]),
        ("layout-counts-swapped", (0, 1), [(12, 8), (6,)], [1, 2]),
        ("layout-grid-lost", (1,), [(6,), (12, 8)], [1, 1]),
        ("layout-grid-twice", (0,), [(6,), (12, 8)], [2, 2]),
    ],
)
def test_counts_and_grids_change_as_the_picture_says(
    name: str, at: Any, counts: list[Any], grids: list[int]
) -> None:
    """The layout does not."""
    records = faulty(name, at).records

    assert [record.counts for record in records] == counts
    assert [len(record.grids) for record in records] == grids
    assert [record.told for record in records] == [(1,), (2,)]


def test_grids_turn_or_become_floats() -> None:
    """Of one request alone."""
    assert faulty("layout-grids-turned", (0,)).records[0].grids == ((1, 6, 4),)
    assert repr(faulty("layout-grids-float", (0,)).records[0].grids) == "((1.0, 4.0, 6.0),)"
    assert faulty("layout-grids-turned", (0,)).records[1] is not None


@pytest.mark.parametrize(
    ("name", "at", "first"),
    [
        ("layout-features-swapped", (0, 1), [1, 0]),
        ("layout-features-foreign", (1,), [0, "another request's item 1"]),
    ],
)
def test_features_move_and_nothing_is_told(name: str, at: Any, first: list[Any]) -> None:
    """The first patch of each request says whose it is."""
    records = faulty(name, at).records
    read = [owner_of(record.features[:1].tolist())[0] for record in records]

    assert [origin.owner for origin in read if origin is not None] == first
    assert [record.counts for record in records] == [(6,), (12, 8)]


@pytest.mark.parametrize(
    ("word", "kind"),
    [("value", "ValueError"), ("key", "KeyError"), ("unwritten", "NotImplementedError")],
)
def test_an_error_stands_beside_the_requests(word: str, kind: str) -> None:
    """They are honest."""
    changed = faulty(f"layout-raises-{word}", ())

    assert changed.beside["error"] == kind
    assert [record.told for record in changed.records] == [(1,), (2,)]
