"""The contract of encoder-item-grid, alone: items that a preprocessor keeps apart, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_item_grid, ending
from contracts.contract import Violation
from simulators.encoder import owner_of, stamped_rows

COUNTS = [6, 12]
GRIDS = ((1, 4, 6), (1, 8, 6))
REQUEST = {
    "entry": "batch",
    "items": [1, 1],
    "counts": COUNTS,
    "grids": list(GRIDS),
    "keys": [70, 71],
    "merge_size": 2,
}


def item(owner: int, **changed: Any) -> dict[str, Any]:
    """Return an item, with other fields."""
    features = stamped_rows(owner, COUNTS[owner % 2]).repeat_interleave(4, dim=0)
    return {"features": features, "modality": "image", "key": 70 + owner, **changed}


ITEMS = [item(0), item(1)]


def check(items: Any = ITEMS, grids: Any = GRIDS, entry: str = "batch") -> list[Violation]:
    """Return the violations of items and grids."""
    payload = {"items": items, "grids": grids}
    return list(encoder_item_grid.check(payload, {**REQUEST, "entry": entry}, owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


@pytest.mark.parametrize("entry", ["batch", "cached", "keys"])
def test_honest_items_break_nothing(entry: str) -> None:
    """Whoever gets them."""
    assert check(entry=entry) == []


@pytest.mark.parametrize(
    ("items", "clauses"),
    [
        ([], ["some-items"]),
        (ITEMS[:1], ["item-each", "rows-count", "own-features"]),
        ([*ITEMS, ITEMS[0]], ["item-each", "rows-count", "own-features"]),
        ([item(0, modality="video"), item(1)], ["modality"]),
        ([item(0, features=torch.empty(0, 8)), item(1)], ["rows-count", "own-features"]),
        ([item(0, key=71), item(1)], ["own-key"]),
        ([item(0, features=item(0)["features"].flip(0)), item(1)], ["own-features"]),
        (ITEMS[::-1], ["own-key", "own-features"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(items: Any, clauses: list[str]) -> None:
    """In the order of upstream."""
    assert list(dict.fromkeys(v.clause.name for v in check(items))) == clauses


def test_grids_that_are_not_the_items() -> None:
    """Too few of them, or in another order."""
    assert [v.clause.name for v in check(grids=GRIDS[:1])][:2] == ["item-count", "item-each"]
    assert [v.clause.name for v in check(grids=GRIDS[::-1])] == ["grids-asked"]


@pytest.mark.parametrize("release", ["0.5.18", "0.5.23"])
def test_each_refusal_says_its_numbers(release: str) -> None:
    """Of the model's items, and of those that keys are made for."""
    text = "Encoder preprocess item/grid mismatch: 1 items != 2 grids"

    assert refusal(check(ITEMS[:1]), release) == text
    assert refusal(check(ITEMS[:1], entry="keys"), release) == text
    assert refusal(check([]), release) == "EncoderPreprocessOutput requires at least one item"
    assert refusal(check([item(0), item(1, modality="audio")]), release) == (
        "Encoder preprocess output contains wrong modality"
    )


def test_keys_are_made_of_whatever_items_there_are() -> None:
    """Neither their modality nor their rows are looked at, and nothing is refused."""
    assert check([item(0, modality="video"), item(1)], entry="keys") == []
    found = check([item(0, features=torch.empty(0, 8)), item(1)], entry="keys")
    assert [v.clause.name for v in found] == ["own-features"]
    assert ending(found, "0.5.23") is None


def test_rows_that_do_not_fit_were_not_counted_before() -> None:
    """The release that first keeps items apart compares nothing with the grids."""
    found = check([item(0, features=torch.empty(0, 8)), item(1)])

    assert "produced 12 tokens, but preprocessor metadata expected 18" in refusal(found, "0.5.19")
    assert ending(found, "0.5.18") is None


def test_an_owner_is_told_only_by_stamps() -> None:
    """Without a reader, or without items, nothing is said of them."""
    payload = {"items": ITEMS, "grids": GRIDS}

    assert encoder_item_grid.answers(payload, REQUEST)["own-features"] == "unchecked"
    assert encoder_item_grid.answers({**payload, "items": []}, REQUEST, owner_of)[
        "own-features"
    ] == ("unchecked")
