"""The contract of shard-all-to-all, alone: what each rank brings and is told, written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, shard_all_to_all
from contracts.contract import Violation

Found = list[tuple[str, int | None]]
ENTRIES = ("fixed-in", "varlen-in", "fixed-out", "varlen-out")
UNEVEN, EVEN = (5, 3), (4, 4)


def shape_of(entry: str, rows: tuple[int, ...], rank: int, heads: int = 12) -> tuple[int, ...]:
    """Return the shape of an honest rank's rows, heads behind them."""
    if entry.endswith("out"):
        return (1, sum(rows), heads // len(rows), 4)
    return (1, rows[rank], heads, 4)


def check(
    entry: str, rows: tuple[int, ...], told: Any, first: Any = None, head_dim: int = 2
) -> list[Violation]:
    """Return the violations of ranks that hold so many rows.

    Args:
        entry: Which exchange.
        rows: Of each rank.
        told: What differs from honest parts, for all ranks; a shape may be a list, one a rank.
        first: What differs for rank 0 alone.
        head_dim: Where the heads stand in a shape.
    """
    parts = []
    for rank, count in enumerate(rows):
        part = {
            "shape": shape_of(entry, rows, rank),
            "dtype": "torch.float32",
            "heads": 12,
            "rows": count,
            "fate": "",
            "form": "",
        }
        if entry.startswith("varlen"):
            part["splits"] = rows
        part |= told
        part |= (first or {}) if rank == 0 else {}
        if isinstance(part["shape"], list):
            part["shape"] = part["shape"][rank]
        parts.append(part)
    request = {"entry": entry, "rows": list(rows), "width": 4, "head_dim": head_dim}
    return list(shard_all_to_all.check({"ranks": parts}, request))


def named(found: list[Violation]) -> Found:
    """Return the broken clauses in order, each with the rank that meets it."""
    return [(violation.clause.name, violation.rank) for violation in found]


def on_both(*clauses: str) -> Found:
    """Return these clauses for rank 0, then for rank 1."""
    return [(clause, rank) for rank in range(2) for clause in clauses]


@pytest.mark.parametrize("entry", ENTRIES)
def test_honest_ranks_break_nothing(entry: str) -> None:
    """Two or more of them, wherever the heads stand; uneven ones where splits are told."""
    ways = [EVEN, (2, 2, 2, 2)]
    if entry.startswith("varlen"):
        ways += [UNEVEN, (8, 0), (3, 3, 2)]
    for rows in ways:
        turned = [
            (1, heads, held, 4)
            for _, held, heads, _ in (shape_of(entry, rows, rank) for rank in range(len(rows)))
        ]
        assert check(entry, rows, {}) == []
        assert check(entry, rows, {"shape": turned}, head_dim=1) == []


def test_splits_may_be_a_list_or_tensors() -> None:
    """On both ways."""
    for entry in ("varlen-in", "varlen-out"):
        for splits in ([5, 3], torch.tensor([5, 3]), [torch.tensor(5), torch.tensor(3)]):
            assert check(entry, UNEVEN, {"splits": splits}) == []


BOTH: list[tuple[str, tuple[int, ...], dict[str, Any], Found]] = [
    *((entry, EVEN, {"shape": (4, 12, 4)}, on_both(f"rows-4d-{entry}")) for entry in ENTRIES),
    ("varlen-in", UNEVEN, {"splits": 8}, on_both("splits-sized")),
    ("varlen-in", UNEVEN, {"splits": None}, on_both("splits-sized")),
    ("varlen-out", UNEVEN, {"splits": iter((5, 3))}, on_both("splits-sized")),
    ("varlen-in", UNEVEN, {"splits": (5, 3, 0)}, on_both("splits-count")),
    ("varlen-out", UNEVEN, {"splits": (8,)}, on_both("splits-count-out")),
    ("varlen-in", UNEVEN, {"splits": (5.0, 3.0)}, on_both("splits-ints")),
    ("varlen-in", UNEVEN, {"splits": ("5", "3")}, on_both("splits-ints")),
    ("varlen-out", UNEVEN, {"splits": (5.0, 3.0)}, on_both("splits-ints")),
    ("varlen-out", UNEVEN, {"splits": "53"}, on_both("splits-ints")),
    ("varlen-out", UNEVEN, {"splits": (5, None)}, on_both("splits-ints")),
    ("varlen-out", UNEVEN, {"splits": (5, [3])}, on_both("splits-ints")),
    ("varlen-in", UNEVEN, {"splits": (3, 5)}, on_both("split-true")),
    ("varlen-in", UNEVEN, {"splits": (-5, 13)}, on_both("split-true")),
    ("varlen-in", UNEVEN, {"shape": [(1, 4, 12, 4), (1, 2, 12, 4)]}, on_both("split-true")),
    ("varlen-in", UNEVEN, {"shape": [(1, 5, 13, 4), (1, 3, 13, 4)]}, on_both("heads-varlen-in")),
    ("fixed-in", EVEN, {"shape": (1, 4, 13, 4)}, on_both("heads-fixed-in")),
    ("varlen-out", UNEVEN, {"splits": (5, 2)}, on_both("splits-sum")),
    ("varlen-out", UNEVEN, {"splits": (5, 3.5)}, on_both("splits-sum")),
    ("varlen-out", UNEVEN, {"shape": (1, 7, 6, 4)}, on_both("splits-sum")),
    ("varlen-out", UNEVEN, {"splits": (-5, 13)}, on_both("splits-positive")),
    ("varlen-out", UNEVEN, {"splits": (4, 4)}, on_both("splits-held")),
    ("varlen-in", UNEVEN, {"splits": {0: 5, 1: 3}}, on_both("splits-held")),
    ("fixed-out", EVEN, {"shape": (1, 7, 6, 4)}, on_both("rows-divided")),
    ("fixed-out", EVEN, {"shape": (1, 10, 6, 4)}, on_both("rows-all")),
    ("fixed-in", EVEN, {"shape": (1, 3, 12, 4)}, on_both("rows-all")),
    ("fixed-in", UNEVEN, {}, on_both("shards-even")),
    ("fixed-out", UNEVEN, {}, on_both("shards-even")),
    ("fixed-in", EVEN, {"dtype": "torch.float16"}, on_both("rows-kind")),
    ("fixed-in", EVEN, {"shape": (1, 4, 12, 3)}, on_both("rows-kind")),
    ("fixed-out", EVEN, {"shape": (2, 8, 6, 4)}, on_both("rows-kind")),
    ("fixed-in", EVEN, {"form": "mirrored"}, on_both("rows-order")),
    ("fixed-in", EVEN, {"fate": "dies"}, [("ranks-come", None)]),
    # A rank's own split is true, and the other's is not.
    ("varlen-in", UNEVEN, {"splits": (5, 2)},
     [("refused-together", None), ("splits-held", 0), ("split-true", 1)]),
    ("varlen-in", UNEVEN, {"splits": (5, -3)},
     [("refused-together", None), ("splits-positive", 0), ("split-true", 1)]),
]  # fmt: skip
FIRST: list[tuple[str, tuple[int, ...], dict[str, Any], Found]] = [
    ("fixed-in", EVEN, {"shape": (4, 12, 4), "form": "flat"},
     [("told-alike", None), ("refused-together", None), ("rows-4d-fixed-in", 0)]),
    ("fixed-in", EVEN, {"dtype": "torch.float16", "form": "half"},
     [("told-alike", None), ("rows-kind", 0)]),
    ("varlen-out", UNEVEN, {"splits": (4, 4)}, [("told-alike", None), ("splits-held", 0)]),
    ("fixed-out", EVEN, {"fate": "away"}, [("ranks-come", None)]),
    ("fixed-out", EVEN, {"shape": (1, 7, 6, 4), "form": "row-less"},
     [("told-alike", None), ("refused-together", None), ("rows-divided", 0)]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "rows", "told", "expected"), BOTH)
def test_each_clause_is_broken_by_its_own_lie(
    entry: str, rows: tuple[int, ...], told: dict[str, Any], expected: Found
) -> None:
    """What a rank ends at is the last that it meets."""
    assert named(check(entry, rows, told)) == expected


@pytest.mark.parametrize(("entry", "rows", "lie", "expected"), FIRST)
def test_what_one_rank_does_is_broken_between_the_ranks_first(
    entry: str, rows: tuple[int, ...], lie: dict[str, Any], expected: Found
) -> None:
    """The other one is honest, and breaks nothing."""
    assert named(check(entry, rows, {}, lie)) == expected


def test_every_clause_is_broken_by_some_payload() -> None:
    """And none that the contract does not list."""
    broken = {clause for *_, found in (*BOTH, *FIRST) for clause, _ in found}

    assert broken == {clause.name for clause in shard_all_to_all.CONTRACT.clauses}


@pytest.mark.parametrize(
    ("entry", "rows", "told", "refusals"),
    [
        ("fixed-in", EVEN, {"shape": (4, 12, 4)}, ["x must have 4 dimensions, got 3"] * 2),
        ("varlen-out", EVEN, {"shape": (1, 1, 8, 6, 4)}, ["x must have 4 dimensions, got 5"] * 2),
        ("fixed-in", EVEN, {"shape": (1, 4, 13, 4)},
         ["h_global (13) must be divisible by world_size (2)"] * 2),
        ("varlen-in", UNEVEN, {"splits": (8,)}, ["seq_lens must have length 2, got 1"] * 2),
        ("varlen-out", UNEVEN, {"splits": (5, 3, 0)}, ["seq_lens must have length 2, got 3"] * 2),
        ("varlen-in", UNEVEN, {"splits": (3, 5)},
         ["s_local (5) must equal seq_lens[0] (3)", "s_local (3) must equal seq_lens[1] (5)"]),
        ("varlen-out", UNEVEN, {"splits": (5, 2)},
         ["s_global (8) must equal sum(seq_lens) (7)"] * 2),
        ("varlen-out", UNEVEN, {"shape": (1, 9, 6, 4)},
         ["s_global (9) must equal sum(seq_lens) (8)"] * 2),
        ("fixed-out", EVEN, {"shape": (1, 7, 6, 4)},
         ["s_global (7) must be divisible by world_size (2)"] * 2),
    ],
)  # fmt: skip
def test_each_rank_refuses_with_its_own_numbers(
    entry: str, rows: tuple[int, ...], told: dict[str, Any], refusals: list[str]
) -> None:
    """Counted by hand."""
    found = check(entry, rows, told)

    assert [one.refusal(one.clause.guards[0]) for one in found] == refusals


def test_what_no_guard_sees_is_accepted_or_ends_by_accident() -> None:
    """A split below 0 and a mapping end the exchange; wrong ones that fit do not."""

    def accident(entry: str, splits: Any) -> tuple[str, ...] | None:
        stop = ending(check(entry, UNEVEN, {"splits": splits}), "0.5.23")
        return None if stop is None else stop.accident("0.5.23")

    assert accident("varlen-out", (-5, 13)) == ("RuntimeError",)
    assert accident("varlen-in", {0: 5, 1: 3}) == ("RuntimeError",)
    assert accident("varlen-in", 8) == ("TypeError",)
    assert accident("varlen-out", (4, 4)) is None
