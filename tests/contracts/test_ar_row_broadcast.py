"""The contract of ar-row-broadcast, alone: tensors written by hand."""

from typing import Any

import pytest
import torch

from contracts import Origin, ar_row_broadcast, ending

REQUEST = {"outputs": 3, "row_width": 4}
ROWS = torch.tensor([[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])


def owner_of(row: list[Any]) -> list[Origin | None]:
    """Read owners in tens and positions in ones."""
    return [Origin(int(i) // 10, int(i) % 10) for i in row]


def broken(rows: Any) -> dict[str, Any]:
    """Return the violations of prior tokens, by clause."""
    found = ar_row_broadcast.check({"prior_token_id": rows}, REQUEST, owner_of)
    return {violation.clause.name: violation for violation in found}


def test_honest_rows_break_nothing() -> None:
    """One int64 row for each output, each its own."""
    assert broken(ROWS) == {}


@pytest.mark.parametrize(
    ("rows", "clauses"),
    [
        (None, {"rows-tensor"}),
        (list(ROWS), {"rows-tensor"}),
        (torch.tensor(3), {"rows-dimension", "rows-matrix"}),
        (ROWS[:2], {"rows-expand"}),
        (torch.cat([ROWS, ROWS]), {"rows-expand"}),
        (ROWS[:0], {"rows-expand"}),
        (ROWS[:1], {"rows-each"}),
        (ROWS[:, :3], {"row-width"}),
        (ROWS.float(), {"row-dtype"}),
        (ROWS.flip(0), {"row-identity"}),
        (ROWS.roll(1, dims=1), {"row-position"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(rows: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert set(broken(rows)) == clauses


def test_one_row_for_all_is_refused_by_nobody() -> None:
    """Every other count is, in words and with the true numbers."""
    two = broken(ROWS[:2])["rows-expand"]

    assert ending([broken(ROWS[:1])["rows-each"]], "0.5.23") is None
    assert ending([two], "0.5.16") is two
    assert two.refusal(two.clause.guards[0]) == "Cannot expand tensor with batch size 2 to 3"


def test_what_carries_no_stamp_belongs_to_nobody() -> None:
    """Without a reader of stamps, identity is unchecked and said to be."""
    said = ar_row_broadcast.answers({"prior_token_id": ROWS}, REQUEST)

    assert {name for name, answer in said.items() if answer == "unchecked"} == {
        "row-identity",
        "row-position",
    }
