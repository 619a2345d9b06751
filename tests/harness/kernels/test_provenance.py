"""Rows are read on their device as one by one on the host."""

from random import Random
from typing import Any

import pytest
import torch

from contracts.contract import Origin
from harness.kernels.provenance import RowProvenance, are_whole
from harness.outcome import Whose
from harness.stretches import Stretch
from simulators.packed_rows import MOST_POSITIONS, PERIOD, Item, PackedReader, stamped_rows
from simulators.stamp import stamped_ids

SLOTS = 5
READER = RowProvenance(SLOTS, lambda slot: slot)


def rows_of(slot: int, first: int, count: int, width: int = PERIOD) -> torch.Tensor:
    """Return some rows of one item."""
    return stamped_rows(slot, Item(slot, 0, count, first), width)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_read_is_what_a_reader_on_the_host_reads(seed: int, dtype: torch.dtype) -> None:
    """Of rows of several items, in any order, some of them spoiled."""
    rng = Random(seed)
    pieces = [
        rows_of(rng.randrange(SLOTS + 1), rng.randrange(400), rng.randrange(4)) for _ in range(8)
    ]
    rows = torch.cat(pieces).to(dtype)
    for row in range(0, len(rows), 5):
        rows[row, rng.randrange(PERIOD)] = rng.choice([0, 257, float("nan"), 3])
    host = PackedReader([Item(slot, 0, MOST_POSITIONS) for slot in range(SLOTS)])

    assert READER(rows) == host(rows.tolist())


def test_whole_items_are_one_stretch_each() -> None:
    """However near they lie to one another in the table; the unknown are one stretch too."""
    rows = torch.cat(
        [rows_of(0, 0, 1000), rows_of(1, 0, 3), rows_of(1, 5, 2), torch.zeros(4, PERIOD)]
    )

    assert READER.stretches(rows, lambda owner: f"item {owner}") == [
        Stretch(Whose("item 0", 0), 1000),
        Stretch(Whose("item 1", 0), 3),
        Stretch(Whose("item 1", 5), 2),
        Stretch(None, 4),
    ]


def test_the_last_row_of_an_item_does_not_run_on_into_the_next_item() -> None:
    """In the table the one follows the other."""
    last = rows_of(0, MOST_POSITIONS - 1, 1)

    assert READER.runs(torch.cat([last, rows_of(1, 0, 1)])) == [
        (Origin(0, MOST_POSITIONS - 1), 1),
        (Origin(1, 0), 1),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        torch.zeros(3),
        torch.zeros(3, PERIOD - 1),
        torch.zeros(3, 2 * PERIOD),
        torch.zeros(3, 2, PERIOD),
        torch.zeros(3, 0),
    ],
)
def test_what_is_no_matrix_of_the_width_carries_no_stamp(rows: torch.Tensor) -> None:
    """Of any form."""
    assert READER(rows) == [None] * 3


def test_no_rows_are_no_stretch() -> None:
    """Of the right width, or of none."""
    assert READER.runs(torch.zeros(0, PERIOD)) == []


def test_rows_are_read_through_their_strides() -> None:
    """Every second row, and columns that lie apart."""
    rows = rows_of(2, 0, 6)
    apart = torch.stack([rows, rows], dim=2)[:, :, 0]
    assert apart.stride(1) == 2

    assert READER(rows[::2]) == [Origin(2, position) for position in (0, 2, 4)]
    assert READER(apart) == [Origin(2, position) for position in range(6)]


def test_every_column_of_a_wide_row_counts() -> None:
    """A number that changed in the last is seen."""
    reader = RowProvenance(SLOTS, lambda slot: slot, width=1000)
    rows = rows_of(3, 7, 2, 1000)
    assert reader(rows) == [Origin(3, 7), Origin(3, 8)]

    rows[1, 999] += 1
    assert reader(rows) == [Origin(3, 7), None]


#: Of two the owner is the same.
IDS = [Item(7, 0, 900, first=4), Item(7, 1, 900, first=4), Item(9, 0, 30)]
CODES = 16384


def ids_of(item: Item, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Return the ids of one item."""
    ids = stamped_ids(item.owner, item.occurrence, item.first + item.count)[item.first :]
    return torch.tensor(ids, dtype=dtype)


def test_outputs_are_whole_where_every_id_is_its_items() -> None:
    """Of equal owners each its own occurrence."""
    outputs = [ids_of(item) for item in IDS]

    assert are_whole(outputs, IDS, CODES) == [True, True, True]
    assert are_whole([outputs[1], outputs[0], outputs[2]], IDS, CODES) == [False, False, True]
    assert are_whole([ids_of(item, torch.int32) for item in IDS], IDS, CODES) == [True] * 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ids: ids[:-1],
        lambda ids: torch.cat([ids, ids[:1]]),
        lambda ids: ids.roll(1),
        lambda ids: ids.float(),
        lambda ids: ids[None],
        lambda ids: ids.where(torch.arange(len(ids)) != 899, CODES),
        lambda ids: ids[:0],
    ],
)
def test_one_wrong_id_or_another_form_is_not_whole(spoil: Any) -> None:
    """And the other outputs are still told."""
    outputs = [spoil(ids_of(IDS[0])), ids_of(IDS[1]), ids_of(IDS[2])]

    assert are_whole(outputs, IDS, CODES) == [False, True, True]


def test_nothing_to_read_is_nothing_whole() -> None:
    """No outputs, or none of the right form."""
    assert are_whole([], [], CODES) == []
    assert are_whole([torch.zeros(3)], IDS[:1], CODES) == [False]
