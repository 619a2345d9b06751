"""Audits of ids: what a pair of neighbours can tell is found, and what it cannot is said so."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
import torch

from contracts.clauses.prior_tokens import CODEBOOK_SIZE
from harness.kernels.audit_ids import audit_ids, audit_ids_torch
from harness.kernels.items import ItemTable, table_of
from harness.kernels.planting import (
    Planted,
    expected,
    ids_of,
    planting,
    read_by_pairs,
    some_items,
)
from harness.kernels.stamp import ID_DTYPES, MOST_CODES, stamp_ids_torch
from harness.kernels.tally import Audit
from simulators.packed_rows import Item
from simulators.stamp import mix

Call = Callable[..., Any]
#: Three items of 4, 1 and 3 ids, and one of another request.
ITEMS, OTHERS = [Item(5, 0, 4), Item(6, 0, 1), Item(5, 1, 3)], [Item(8, 0, 3)]
TABLE = table_of(ITEMS, OTHERS)


def tables(audit: Audit) -> tuple[list[list[int]], list[list[int]]]:
    """Return counts and first places as lists."""
    return audit.counts.tolist(), audit.first.tolist()


def plantings(seed: int, count: int) -> Iterator[tuple[Planted, torch.Tensor, ItemTable]]:
    """Yield plantings among the same items, their ids in so large a codebook, and the table."""
    rng = Random(seed)
    ours, others = some_items(rng)
    table = table_of(ours, others)
    stamped = stamp_ids_torch(
        table, torch.empty(table.rows, dtype=rng.choice(ID_DTYPES)), MOST_CODES
    )
    for _ in range(count):
        planted = planting(ours, others, rng)
        yield planted, ids_of(planted, stamped, rng), table


def test_what_pairs_can_tell_is_found() -> None:
    """2,000 plantings in a codebook in which nothing collides."""
    for seed in range(100):
        for planted, ids, table in plantings(seed, 20):
            audit = audit_ids_torch(ids, table, MOST_CODES)

            assert tables(audit) == expected(read_by_pairs(planted)), (seed, planted)


@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_finds_it_too(interpreted: Call, seed: int) -> None:
    """Some of the same plantings, read by the kernel in the interpreter."""
    for planted, ids, table in plantings(seed, 3):
        audit = interpreted(audit_ids, ids, table, MOST_CODES)

        assert tables(audit) == expected(read_by_pairs(planted)), planted


@pytest.mark.parametrize("codebook", [1, 2, 100, CODEBOOK_SIZE, MOST_CODES])
def test_honest_ids_are_all_right(interpreted: Call, codebook: int) -> None:
    """However small the codebook, and however often its codes come again."""
    items = [Item(slot, 0, count) for slot, count in enumerate((0, 1025, 1, 300))]
    table = table_of(items)
    ids = stamp_ids_torch(table, torch.empty(table.rows, dtype=torch.int32), codebook)
    counts = [[item.count, 0, 0, 0, 0, 0] for item in items] + [[0] * 6]

    assert audit_ids_torch(ids, table, codebook).counts.tolist() == counts
    assert interpreted(audit_ids, ids, table, codebook).counts.tolist() == counts


@pytest.mark.parametrize("codebook", [1, 3, 50, CODEBOOK_SIZE])
@pytest.mark.parametrize("seed", range(3))
def test_kernel_and_twin_agree_where_ids_collide(
    interpreted: Call, codebook: int, seed: int
) -> None:
    """Ids drawn at random, of the codebook and around it, among runs of honest ones."""
    generator = torch.Generator().manual_seed(seed)
    honest = stamp_ids_torch(TABLE, torch.empty(TABLE.rows, dtype=torch.int64), codebook)
    drawn = torch.randint(-1, codebook + 1, (TABLE.rows + 3,), generator=generator)
    ids = torch.cat((honest[seed : seed + 5], drawn[: 7 * seed], honest[2 * seed :]))

    assert tables(interpreted(audit_ids, ids, TABLE, codebook)) == tables(
        audit_ids_torch(ids, TABLE, codebook)
    )


def test_a_small_answer_written_by_hand(interpreted: Call) -> None:
    """Two ids of one item shifted, two foreign, one alone, one no code, one behind them all."""
    a, c, other = (
        [mix(item.owner, item.occurrence, place) % CODEBOOK_SIZE for place in range(item.count)]
        for item in (*ITEMS[::2], *OTHERS)
    )
    ids = torch.tensor([a[1], a[2], other[0], other[1], c[1], -1, c[1], c[2], a[0]])
    #          right foreign shifted missing repeated corrupted
    counts = [
        [0, 2, 2, 2, 0, 0],
        [0, 0, 0, 1, 0, 1],
        [2, 0, 0, 1, 0, 1],
        [0, 0, 0, 0, 0, 1],
    ]
    first = [
        [-1, 2, 0, 0, -1, -1],
        [-1, -1, -1, 4, -1, 4],
        [6, -1, -1, 5, -1, 5],
        [-1, -1, -1, -1, -1, 8],
    ]

    assert tables(audit_ids_torch(ids, TABLE, CODEBOOK_SIZE)) == (counts, first)
    assert tables(interpreted(audit_ids, ids, TABLE, CODEBOOK_SIZE)) == (counts, first)


def test_what_lies_around_the_ids_is_not_read(interpreted: Call) -> None:
    """A lone id stays alone, though its neighbour in memory would make a pair."""
    honest = stamp_ids_torch(TABLE, torch.empty(TABLE.rows, dtype=torch.int64), MOST_CODES)
    for lone in (honest[2:3], honest[3:4]):
        audit = interpreted(audit_ids, lone, TABLE, MOST_CODES)

        assert audit.counts[0].tolist() == [0, 0, 0, 4, 0, 1]
        assert tables(audit) == tables(audit_ids_torch(lone, TABLE, MOST_CODES))


@pytest.mark.parametrize("ids", [[], [3], [3, -1, 2**31 - 1]])
def test_ids_where_none_is_expected(interpreted: Call, ids: list[int]) -> None:
    """All of them are nobody's, and a table without items can say so."""
    given, table = torch.tensor(ids, dtype=torch.int32), table_of([])

    for audit in (
        audit_ids_torch(given, table, CODEBOOK_SIZE),
        interpreted(audit_ids, given, table, CODEBOOK_SIZE),
    ):
        assert audit.counts.tolist() == [[0, 0, 0, 0, 0, len(ids)]]
