"""The contract of shard-gather, alone: what each rank holds and is told, written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, shard_gather
from contracts.contract import Violation

Found = list[tuple[str, int | None]]
ENTRIES = ("cut", "gather", "both")
UNEVEN, EVEN = (5, 3), (4, 4)


def check(entry: str, rows: tuple[int, ...], *told: dict[str, Any]) -> list[Violation]:
    """Return the violations of ranks that hold so many rows.

    Args:
        entry: What is done with them.
        rows: Of each rank.
        told: What differs from an honest part, for all ranks; or one a rank.
    """
    each = told * len(rows) if len(told) == 1 else told
    parts = [
        {"splits": rows, "rows": count, "fate": "", "form": "", **more}
        for count, more in zip(rows, each, strict=True)
    ]
    request = {"entry": entry, "rows": list(rows)}
    return list(shard_gather.check({"ranks": parts}, request))


def named(found: list[Violation]) -> Found:
    """Return the broken clauses in order, each with the rank that meets it."""
    return [(violation.clause.name, violation.rank) for violation in found]


def on_both(*clauses: str) -> Found:
    """Return these clauses for rank 0, then for rank 1."""
    return [(clause, rank) for rank in range(2) for clause in clauses]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("rows", [UNEVEN, EVEN, (8, 0), (3, 3, 2), (2, 2, 2, 2)])
def test_honest_ranks_break_nothing(entry: str, rows: tuple[int, ...]) -> None:
    """With splits as a tuple, a list or tensors."""
    for splits in (rows, list(rows), torch.tensor(rows), [torch.tensor(count) for count in rows]):
        assert check(entry, rows, {"splits": splits}) == []


def splits(told: Any) -> dict[str, Any]:
    """Return a part of other splits."""
    return {"splits": told}


BOTH: list[tuple[str, tuple[int, ...], dict[str, Any], Found]] = [
    *((entry, UNEVEN, splits(None), on_both("splits-sequence")) for entry in ENTRIES),
    ("cut", UNEVEN, splits(8), on_both("splits-sequence")),
    ("gather", UNEVEN, splits(iter((5, 3))), on_both("splits-sequence")),
    ("both", UNEVEN, splits({0: 5, 1: 3}), on_both("splits-sequence")),
    ("gather", UNEVEN, splits((5, 3, 0)), on_both("splits-each")),
    ("both", UNEVEN, splits((5, 3, 0)), on_both("splits-each")),
    ("cut", UNEVEN, splits((5, 3, 0)), on_both("splits-held")),
    ("cut", UNEVEN, splits(()), on_both("splits-each")),
    ("gather", UNEVEN, splits((5.0, 3.0)), on_both("splits-numbers")),
    ("gather", UNEVEN, splits((5, None)), on_both("splits-numbers")),
    ("cut", UNEVEN, splits((5.0, 3.0)), on_both("splits-numbers")),
    ("cut", EVEN, splits((4.0, 4.0)), on_both("splits-numbers")),
    # Where all are alike, nobody who only gathers looks at them.
    ("gather", EVEN, splits((4.0, 4.0)), []),
    ("gather", EVEN, splits((5, 5)), on_both("splits-held")),
    ("gather", UNEVEN, splits((4, 4)), on_both("shards-even", "splits-held")),
    ("gather", UNEVEN, splits((8,)), on_both("shards-even", "splits-held")),
    ("both", UNEVEN, splits((4, 4)), on_both("splits-held")),
    ("cut", UNEVEN, splits((4, 4)), on_both("splits-held")),
    ("gather", UNEVEN, splits((3, 5)), on_both("splits-held")),
    ("both", UNEVEN, splits((-5, 13)), on_both("splits-held")),
    ("gather", UNEVEN, {"form": "joined"}, on_both("shard-run")),
    ("gather", EVEN, {"form": "repeated", **splits((6, 6))},
     on_both("splits-held", "shard-run")),
    ("gather", UNEVEN, {"fate": "dies"}, [("ranks-come", None)]),
    # A rank that cuts looks at the splits up to its own.
    ("cut", UNEVEN, splits((8,)),
     [("refused-together", None), ("splits-held", 0), ("splits-each", 1)]),
    ("cut", UNEVEN, splits((5, "3")),
     [("refused-together", None), ("splits-held", 0), ("splits-numbers", 1)]),
]  # fmt: skip
FIRST: list[tuple[str, tuple[int, ...], dict[str, Any], Found]] = [
    ("gather", UNEVEN, splits((4, 4)),
     [("told-alike", None), ("shards-even", 0), ("splits-held", 0)]),
    ("gather", UNEVEN, splits((5.0, 3.0)),
     [("told-alike", None), ("refused-together", None), ("splits-numbers", 0)]),
    ("both", UNEVEN, splits(None),
     [("told-alike", None), ("refused-together", None), ("splits-sequence", 0)]),
    ("gather", UNEVEN, {"form": "joined"}, [("told-alike", None), ("shard-run", 0)]),
    ("cut", UNEVEN, {"fate": "away"}, [("ranks-come", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "rows", "told", "expected"), BOTH)
def test_each_clause_is_broken_by_its_own_lie(
    entry: str, rows: tuple[int, ...], told: dict[str, Any], expected: Found
) -> None:
    """What a rank ends at is the last that it meets."""
    assert named(check(entry, rows, told)) == expected


@pytest.mark.parametrize(("entry", "rows", "lie", "expected"), FIRST)
def test_a_lie_that_one_rank_hears_is_broken_between_the_ranks_first(
    entry: str, rows: tuple[int, ...], lie: dict[str, Any], expected: Found
) -> None:
    """The other one is told the truth, and breaks nothing."""
    assert named(check(entry, rows, lie, {})) == expected


def test_every_clause_is_broken_by_some_payload() -> None:
    """And none that the contract does not list."""
    broken = {clause for *_, found in (*BOTH, *FIRST) for clause, _ in found}

    assert broken == {clause.name for clause in shard_gather.CONTRACT.clauses}


@pytest.mark.parametrize(
    ("entry", "told", "accident"),
    [
        ("gather", splits(None), ("TypeError", "KeyError")),
        ("gather", splits((5, 3, 0)), ("IndexError", "RuntimeError")),
        ("cut", splits((5.0, 3.0)), ("TypeError", "RuntimeError")),
        # One of the two is left waiting for the other.
        ("cut", splits((8,)), ("RuntimeError", "IndexError")),
    ],
)
def test_nothing_is_guarded_and_some_lies_end_by_accident(
    entry: str, told: dict[str, Any], accident: tuple[str, ...]
) -> None:
    """The accidents are those of indexing, slicing and sending."""
    stop = ending(check(entry, UNEVEN, told), "0.5.23")

    assert stop is not None
    assert stop.accident("0.5.23") == accident


def test_what_ends_no_call_is_accepted() -> None:
    """Rows out of their order, other splits that fit, and a rank that never comes."""
    assert ending(check("gather", UNEVEN, {"form": "joined"}), "0.5.23") is None
    assert ending(check("both", UNEVEN, splits((3, 5))), "0.5.23") is None
    assert ending(check("gather", UNEVEN, {"fate": "away"}), "0.5.23") is None
