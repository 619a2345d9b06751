"""Stamps of the kernels: known ones, those of the twins, and nothing left unwritten."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.contract import Origin
from harness.kernels.items import table_of
from harness.kernels.stamp import (
    ID_DTYPES,
    MOST_CODES,
    ROW_DTYPES,
    stamp_ids,
    stamp_ids_torch,
    stamp_rows,
    stamp_rows_torch,
)
from simulators.packed_rows import Item, PackedReader, digits_of
from simulators.stamp import mix

#: Empty first, between and last; one row; more rows than a program takes; the last positions.
ITEMS = (
    Item(0, 0, 0), Item(7, 1, 5), Item(2**32 - 1, 3, 0), Item(9, 0, 1100, first=70_000),
    Item(7, 0, 1), Item(4, 0, 2, first=2**24 - 2), Item(3, 0, 0),
)  # fmt: skip
RAGGED = st.lists(st.integers(0, 40), max_size=6)
Call = Callable[..., Any]


def items_of(counts: list[int], first: int = 0) -> list[Item]:
    """Return items with so many rows, each of another owner or occurrence."""
    return [
        Item(owner=slot // 2 + 11, occurrence=slot % 2, count=count, first=first * slot)
        for slot, count in enumerate(counts)
    ]


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor of what no stamp is."""
    return torch.full(shape, float("nan") if dtype.is_floating_point else -1, dtype=dtype)


@pytest.mark.parametrize("dtype", ROW_DTYPES, ids=str)
@pytest.mark.parametrize("width", [8, 9, 31, 64])
def test_rows_are_the_digits_of_every_item(
    interpreted: Call, dtype: torch.dtype, width: int
) -> None:
    """Written by hand from the mix in Python, in every dtype, over poison."""
    table = table_of(ITEMS)
    wanted = [
        (digits_of(slot, item, item.first + row) * 8)[:width]
        for slot, item in enumerate(ITEMS)
        for row in range(item.count)
    ]

    for stamped in (
        interpreted(stamp_rows, table, poisoned((table.rows, width), dtype)),
        stamp_rows_torch(table, poisoned((table.rows, width), dtype)),
    ):
        # Lists of Python's floats are compared, so that no arithmetic in the dtype has a part.
        assert stamped.dtype == dtype
        assert stamped.tolist() == [list(row) for row in wanted]


@pytest.mark.parametrize("dtype", ID_DTYPES, ids=str)
@pytest.mark.parametrize("codebook", [1, 1000, 16384, MOST_CODES])
def test_ids_are_the_mix_in_the_codebook(
    interpreted: Call, dtype: torch.dtype, codebook: int
) -> None:
    """Written by hand from the mix in Python, for codebooks that are no power of two as well."""
    table = table_of(ITEMS)
    wanted = [
        mix(item.owner, item.occurrence, item.first + row) % codebook
        for item in ITEMS
        for row in range(item.count)
    ]

    assert interpreted(stamp_ids, table, poisoned((table.rows,), dtype), codebook).tolist() == (
        wanted
    )
    assert stamp_ids_torch(table, poisoned((table.rows,), dtype), codebook).tolist() == wanted


def test_known_vectors_come_out_of_the_kernel(interpreted: Call) -> None:
    """The same as `tests/simulators/test_stamp.py` has, from MurmurHash3's definition."""
    table = table_of([Item(0, 0, 1), Item(1, 2, 4), Item(2**32, 1, 1)])
    ids = interpreted(stamp_ids, table, poisoned((6,), torch.int64), MOST_CODES)

    assert ids[[0, 4]].tolist() == [0, 0x729ABA74]
    assert ids[5] == mix(0, 1, 0) % MOST_CODES


@pytest.mark.parametrize("seed", range(12))
def test_kernel_and_twin_agree_on_random_sizes(interpreted: Call, seed: int) -> None:
    """Any counts, widths below and above what a program takes, any dtype."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(low: int, high: int, count: int = 1) -> list[int]:
        return torch.randint(low, high, (count,), generator=generator).tolist()

    counts = drawn(0, 30, drawn(0, 9)[0])
    width = drawn(8, (16, 200, 1100, 8300)[seed % 4])[0]
    dtype = ROW_DTYPES[seed % len(ROW_DTYPES)]
    table = table_of(items_of(counts, first=drawn(0, 10**6)[0]))

    kernel = interpreted(stamp_rows, table, poisoned((table.rows, width), dtype))

    assert torch.equal(kernel, stamp_rows_torch(table, poisoned((table.rows, width), dtype)))


@settings(deadline=None, max_examples=50)
@given(RAGGED, st.integers(8, 70), st.integers(0, 10**6))
def test_every_row_of_the_twin_is_read_back(counts: list[int], width: int, first: int) -> None:
    """The reader in plain Python finds each row where it belongs."""
    items = items_of(counts, first)
    table = table_of(items)
    rows = stamp_rows_torch(table, torch.empty(table.rows, width, dtype=torch.bfloat16))

    assert PackedReader(items)(rows.tolist()) == [
        Origin(slot, item.first + row)
        for slot, item in enumerate(items)
        for row in range(item.count)
    ]


def test_only_the_rows_are_written(interpreted: Call) -> None:
    """Rows that lie apart: what is between them, before and after stays as it was."""
    table = table_of(items_of([3, 0, 4]))
    for stamp in (interpreted, None):
        room = poisoned((table.rows + 2, 40), torch.float16)
        out = room[1:-1, 5:30]
        # A process of its own returns the view alone, with the storage that it is of.
        out = stamp(stamp_rows, table, out) if stamp else stamp_rows_torch(table, out)
        whole = torch.as_strided(out, (table.rows + 2, 40), (40, 1), 0)

        assert not out.isnan().any()
        assert whole.isnan().sum() == whole.numel() - out.numel()


def test_offsets_beyond_32_bits() -> None:
    """Written and read: the third row begins at number 2**31 + 16, beyond what 32 bits can say.

    The memory between the rows is never touched, so it costs nothing.
    """
    code = """
import torch
from harness.kernels.audit import audit_rows
from harness.kernels.items import table_of
from harness.kernels.stamp import stamp_rows
from simulators.packed_rows import Item
table = table_of([Item(1, 0, 3)])
stride = 2**30 + 8
rows = torch.empty(2 * stride + 8, dtype=torch.float16).as_strided((3, 8), (stride, 1))
print(stamp_rows(table, rows).tolist(), audit_rows(rows, table).counts.tolist())
"""
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    wanted = [[float(digit) for digit in digits_of(0, Item(1, 0, 3), row)] for row in range(3)]
    assert said.stdout == f"{wanted} [[3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]\n"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([Item(1, 0, -1)], "negative"),
        ([Item(1, 0, 1), Item(1 + 2**32, 0, 1)], "2 items have 1 owners"),
        ([Item(1, 0, 2, first=2**24 - 1)], "positions from 16777216 on"),
        ([Item(owner, 0, 0) for owner in range(2**16 + 1)], "65537 items"),
    ],
)
def test_items_that_could_not_be_told_apart_are_refused(items: list[Item], said: str) -> None:
    """Before anything is written."""
    with pytest.raises(ValueError, match=said):
        table_of(items)


@pytest.mark.parametrize("stamp", [stamp_rows, stamp_rows_torch])
@pytest.mark.parametrize(
    ("out", "said"),
    [
        (torch.empty(2, 7), "8 columns or more"),
        (torch.empty(16), "8 columns or more"),
        (torch.empty(2, 8, dtype=torch.float64), "float64"),
        (torch.empty(8, 2).T, "2 apart"),
        (torch.empty(3, 8), "room for 3"),
        (torch.empty(2, 8, device="meta"), "on meta"),
    ],
)
def test_rows_that_cannot_be_written_are_refused(
    stamp: Callable[..., Any], out: torch.Tensor, said: str
) -> None:
    """By the kernel and by its twin alike."""
    with pytest.raises(ValueError, match=said):
        stamp(table_of([Item(1, 0, 2)]), out)


@pytest.mark.parametrize("stamp", [stamp_ids, stamp_ids_torch])
@pytest.mark.parametrize(
    ("out", "codebook", "said"),
    [
        (torch.empty(2, 1, dtype=torch.int64), 9, "contiguous run"),
        (torch.empty(4, dtype=torch.int64)[::2], 9, "contiguous run"),
        (torch.empty(2), 9, "float32"),
        (torch.empty(2, dtype=torch.int64), 0, "not 0"),
        (torch.empty(2, dtype=torch.int64), MOST_CODES + 1, "2147483649"),
        (torch.empty(1, dtype=torch.int64), 9, "room for 1"),
        (torch.empty(2, dtype=torch.int64, device="meta"), 9, "on meta"),
    ],
)
def test_ids_that_cannot_be_written_are_refused(
    stamp: Callable[..., Any], out: torch.Tensor, codebook: int, said: str
) -> None:
    """By the kernel and by its twin alike."""
    with pytest.raises(ValueError, match=said):
        stamp(table_of([Item(1, 0, 2)]), out, codebook)
