"""The contract of ar-distributed-split, alone: what it shares with its twin, and what not."""

import pytest
import torch

from contracts import ar_distributed_split, ar_split, ending

REQUEST = {"outputs": 2, "row_width": 4}
ROWS = torch.arange(8).reshape(2, 4)


@pytest.mark.parametrize(
    "rows", [ROWS, ROWS[:1], None, ROWS.float(), ROWS[:, :2], torch.tensor(1)], ids=str
)
def test_both_splits_break_the_same_clauses(rows: object) -> None:
    """One walk, two texts."""
    payload = {"prior_token_id": rows, "usage_by_output": [{}]}

    ours = [
        (v.clause.name, v.where, v.actual) for v in ar_distributed_split.check(payload, REQUEST)
    ]
    twins = [(v.clause.name, v.where, v.actual) for v in ar_split.check(payload, REQUEST)]

    assert ours == twins


def test_the_refusal_names_distributed_inference() -> None:
    """From 0.5.19 on, where outputs are run one after the other."""
    payload = {"prior_token_id": ROWS[:1], "usage_by_output": [{}, {}]}
    (violation,) = ar_distributed_split.check(payload, REQUEST)

    assert violation.refusal(violation.clause.guards[0]) == (
        "Cannot split GLM-Image AR output for distributed inference: expected 2 token rows, got 1."
    )
    assert ending([violation], "0.5.19", "npu") is violation
    assert ending([violation], "0.5.18", "npu") is None
    assert ending([violation], "0.5.19", "cuda") is None
