"""The contract of encoder-tp-layout, alone: what each rank prepared, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_tp_layout, ending
from contracts.contract import RETURNED, Violation
from simulators.encoder import owner_of, stamped_rows

COUNTS = [6, 12]
GRIDS = [(1, 4, 6), (1, 8, 6)]
ROWS = torch.cat([stamped_rows(owner, count) for owner, count in enumerate(COUNTS)])
REQUEST = {"items": [1, 1], "counts": COUNTS, "grids": GRIDS, "merge_size": 2}
HONEST = {
    "error": None,
    "layout": [1, 1],
    "grids": GRIDS,
    "counts": COUNTS,
    "features": ROWS.repeat_interleave(4, dim=0),
}
VALUE, KEY = {"error": ("ValueError", "no")}, {"error": ("KeyError", "no")}
FAILED = "Encoder preprocessing failed on TP rank"


def check(*lies: Any) -> list[Violation]:
    """Return the violations of ranks, each of which prepared something else."""
    parts = [{**HONEST, **lie} for lie in lies]
    return list(encoder_tp_layout.check({"ranks": parts}, REQUEST, owner_of))


def refusal(*lies: Any, release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(check(*lies), release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def test_honest_ranks_break_nothing() -> None:
    """Two or four of them."""
    assert check({}, {}) == []
    assert check({}, {}, {}, {}) == []


@pytest.mark.parametrize(
    ("lies", "text"),
    [
        (({}, VALUE), f"{FAILED} 1: Failed to process mm items: no (status 400)"),
        ((VALUE, KEY), f"{FAILED} 1: Failed to process mm items: no (status 500)"),
        ((KEY, VALUE), f"{FAILED} 0: Failed to process mm items: no (status 500)"),
        ((VALUE, VALUE), f"{FAILED} 0: Failed to process mm items: no (status 400)"),
        (
            ({}, {"layout": [2]}),
            f"{FAILED} 1: Invalid batch layout [2] for 2 requests (status 500)",
        ),
        (({"layout": [None, 1]}, {}), f"{FAILED} 0: "),
        (({"layout": [1.0, 1]}, {}), "Encoder metadata publication failed on TP rank 0: "),
    ],
)
def test_what_one_rank_fails_at_all_hear(lies: Any, text: str) -> None:
    """An error that is not the request's goes before one that is."""
    assert refusal(*lies) == text


@pytest.mark.parametrize(
    "lie",
    [
        {"layout": [1.0, 1]},
        {"grids": [(1.0, 4.0, 6.0), GRIDS[1]]},
        {"grids": [(1, 6, 4), GRIDS[1]]},
        {"counts": [12, 6]},
    ],
)
def test_metadata_of_another_rank_is_compared(lie: Any) -> None:
    """Kinds of numbers too; which rank differs is told."""
    said = "Encoder preprocessing produced inconsistent layouts across TP ranks 0 and"

    assert refusal({}, lie) == f"{said} 1"
    assert refusal({}, {}, lie, lie) == f"{said} 2"


def test_features_are_compared_by_nobody() -> None:
    """As many of them, of other items, go through; other numbers of them end in an accident."""
    found = check({}, {"features": HONEST["features"].flip(0)})

    assert [v.clause.name for v in found] == ["told-alike", "own-rows"]
    assert ending(found, "0.5.23") is None
    short = check({}, {"features": HONEST["features"][4:]})
    assert short[0].clause.name == "told-alike"
    assert short[0].accident("0.5.23") == (RETURNED,)


def test_before_they_heard_of_each_other_the_others_wait() -> None:
    """What one rank alone refuses is no refusal in 0.5.19; what all refuse is."""
    alone = ending(check({}, VALUE), "0.5.19")

    assert alone is not None
    assert alone.clause.name == "refused-together"
    assert refusal(VALUE, VALUE, release="0.5.19") == (
        "Failed to process mm items: no (status 400)"
    )
