"""Audits of rows: every planted misplacement is found and named, and honest rows never are."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
import torch

from harness.kernels.audit import audit_rows, audit_rows_torch
from harness.kernels.items import ItemTable, table_of
from harness.kernels.planting import FAULTS, Planted, expected, planting, rows_of, some_items
from harness.kernels.stamp import ROW_DTYPES, stamp_rows_torch
from harness.kernels.tally import KINDS, Audit
from simulators.packed_rows import Item

Call = Callable[..., Any]
PLANTINGS = 10_000
INTERPRETED = 40
NONE = [-1] * len(KINDS)
#: Two items of three and two rows, an empty one between them, and one of another request.
ITEMS, OTHERS = [Item(5, 0, 3), Item(6, 0, 0), Item(5, 1, 2)], [Item(8, 0, 2)]


def tables(audit: Audit) -> tuple[list[list[int]], list[list[int]]]:
    """Return counts and first places as lists."""
    return audit.counts.tolist(), audit.first.tolist()


def plantings(seed: int, count: int) -> Iterator[tuple[Planted, torch.Tensor, ItemTable]]:
    """Yield plantings among the same items, the rows of each in some dtype, and the table."""
    rng = Random(seed)
    ours, others = some_items(rng)
    table = table_of(ours, others)
    blank = torch.empty(table.rows, rng.randint(8, 40), dtype=rng.choice(ROW_DTYPES))
    stamped = stamp_rows_torch(table, blank)
    for _ in range(count):
        planted = planting(ours, others, rng)
        yield planted, rows_of(planted, stamped, rng), table


def test_every_planted_misplacement_is_found() -> None:
    """All counts and first places, as the names have them, and each fault is among them."""
    done = set()
    for seed in range(PLANTINGS // 20):
        for planted, rows, table in plantings(seed, 20):
            done |= set(planted.done)

            assert tables(audit_rows_torch(rows, table)) == expected(planted), (seed, planted)

    assert done == {fault.__name__ for fault in FAULTS}


@pytest.mark.parametrize("seed", range(INTERPRETED // 4))
def test_the_kernel_finds_them_too(interpreted: Call, seed: int) -> None:
    """The first plantings once more, read by the kernel in the interpreter."""
    for planted, rows, table in plantings(seed, 4):
        assert tables(interpreted(audit_rows, rows, table)) == expected(planted), planted


@pytest.mark.parametrize(
    ("dtype", "width"),
    [*((dtype, width) for dtype in ROW_DTYPES for width in (8, 13, 1100)), (torch.bfloat16, 8300)],
    ids=str,
)
def test_honest_rows_are_all_right(interpreted: Call, dtype: torch.dtype, width: int) -> None:
    """In every dtype, for widths below and above what a program reads at once."""
    table = table_of([Item(slot, 0, count) for slot, count in enumerate((0, 3, 1, 0, 12))])
    rows = stamp_rows_torch(table, torch.empty(table.rows, width, dtype=dtype))
    counts = [[count, 0, 0, 0, 0, 0] for count in (0, 3, 1, 0, 12, 0)]
    first = [[place, *NONE[1:]] for place in (-1, 0, 3, -1, 4, -1)]

    assert tables(audit_rows_torch(rows, table)) == (counts, first)
    assert tables(interpreted(audit_rows, rows, table)) == (counts, first)


def test_a_small_answer_written_by_hand(interpreted: Call) -> None:
    """Every kind once, in five places and two behind them."""
    table = table_of(ITEMS, OTHERS)
    a0, a1, a2, c0, _, other, _ = stamp_rows_torch(table, torch.empty(7, 20, dtype=torch.float16))
    broken = c0.clone()
    broken[17] += 1
    rows = torch.stack([a0, c0, a1, broken, c0, other, a2])
    #          right foreign shifted missing repeated corrupted
    counts = [
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [0, 2, 0, 0, 0, 0],
    ]
    first = [
        [0, 1, 2, -1, -1, -1],
        NONE,
        [-1, -1, 4, 4, 4, 3],
        [-1, 5, -1, -1, -1, -1],
    ]

    assert tables(audit_rows_torch(rows, table)) == (counts, first)
    assert tables(interpreted(audit_rows, rows, table)) == (counts, first)


@pytest.mark.parametrize("column", range(20))
def test_no_column_changes_unseen(interpreted: Call, column: int) -> None:
    """One bit of one number, wherever it stands."""
    table = table_of(ITEMS)
    rows = stamp_rows_torch(table, torch.empty(5, 20, dtype=torch.bfloat16))
    rows.view(torch.int16)[3, column] ^= 1

    for audit in (audit_rows_torch(rows, table), interpreted(audit_rows, rows, table)):
        assert audit.counts[2].tolist() == [1, 0, 0, 1, 0, 1]
        assert audit.first[2].tolist() == [4, -1, -1, 3, -1, 3]


@pytest.mark.parametrize("number", [0, float("nan"), float("inf"), -1, 0.5, 3e38])
def test_what_carries_no_stamp_is_corrupted(interpreted: Call, number: float) -> None:
    """Rows that were never written, or that hold one number all over."""
    table = table_of(ITEMS)
    rows = torch.full((5, 9), number)
    counts = [[0, 0, 0, n, 0, n] for n in (3, 0, 2, 0)]

    assert audit_rows_torch(rows, table).counts.tolist() == counts
    assert interpreted(audit_rows, rows, table).counts.tolist() == counts


def test_a_row_with_anothers_mix_is_corrupted(interpreted: Call) -> None:
    """All columns agree, and slot and position are ours: only the mix says that it is not."""
    ours, forged = table_of([Item(1, 0, 3)]), table_of([Item(2, 0, 3)])
    rows = stamp_rows_torch(ours, torch.empty(3, 24))
    rows[1] = stamp_rows_torch(forged, torch.empty(3, 24))[1]

    for audit in (audit_rows_torch(rows, ours), interpreted(audit_rows, rows, ours)):
        assert audit.counts[0].tolist() == [2, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("first", [0, 2])
def test_rows_of_ours_that_are_not_among_those_expected(interpreted: Call, first: int) -> None:
    """Before or after the packed part of an item: ours, and nobody misses or repeats them."""
    whole = table_of([Item(2, 0, 2), Item(1, 0, 6)])
    part = table_of([Item(2, 0, 2), Item(1, 0, 4, first=first)])
    rows = stamp_rows_torch(whole, torch.empty(8, 16))[[0, 1, 2, 3, 6, 7]]

    for audit in (audit_rows_torch(rows, part), interpreted(audit_rows, rows, part)):
        assert audit.counts.tolist() == [[2, 0, 0, 0, 0, 0], [2, 0, 2, 2, 0, 0], [0] * 6]


@pytest.mark.parametrize("items", [[], [Item(1, 0, 0)], [Item(1, 0, 4)]])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_few_rows_and_rows_of_nobody(interpreted: Call, items: list[Item], count: int) -> None:
    """No rows, no items, neither, and less of one than of the other."""
    table = table_of(items)
    wanted = sum(item.count for item in items)
    rows = torch.zeros(count, 8)
    counts = [[0, 0, 0, item.count, 0, min(count, item.count)] for item in items]
    counts.append([0, 0, 0, 0, 0, max(0, count - wanted)])

    assert audit_rows_torch(rows, table).counts.tolist() == counts
    assert interpreted(audit_rows, rows, table).counts.tolist() == counts


def test_many_items_in_one_block_and_many_blocks_of_one_item(interpreted: Call) -> None:
    """Both ways in which a program counts; every row is one place late."""
    for counts in ([1] * 700, [2500]):
        table = table_of([Item(slot, 0, count) for slot, count in enumerate(counts)])
        rows = stamp_rows_torch(table, torch.empty(table.rows, 8, dtype=torch.int32)).roll(1, 0)

        kernel, twin = interpreted(audit_rows, rows, table), audit_rows_torch(rows, table)

        assert tables(kernel) == tables(twin)
        wrong = KINDS.index("foreign" if len(counts) > 1 else "shifted")
        assert kernel.counts[:, wrong].tolist() == [*counts, 0]


@pytest.mark.parametrize("audit", [audit_rows, audit_rows_torch])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (torch.empty(2, 7), "8 columns or more"),
        (torch.empty(2, 8, dtype=torch.float64), "float64"),
        (torch.empty(8, 2).T, "2 apart"),
        (torch.empty(2, 8, device="meta"), "on meta"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(
    audit: Callable[..., Any], rows: torch.Tensor, said: str
) -> None:
    """By the kernel and by its twin alike."""
    with pytest.raises(ValueError, match=said):
        audit(rows, table_of([Item(1, 0, 2)]))
