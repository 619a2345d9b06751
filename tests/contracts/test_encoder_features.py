"""The contract of encoder-features, alone: pixel features by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_features, ending
from contracts.contract import Violation
from simulators.encoder import honest_items, owner_of
from simulators.processed_media import honest_output

FIELDS = honest_output(2).records[0]
PIXELS = FIELDS["pixel_values"]
#: Of two requests with one picture each.
REQUEST = {"grids": [i.grid for i in honest_items(2).records], "items": [1, 1], "merge_size": 2}


def check(**changed: Any) -> list[Violation]:
    """Return the violations of an output with other fields."""
    payload = {"fields": {**FIELDS, **changed}, "merge_size": 2}
    return list(encoder_features.check(payload, REQUEST, owner_of))


def test_an_honest_output_breaks_nothing() -> None:
    """Neither does one with more fields."""
    assert check() == []
    assert check(attention_mask=torch.ones(2)) == []


@pytest.mark.parametrize(
    ("pixels", "clauses"),
    [
        (None, {"features-tensor"}),
        (PIXELS.tolist(), {"features-tensor"}),
        (PIXELS[:-4], {"rows-count", "patch-count"}),
        (PIXELS[4:], {"rows-count", "patch-count", "patch-identity"}),
        (torch.cat([PIXELS, PIXELS[-4:]]), {"patch-count"}),
        (PIXELS.roll(4, 0), {"patch-identity"}),
        (PIXELS * 0, {"patch-identity"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(pixels: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert {v.clause.name for v in check(pixel_values=pixels)} == clauses


@pytest.mark.parametrize("release", ["0.5.16", "0.5.23"])
def test_missing_features_are_refused_by_every_release(release: str) -> None:
    """With the names that were looked for."""
    payload = {"fields": {"image_grid_thw": FIELDS["image_grid_thw"]}, "merge_size": 2}
    violation = ending(list(encoder_features.check(payload, REQUEST)), release)

    assert violation is not None
    guard = violation.clause.guard(release)
    assert guard is not None
    assert violation.refusal(guard) == "Feature attrs (['pixel_values']) not found in "


def test_what_no_tensor_is_ends_the_call_only_where_it_is_cut() -> None:
    """The layout is looked at before."""
    found = check(pixel_values=None, image_grid_thw=FIELDS["image_grid_thw"][:1])

    assert [v.clause.name for v in found] == ["item-count", "features-tensor"]
