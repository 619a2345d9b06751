"""The contract of encoder-stage, alone: the rows and the counts of a batch by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_stage, ending
from contracts.contract import RETURNED, Violation
from simulators.encoder import WIDTH, owner_of, stamped_rows

COUNTS = [6, 12, 8]
ROWS = torch.cat([stamped_rows(owner, count) for owner, count in enumerate(COUNTS)])
#: Two requests, of one item and of two.
REQUEST = {
    "counts": COUNTS,
    "items": [1, 2],
    "names": ["request 0", "request 1"],
    "width": WIDTH,
    "dtype": "torch.float32",
}


def check(rows: Any = ROWS, counts: Any = COUNTS) -> list[Violation]:
    """Return the violations of the rows and the counts of a batch."""
    return list(encoder_stage.check({"rows": rows, "counts": counts}, REQUEST, owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def test_an_honest_batch_breaks_nothing() -> None:
    """Nor does one with a tensor for a count."""
    assert check() == []
    assert check(counts=[6, torch.tensor(12), 8]) == []


@pytest.mark.parametrize(
    ("rows", "counts", "clauses"),
    [
        (ROWS, [6, 20], ["item-count", "count-asked"]),
        (list(ROWS), COUNTS, ["rows-tensor"]),
        (ROWS[:-1], COUNTS, ["rows-count", "as-announced", "row-identity"]),
        (ROWS, [6.0, 12, 8], ["count-whole"]),
        (ROWS, [6, 11, 9], ["count-asked"]),
        (ROWS, [12, 6, 8], ["count-asked"]),
        (ROWS.half(), COUNTS, ["as-announced"]),
        (ROWS[:, :4], COUNTS, ["as-announced", "row-identity"]),
        (ROWS.roll(1, 0), COUNTS, ["row-identity"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(rows: Any, counts: Any, clauses: list[str]) -> None:
    """Nothing else is said to be broken, and in the order of upstream."""
    assert list(dict.fromkeys(v.clause.name for v in check(rows, counts))) == clauses


def test_each_refusal_says_its_numbers() -> None:
    """They are returned, from 0.5.19 on; the layout was refused before, too."""
    short = check(ROWS[:18], [6, 12])

    assert "Batch layout [1, 2] expects 3 grids, but the processor produced 2" in refusal(short)
    assert (
        refusal(short, "0.5.18") == "expected 3 grids (per-req [1, 2]), but processor produced 2."
    )
    assert "produced 25 tokens, but preprocessor metadata expected 26" in refusal(check(ROWS[:-1]))
    assert refusal(check(ROWS.half())) == (
        "Embedding metadata mismatch for request 0: "
        "expected=[6, 8]/torch.float32, actual=[6, 8]/torch.float16"
    )
    assert refusal(check(ROWS.half()), "0.5.18") == ""


def test_a_negative_count_is_cut_from_the_end() -> None:
    """The sum fits, and what is cut is not what was announced."""
    found = check(counts=[-2, 20, 8])

    assert "expected=[-2, 8]/torch.float32, actual=[24, 8]/torch.float32" in refusal(found)


def test_a_float_that_sums_up_is_an_accident() -> None:
    """It is returned as an error all the same."""
    (violation,) = check(counts=[6.0, 12, 8])

    assert violation.accident("0.5.23") == (RETURNED,)
    assert violation.accident("0.5.18") == ()
    assert "expected 25.5" in refusal(check(counts=[6, 11.5, 8]))


def test_counts_swapped_between_two_requests_are_refused_by_nothing() -> None:
    """The sum fits, and what is announced is what is cut."""
    assert ending(check(counts=[12, 6, 8]), "0.5.23") is None
