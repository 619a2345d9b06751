"""The contract of encoder-slice, alone: rows and counts written by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_slice, ending
from contracts.contract import Violation
from simulators.encoder import WIDTH, owner_of, stamped_rows

COUNTS = [6, 12, 8]
#: The rows of items 0 and 2, which no cache has.
ROWS = torch.cat([stamped_rows(0, 6), stamped_rows(2, 8)])


def check(rows: Any = ROWS, counts: Any = COUNTS) -> list[Violation]:
    """Return the violations of rows that were made for items 0 and 2 of three."""
    request = {"counts": COUNTS, "chosen": [0, 2], "width": WIDTH, "dtype": "torch.float32"}
    return list(encoder_slice.check({"rows": rows, "counts": counts}, request, owner_of))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def test_honest_rows_break_nothing() -> None:
    """Nor do they with the count of a cached item wrong, a tensor for a count, or one more axis."""
    assert check() == []
    assert check(counts=[6, 99, 8]) == []
    assert check(counts=[torch.tensor(6), 12, 8]) == []
    assert check(ROWS.unsqueeze(1)) == []


@pytest.mark.parametrize(
    ("rows", "counts", "clauses"),
    [
        (ROWS, [6, 12], {"item-count", "rows-count"}),
        (ROWS, [6, 12, 8, 6], {"item-count"}),
        ([ROWS], COUNTS, {"rows-tensor"}),
        (ROWS, [6.0, 12, 8], {"count-whole"}),
        (ROWS[:-1], COUNTS, {"rows-count", "row-identity"}),
        (ROWS, [7, 12, 7], {"count-asked"}),
        (ROWS, [-2, 12, 16], {"count-asked"}),
        (ROWS.half(), COUNTS, {"row-dtype"}),
        (torch.cat([ROWS, ROWS], dim=1), COUNTS, {"row-width", "row-identity"}),
        (ROWS.flip(0), COUNTS, {"row-identity"}),
        (ROWS * torch.nan, COUNTS, {"row-identity"}),
        (ROWS.reshape(-1, 2, 4), COUNTS, {"rows-count", "row-width", "row-identity"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(rows: Any, counts: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert names(check(rows, counts)) == clauses


def test_the_sum_is_guarded_from_0_5_19_on() -> None:
    """Before, a row too few is cut off in silence."""
    found = check(ROWS[:-1])
    violation = ending(found, "0.5.19")

    assert violation is not None
    assert violation.refusal(violation.clause.guards[0]) == (
        "Encoder produced 13 tokens, but preprocessor metadata expected 14"
    )
    assert ending(found, "0.5.18") is None


def test_a_float_ends_the_call_before_the_sum_is_looked_at() -> None:
    """From 0.5.19 on, where counts are told as such."""
    found = check(ROWS[:-1], [6.0, 12, 8])

    assert ending(found, "0.5.23") is found[0]
    assert found[0].clause is encoder_slice.COUNT_WHOLE
    assert ending(check(counts=[6.0, 12, 8]), "0.5.18") is None


def test_a_count_too_many_ends_no_call() -> None:
    """One too few ends it, where its item is asked for."""
    assert ending(check(counts=[6, 12, 8, 6]), "0.5.23") is None
    short = ending(check(counts=[6, 12]), "0.5.16")
    assert short is not None
    assert short.accident("0.5.16") == ("IndexError",)
