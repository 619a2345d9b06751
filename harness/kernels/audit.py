"""Rows that have gone through a consumer, read once on the device: whose each is, and what of it.

A row names its item and its position itself, so nothing is searched. It counts as read when every
column agrees with the first eight, and their digits hold the mix of that item and that position.
24 bits of the mix are in a row: one in 16 million invented rows would pass.
"""

import torch
import triton
import triton.language as tl

from harness.kernels.items import ItemTable
from harness.kernels.stamp import check_rows, mixed, slot_at, steps_of, tile_of
from harness.kernels.tally import (
    CORRUPTED,
    FOREIGN,
    NEVER,
    RIGHT,
    SHIFTED,
    Audit,
    Reading,
    slots_of_places,
    tallied,
    tallied_torch,
)
from simulators.packed_rows import PERIOD, decoded
from simulators.stamp import mix_torch

_RIGHT = tl.constexpr(RIGHT)
_FOREIGN = tl.constexpr(FOREIGN)
_SHIFTED = tl.constexpr(SHIFTED)
_CORRUPTED = tl.constexpr(CORRUPTED)


@triton.jit(do_not_specialize=["rows", "rows_ours", "ours", "slots"])
def _read_rows_kernel(
    rows_ptr: tl.tensor,  # (rows, width) of one of ROW_DTYPES, in
    kind_ptr: tl.tensor,  # (rows,) int8, out
    target_ptr: tl.tensor,  # (rows,) int64, out
    seen_ptr: tl.tensor,  # (rows_ours,) int64, in and out
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    owner_ptr: tl.tensor,  # (slots,) int64, in
    occurrence_ptr: tl.tensor,  # (slots,) int64, in
    first_ptr: tl.tensor,  # (slots,) int64, in
    rows: tl.tensor,
    width: tl.tensor,
    stride: tl.tensor,  # numbers from row to row
    rows_ours: tl.tensor,
    ours: tl.tensor,
    slots: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    PERIODS: tl.constexpr,  # noqa: N803
    BLOCKS: tl.constexpr,  # noqa: N803
) -> None:
    """One program reads ROWS rows whole, in BLOCKS steps of PERIODS times eight columns."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    begin = rows_ptr + row * stride
    place = tl.arange(0, 8)
    # The digits are compared as float32, which holds them; bfloat16 itself is not computed with.
    head = tl.load(begin[:, None] + place[None, :], mask=there[:, None], other=0).to(tl.float32)
    digits = (head >= 1) & (head <= 256)
    digit = tl.where(digits, head, 1.0).to(tl.int32)
    digits = digits & (digit.to(tl.float32) == head)
    differs = tl.zeros((ROWS, PERIODS, 8), tl.int32)
    for block in range(BLOCKS):
        period = block * PERIODS + tl.arange(0, PERIODS)
        column = period[None, :, None] * 8 + place[None, None, :]
        # Rows end at `rows`, columns at `width`, which need not fill a period.
        inside = there[:, None, None] & (column < width)
        number = tl.load(begin[:, None, None] + column, mask=inside, other=0).to(tl.float32)
        differs = differs | ((number != head[:, None, :]) & inside).to(tl.int32)
    agree = tl.max(tl.max(differs, axis=2), axis=1) == 0
    exact = tl.min(digits.to(tl.int32), axis=1) == 1
    # The digits, put together again.
    shift = tl.where(place < 2, place, tl.where(place < 5, place - 2, place - 5)) * 8
    value = (digit - 1) << shift[None, :]
    slot = tl.sum(tl.where(place[None, :] < 2, value, 0), axis=1)
    middle = (place >= 2) & (place < 5)
    position = tl.sum(tl.where(middle[None, :], value, 0), axis=1)
    check = tl.sum(tl.where(place[None, :] >= 5, value, 0), axis=1)
    # A slot beyond the table has no owner, and no row of it is known.
    known = there & agree & exact & (slot < slots)
    owner = tl.load(owner_ptr + slot, mask=known, other=0)
    occurrence = tl.load(occurrence_ptr + slot, mask=known, other=0)
    stamp = (mixed(owner, occurrence, position) & 0xFFFFFF).to(tl.int32)
    known = known & (stamp == check)
    # Which row of the table it is, if the table has it at all.
    first = tl.load(first_ptr + slot, mask=known, other=0)
    offset = tl.load(offset_ptr + slot, mask=known, other=0)
    target = offset + position - first
    end = tl.load(offset_ptr + slot + 1, mask=known, other=0)
    target = tl.where(known & (position >= first) & (target < end), target, -1)
    # After the places of ours every row is foreign, and the first of others would have that slot.
    mine = (slot == slot_at(row, offset_ptr, ours, STEPS)) & (slot < ours)
    kind = tl.where(mine, tl.where(target == row, _RIGHT, _SHIFTED), _FOREIGN)
    kind = tl.where(known, kind, _CORRUPTED)
    tl.store(kind_ptr + row, kind.to(tl.int8), mask=there)
    tl.store(target_ptr + row, target, mask=there)
    tl.atomic_min(seen_ptr + target, row, mask=(target >= 0) & (target < rows_ours))


def audit_rows(rows: torch.Tensor, table: ItemTable) -> Audit:
    """Return what became of the rows of our items, without waiting for the device.

    Args:
        rows: (any count, width), as a consumer has left them: those of item 0 first, if all went
            well. One of ROW_DTYPES; a number follows its left neighbour at once.
        table: Whose rows are expected, and whose else might be there; on the same device.

    Raises:
        ValueError: if `rows` has another form or dtype.
    """
    return tallied(read_rows(rows, table), table)


def read_rows(rows: torch.Tensor, table: ItemTable) -> Reading:
    """Return what each row is, before it is counted; for the arguments see `audit_rows`."""
    check_rows(rows, table)
    count, width = rows.shape
    reading = Reading(
        kinds=torch.empty(count, dtype=torch.int8, device=rows.device),
        targets=torch.empty(count, dtype=torch.int64, device=rows.device),
        seen=torch.full((table.rows_ours,), NEVER, dtype=torch.int64, device=rows.device),
    )
    tall, periods = tile_of(width)
    if count:
        _read_rows_kernel[(triton.cdiv(count, tall),)](
            rows, *reading, table.offsets, table.owners, table.occurrences, table.firsts,
            count, width, rows.stride(0), table.rows_ours, table.ours, table.slots,
            STEPS=steps_of(table.ours), ROWS=tall, PERIODS=periods,
            BLOCKS=triton.cdiv(width, PERIOD * periods),
        )  # fmt: skip
    return reading


def audit_rows_torch(rows: torch.Tensor, table: ItemTable) -> Audit:
    """Return what `audit_rows` returns, in eager torch on any device."""
    targets, known, slots = _read_torch(rows, table)
    places = torch.arange(len(rows), device=rows.device)
    kinds = torch.full((len(rows),), CORRUPTED, dtype=torch.int8, device=rows.device)
    kinds[known] = FOREIGN
    mine = known & (slots == slots_of_places(len(rows), table)) & (slots < table.ours)
    kinds[mine] = SHIFTED
    kinds[mine & (targets == places)] = RIGHT
    return tallied_torch(kinds, targets, table)


def _read_torch(
    rows: torch.Tensor, table: ItemTable
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return of each row which one of the table it is, whether it is known, and its slot."""
    check_rows(rows, table)
    slots, positions, mixes, known = decoded(rows)
    known &= slots < table.slots
    # What is unknown is looked up behind the last item: there need not be a first.
    begins, ends = table.offsets[:-1], table.offsets[1:]
    columns = torch.stack((table.owners, table.occurrences, table.firsts, begins, ends))
    columns = torch.nn.functional.pad(columns, (0, 1))[:, slots.where(known, table.slots)]
    owners, occurrences, firsts, begins, ends = columns
    known &= mix_torch(owners, occurrences, positions) & 0xFFFFFF == mixes
    targets = begins + positions - firsts
    targets = targets.where(known & (targets >= begins) & (targets < ends), -1)
    return targets, known, slots
