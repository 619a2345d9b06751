"""The contract of ar-split, alone: tensors written by hand."""

from typing import Any

import pytest
import torch

from contracts import Origin, ar_split, ending

REQUEST = {"outputs": 2, "row_width": 4}
ROWS = torch.tensor([[0, 1, 2, 3], [10, 11, 12, 13]])


def owner_of(row: list[Any]) -> list[Origin | None]:
    """Read owners in tens and positions in ones."""
    return [Origin(int(i) // 10, int(i) % 10) for i in row]


def broken(rows: Any, usages: int = 2, outputs: int = 2) -> dict[str, Any]:
    """Return the violations of prior tokens, by clause."""
    payload = {"prior_token_id": rows, "usage_by_output": [{}] * usages}
    request = REQUEST | {"outputs": outputs}
    return {v.clause.name: v for v in ar_split.check(payload, request, owner_of)}


def test_honest_rows_break_nothing() -> None:
    """One int64 row for each output, each its own."""
    assert broken(ROWS) == {}


@pytest.mark.parametrize(
    ("rows", "clauses"),
    [
        (ROWS[:1], {"rows-count"}),
        (torch.cat([ROWS, ROWS]), {"rows-count"}),
        (None, {"rows-count"}),
        (list(ROWS), {"rows-count"}),
        (ROWS.numpy(), {"rows-count"}),
        (torch.tensor(3), {"rows-dimension", "rows-matrix"}),
        (torch.tensor([0, 10]), {"rows-matrix"}),
        (ROWS.unsqueeze(1), {"rows-matrix"}),
        (ROWS[:, :3], {"row-width"}),
        (ROWS.float(), {"row-dtype"}),
        (ROWS.flip(0), {"row-identity"}),
        (ROWS.roll(1, dims=1), {"row-position"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(rows: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert set(broken(rows)) == clauses


def test_the_guard_runs_only_on_an_npu() -> None:
    """On every other platform the rows pass on as they are."""
    violations = [broken(ROWS[:1])["rows-count"]]

    assert ending(violations, "0.5.23", "npu") is violations[0]
    assert ending(violations, "0.5.23", "cuda") is None


@pytest.mark.parametrize(("rows", "got"), [(ROWS[:1], 1), (None, "NoneType"), ([1], "list")])
def test_the_refusal_is_worded_as_upstream_does(rows: Any, got: Any) -> None:
    """The count of rows, or the type's name."""
    violation = broken(rows)["rows-count"]
    guard = violation.clause.guards[0]

    assert violation.refusal(guard) == (
        "Cannot split GLM-Image AR output for sequential inference: "
        f"expected 2 token rows, got {got}."
    )


def test_one_output_is_not_split_and_not_guarded() -> None:
    """A single output passes on whatever its rows are."""
    assert set(broken(ROWS, usages=1, outputs=1)) == {"rows-single"}
    assert ending([broken(torch.tensor(3), 1, 1)["rows-dimension"]], "0.5.23", "npu") is None


def test_usage_records_are_counted() -> None:
    """One for each output."""
    assert set(broken(ROWS, usages=1)) == {"usage-each"}
