"""The contract of encoder-layout, alone: a prepared batch by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_layout, ending
from contracts.contract import RETURNED, Violation
from simulators.encoder import owner_of, stamped_rows

COUNTS = [6, 12, 8]
GRIDS = [(1, 4, 6), (1, 8, 6), (1, 4, 8)]
ROWS = torch.cat([stamped_rows(owner, count) for owner, count in enumerate(COUNTS)])
#: Two requests, of one item and of two.
REQUEST = {"items": [1, 2], "counts": COUNTS, "grids": GRIDS, "merge_size": 2}
HONEST = {"error": None, "layout": [1, 2], "grids": GRIDS, "counts": COUNTS}


def check(rows: torch.Tensor = ROWS, **changed: Any) -> list[Violation]:
    """Return the violations of a batch with other fields."""
    part = {**HONEST, "features": rows.repeat_interleave(4, dim=0), **changed}
    return list(encoder_layout.check(part, REQUEST, owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def test_an_honest_batch_breaks_nothing() -> None:
    """Nor is anything left unchecked."""
    assert check() == []
    part = {**HONEST, "features": ROWS.repeat_interleave(4, dim=0)}
    assert set(encoder_layout.answers(part, REQUEST, owner_of).values()) == {"held"}
    assert encoder_layout.answers(part, REQUEST)["own-rows"] == "unchecked"


@pytest.mark.parametrize(
    ("changed", "clauses"),
    [
        ({"error": ("ValueError", "no")}, ["media-read"]),
        ({"error": ("KeyError", "no")}, ["preprocessor-works"]),
        ({"error": ("NotImplementedError", "no")}, ["media-known"]),
        ({"layout": [3]}, ["layout-each", "layout-asked", "own-rows"]),
        ({"layout": [3, 0]}, ["layout-each", "layout-asked"]),
        ({"layout": [1, None]}, ["layout-numbers", "layout-asked"]),
        ({"layout": [1, 1]}, ["item-count", "layout-asked", "own-rows"]),
        ({"grids": GRIDS[:2]}, ["item-count", "counts-each", "rows-count"]),
        ({"counts": COUNTS[:2]}, ["counts-each", "rows-count", "own-rows"]),
        ({"layout": [1, 2.0]}, ["layout-numbers"]),
        ({"counts": [6, 12, 9]}, ["rows-count", "count-asked"]),
        ({"layout": [2, 1]}, ["layout-asked", "own-rows"]),
        ({"grids": [(1, 6, 4), *GRIDS[1:]]}, ["grid-asked"]),
        ({"counts": [12, 6, 8]}, ["count-asked", "own-rows"]),
        ({"rows": ROWS.roll(1, 0)}, ["own-rows"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(changed: Any, clauses: list[str]) -> None:
    """In the order of upstream; what follows from it comes behind."""
    assert list(dict.fromkeys(v.clause.name for v in check(**changed))) == clauses


def test_each_refusal_says_its_numbers() -> None:
    """A layout of too few or of nothing, grids and counts that do not fit it."""
    assert refusal(check(layout=[3])) == "Invalid batch layout [3] for 2 requests"
    assert refusal(check(layout=[3, 0])) == "Invalid batch layout [3, 0] for 2 requests"
    assert refusal(check(layout=[1, 1])) == (
        "Batch layout [1, 1] expects 2 grids, but the processor produced 3"
    )
    assert refusal(check(counts=[6, 12])) == (
        "Preprocessor returned 2 token counts for 3 image grid entries"
    )
    assert "produced 26 tokens, but preprocessor metadata expected 27" in refusal(
        check(counts=[6, 12, 9])
    )


@pytest.mark.parametrize(
    ("kind", "release", "text"),
    [
        ("ValueError", "0.5.19", "Failed to process mm items: no (status 400)"),
        ("TypeError", "0.5.23", "Failed to process mm items: no (status 400)"),
        ("RuntimeError", "0.5.19", "Failed to process mm items: no (status 400)"),
        ("RuntimeError", "0.5.20", "Failed to process mm items: no (status 500)"),
        ("NotImplementedError", "0.5.19", "Not implemented error: no (status 500)"),
    ],
)
def test_whose_fault_an_error_is(kind: str, release: str, text: str) -> None:
    """In 0.5.19 all but what is not written is the request's."""
    assert refusal(check(error=(kind, "no")), release) == text


def test_a_layout_of_other_numbers_is_an_accident() -> None:
    """It ends in an error that nothing documents."""
    (violation,) = check(layout=[1, 2.0])

    assert violation.accident("0.5.23") == (RETURNED,)
    assert violation.clause.guard("0.5.23") is None


@pytest.mark.parametrize("layout", [[2, 1], [1, 2]])
def test_a_layout_whose_sum_fits_is_refused_by_nothing(layout: list[int]) -> None:
    """Nor are the rows of another request in the place of its own."""
    rows = ROWS if layout == [2, 1] else torch.cat([ROWS[6:], ROWS[:6]])

    assert check(rows, layout=layout) != []
    assert ending(check(rows, layout=layout), "0.5.23") is None
