"""The contract of encoder-grid-dim, alone: grids by hand."""

from typing import Any

import pytest

from contracts import encoder_grid_dim, ending
from contracts.contract import Violation
from simulators.encoder import honest_items, owner_of
from simulators.processed_media import honest_output

FIELDS = honest_output(2).records[0]
PIXELS, GRIDS = FIELDS["pixel_values"], FIELDS["image_grid_thw"]
#: Of two requests with one picture each.
REQUEST = {"grids": [i.grid for i in honest_items(2).records], "items": [1, 1], "merge_size": 2}


def check(merge_size: int | None = 2, **grids: Any) -> list[Violation]:
    """Return the violations of an output with some grids."""
    payload = {"fields": {"pixel_values": PIXELS, **grids}, "merge_size": merge_size}
    return list(encoder_grid_dim.check(payload, REQUEST, owner_of))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def test_grids_may_have_any_of_three_names() -> None:
    """And be floats, or stand under two names alike."""
    for name in ("image_grid_thw", "image_grid_hws", "grid_thws"):
        assert check(**{name: GRIDS}) == []
    assert check(image_grid_thw=GRIDS.float()) == []
    assert check(image_grid_thw=GRIDS, grid_thws=GRIDS) == []


@pytest.mark.parametrize(
    ("grids", "clauses"),
    [
        ({}, {"grids-there"}),
        ({"video_grid_thw": GRIDS}, {"grids-there"}),
        ({"image_grid_thw": None}, {"grids-there"}),
        ({"image_grid_thw": GRIDS[:, 1:]}, {"grid-sides"}),
        ({"image_grid_thw": GRIDS[:1]}, {"item-count"}),
        ({"image_grid_thw": GRIDS.flip(0)}, {"grid-asked"}),
        ({"image_grid_thw": GRIDS * 2}, {"grid-asked", "rows-count"}),
        ({"image_grid_thw": GRIDS * 0}, {"grid-asked"}),
        ({"image_grid_thw": GRIDS, "grid_thws": GRIDS.flip(0)}, {"names-agree"}),
        ({"image_grid_thw": None, "grid_thws": GRIDS}, set()),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(grids: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert names(check(**grids)) == clauses


def test_a_merge_size_that_is_not_said_is_taken_for_two() -> None:
    """Another one makes other counts of the same grids."""
    assert names(check(None, image_grid_thw=GRIDS)) == {"merge-size"}
    assert names(check(1, image_grid_thw=GRIDS)) == {"merge-size", "rows-count"}


@pytest.mark.parametrize(
    ("release", "names_looked_for"),
    [
        ("0.5.18", "['image_grid_thw', 'image_grid_hws', 'grid_thws']"),
        ("0.5.19", "('image_grid_thw', 'image_grid_hws', 'grid_thws')"),
    ],
)
def test_missing_grids_are_refused_by_every_release(release: str, names_looked_for: str) -> None:
    """With the names that were looked for, a list before 0.5.19."""
    violation = ending(check(), release)

    assert violation is not None
    guard = violation.clause.guard(release)
    assert guard is not None
    assert violation.refusal(guard) == f"Grid dim ({names_looked_for}) not found in "


def test_the_layout_is_refused_by_every_release_and_the_sum_from_0_5_19_on() -> None:
    """Grids that are swapped by none."""
    few, large = check(image_grid_thw=GRIDS[:1]), check(image_grid_thw=GRIDS * 2)

    assert ending(few, "0.5.16") is few[0]
    assert ending(large, "0.5.18") is None
    assert ending(large, "0.5.19") is large[0]
    assert ending(check(image_grid_thw=GRIDS.flip(0)), "0.5.23") is None
