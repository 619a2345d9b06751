"""An honest processor's output is what the encoder makes its rows of; its faults, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_features, encoder_grid_dim
from simulators.encoded_forms import returned_rows
from simulators.encoder import honest_items, owner_of
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.processed_media import honest_output, modelled_rows
from simulators.rng import stream


def faulty(name: str) -> Payload:
    """Return the output for two pictures with one fault."""
    return FAULTS[name].change(honest_output(2), (), stream(0))


def test_the_model_makes_the_encoders_rows_of_the_features() -> None:
    """And an honest output breaks no clause."""
    payload, items = honest_output(3), honest_items(3)
    request = {"grids": [i.grid for i in items.records], "items": [1, 2], "merge_size": 2}
    passed = {"fields": payload.records[0], "merge_size": payload.beside["merge_size"]}

    made = modelled_rows(payload.records[0]["pixel_values"])
    assert torch.equal(made, returned_rows(items))
    for contract in (encoder_features, encoder_grid_dim):
        assert list(contract.check(passed, request, owner_of)) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("patch-grids-flat", [[4, 6], [8, 6]]),
        ("patch-grids-one-less", [[1, 4, 6]]),
        ("patch-grids-one-more", [[1, 4, 6], [1, 8, 6], [1, 4, 6]]),
        ("patch-grids-swapped", [[1, 8, 6], [1, 4, 6]]),
        ("patch-grids-transposed", [[1, 6, 4], [1, 6, 8]]),
        ("patch-grids-merged", [[1, 2, 3], [1, 4, 3]]),
        ("patch-grids-doubled", [[1, 8, 12], [1, 16, 12]]),
        ("patch-grids-line-less", [[1, 2, 6], [1, 8, 6]]),
        ("patch-grids-compensated", [[1, 6, 6], [1, 6, 6]]),
        ("patch-grids-odd", [[1, 4, 5], [1, 8, 5]]),
        ("patch-grids-zero", [[0, 0, 0], [0, 0, 0]]),
        ("patch-grids-float", [[1.0, 4.0, 6.0], [1.0, 8.0, 6.0]]),
    ],
)
def test_grids_change_as_the_picture_says(name: str, expected: list[Any]) -> None:
    """And the features do not."""
    fields = faulty(name).records[0]

    assert fields["image_grid_thw"].tolist() == expected
    assert torch.equal(fields["pixel_values"], honest_output(2).records[0]["pixel_values"])


@pytest.mark.parametrize(
    ("name", "first", "patches"),
    [
        ("features-token-less", (0, 0), 68),
        ("features-first-less", (0, 1), 68),
        ("features-none", None, 0),
        ("features-longer", (0, 0), 76),
        ("features-shifted", (1, 11), 72),
        ("features-reversed", (1, 11), 72),
        ("features-foreign", ("another request's item 0", 0), 72),
    ],
)
def test_features_change_as_the_picture_says(name: str, first: Any, patches: int) -> None:
    """The first patch, and how many there are."""
    features = faulty(name).records[0]["pixel_values"]

    assert len(features) == patches
    assert [tuple(o) for o in owner_of(features[:1].tolist()) if o] == ([first] if first else [])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("features-lost", {"image_grid_thw"}),
        ("features-of-video", {"image_grid_thw", "pixel_values_videos"}),
        ("patch-grids-lost", {"pixel_values"}),
        ("patch-grids-of-video", {"pixel_values", "video_grid_thw"}),
        ("patch-grids-renamed", {"pixel_values", "grid_thws"}),
        ("patch-grids-stale-first", {"pixel_values", "image_grid_thw", "grid_thws"}),
        ("patch-grids-stale-hws", {"pixel_values", "image_grid_thw", "image_grid_hws"}),
    ],
)
def test_fields_come_and_go_as_the_picture_says(name: str, fields: set[str]) -> None:
    """All of them by name."""
    assert set(faulty(name).records[0]) == fields


@pytest.mark.parametrize(
    ("name", "size"),
    [("merge-size-one", 1), ("merge-size-four", 4), ("merge-size-missing", None)],
)
def test_a_merge_size_is_said_beside_the_fields(name: str, size: int | None) -> None:
    """The fields are honest."""
    assert faulty(name).beside["merge_size"] == size


def test_fields_that_are_there_may_hold_nothing() -> None:
    """Or lists in place of a tensor."""
    assert faulty("features-null").records[0]["pixel_values"] is None
    assert faulty("patch-grids-null").records[0]["image_grid_thw"] is None
    assert isinstance(faulty("features-list").records[0]["pixel_values"], list)
