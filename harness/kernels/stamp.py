"""Stamps written on the device: rows of any width, or ids of a codebook, packed item by item.

A row is made as `simulators.packed_rows` says, an id is the stamp modulo the codebook. Both come
from the mix of `simulators.stamp`. Rows are counted in 64 bits: 262,145 rows of 8,192 columns
are more numbers than 32 bits can tell apart.
"""

import torch
import triton
import triton.language as tl

from harness.kernels.items import ItemTable
from simulators.packed_rows import PERIOD
from simulators.stamp import mix_torch

#: What a row may consist of; the digits are exact in each.
ROW_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64)
ID_DTYPES = (torch.int32, torch.int64)
#: Two neighbours' ids fit into 63 bits together.
MOST_CODES = 1 << 31
#: Periods of columns, and ids, that one program has to do with.
_PERIODS = 1024
_IDS = 1024


@triton.jit
def _finalised(value: tl.tensor) -> tl.tensor:
    # MurmurHash3's, in uint32.
    value = (value ^ (value >> 16)) * 0x85EBCA6B
    value = (value ^ (value >> 13)) * 0xC2B2AE35
    return value ^ (value >> 16)


@triton.jit
def mixed(owner: tl.tensor, occurrence: tl.tensor, position: tl.tensor) -> tl.tensor:
    """Return the stamp of each, uint32; the arguments are integers of any width, in a kernel."""
    sequence = _finalised(owner.to(tl.uint32)) + occurrence.to(tl.uint32) * 0x9E3779B9
    return _finalised(_finalised(sequence) + position.to(tl.uint32) * 0x9E3779B9)


@triton.jit
def slot_at(
    row: tl.tensor,  # int64
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    slots: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
) -> tl.tensor:
    """Return the item that each row is of, in a kernel; `slots` for a row after them all.

    STEPS is the number of bits of `slots`, or more.
    """
    low = row * 0
    high = low + slots
    for _ in range(STEPS):
        middle = (low + high + 1) >> 1
        # The last item that begins here is the one that has the row: others are empty.
        begun = tl.load(offset_ptr + middle) <= row
        low = tl.where(begun, middle, low)
        high = tl.where(begun, high, middle - 1)
    return low


@triton.jit(do_not_specialize=["rows", "slots"])
def _stamp_rows_kernel(
    out_ptr: tl.tensor,  # (rows, width) of one of ROW_DTYPES, out
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    owner_ptr: tl.tensor,  # (slots,) int64, in
    occurrence_ptr: tl.tensor,  # (slots,) int64, in
    first_ptr: tl.tensor,  # (slots,) int64, in
    rows: tl.tensor,
    width: tl.tensor,
    stride: tl.tensor,  # numbers from row to row
    slots: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    PERIODS: tl.constexpr,  # noqa: N803
) -> None:
    """One program writes ROWS rows, in PERIODS times eight columns."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    slot = slot_at(row, offset_ptr, slots, STEPS)
    # The last program has rows beyond the last item, and their slot has no owner.
    owner = tl.load(owner_ptr + slot, mask=there, other=0)
    occurrence = tl.load(occurrence_ptr + slot, mask=there, other=0)
    first = tl.load(first_ptr + slot, mask=there, other=0)
    position = first + row - tl.load(offset_ptr + slot)
    check = mixed(owner, occurrence, position)
    # The eight digits as two words.
    position = position.to(tl.uint32)
    low = slot.to(tl.uint32) | (position << 16)
    high = ((position >> 16) & 255) | (check << 8)
    place = tl.arange(0, 8)[None, None, :]
    word = tl.where(place < 4, low[:, None, None], high[:, None, None])
    digit = ((word >> ((place & 3) * 8).to(tl.uint32)) & 255).to(tl.int32) + 1
    # Each digit is made once and stored PERIODS times.
    period = tl.program_id(1) * PERIODS + tl.arange(0, PERIODS)
    column = period[None, :, None] * 8 + place
    number = digit.to(tl.float32).to(out_ptr.dtype.element_ty)
    number = tl.broadcast_to(number, (ROWS, PERIODS, 8))
    # Rows end at `rows`, columns at `width`, which need not fill a period.
    written = there[:, None, None] & (column < width)
    tl.store(out_ptr + row[:, None, None] * stride + column, number, mask=written)


@triton.jit(do_not_specialize=["rows", "codebook", "slots"])
def _stamp_ids_kernel(
    out_ptr: tl.tensor,  # (rows,) int32 or int64, out
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    owner_ptr: tl.tensor,  # (slots,) int64, in
    occurrence_ptr: tl.tensor,  # (slots,) int64, in
    first_ptr: tl.tensor,  # (slots,) int64, in
    rows: tl.tensor,
    codebook: tl.tensor,
    slots: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
    IDS: tl.constexpr,  # noqa: N803
) -> None:
    """One program writes IDS neighbouring ids."""
    row = tl.program_id(0).to(tl.int64) * IDS + tl.arange(0, IDS)
    there = row < rows
    slot = slot_at(row, offset_ptr, slots, STEPS)
    owner = tl.load(owner_ptr + slot, mask=there, other=0)
    occurrence = tl.load(occurrence_ptr + slot, mask=there, other=0)
    first = tl.load(first_ptr + slot, mask=there, other=0)
    position = first + row - tl.load(offset_ptr + slot)
    code = mixed(owner, occurrence, position).to(tl.int64) % codebook
    tl.store(out_ptr + row, code.to(out_ptr.dtype.element_ty), mask=there)


def steps_of(count: int) -> int:
    """Return the steps of a search among so many; few numbers, since each compiles a kernel."""
    return 8 * max(1, -(-count.bit_length() // 8))


def tile_of(width: int) -> tuple[int, int]:
    """Return how many rows, and periods of columns, one program has to do with."""
    periods = min(_PERIODS, triton.next_power_of_2(triton.cdiv(width, PERIOD)))
    return _PERIODS // periods, periods


def stamp_rows(table: ItemTable, out: torch.Tensor) -> torch.Tensor:
    """Write the rows of all items of a table, one item after the other.

    Args:
        table: Whose, on the device of `out`.
        out: (rows, width), written and returned; a number follows its left neighbour at once,
            rows may lie further apart.

    Raises:
        ValueError: if `out` has another form, or a dtype that is not one of ROW_DTYPES.
    """
    check_rows(out, table)
    _check_room(out, table)
    rows, width = out.shape
    tall, periods = tile_of(width)
    if rows:
        grid = (triton.cdiv(rows, tall), triton.cdiv(width, PERIOD * periods))
        _stamp_rows_kernel[grid](
            out, table.offsets, table.owners, table.occurrences, table.firsts,
            rows, width, out.stride(0), table.slots,
            STEPS=steps_of(table.slots), ROWS=tall, PERIODS=periods,
        )  # fmt: skip
    return out


def stamp_rows_torch(table: ItemTable, out: torch.Tensor) -> torch.Tensor:
    """Write what `stamp_rows` writes, in eager torch on any device."""
    check_rows(out, table)
    _check_room(out, table)
    slots, positions, stamps = _packed(table)
    word = slots | positions << 16 | (stamps & 0xFFFFFF) << 40
    shifts = 8 * torch.arange(PERIOD, device=out.device)
    digits = ((word[:, None] >> shifts) & 255) + 1
    times = -(-out.shape[1] // PERIOD)
    out.copy_(digits.to(out.dtype).repeat(1, times)[:, : out.shape[1]])
    return out


def stamp_ids(table: ItemTable, out: torch.Tensor, codebook: int) -> torch.Tensor:
    """Write the ids of all items of a table, one item after the other.

    Args:
        table: Whose, on the device of `out`.
        out: (rows,), int32 or int64, contiguous; written and returned.
        codebook: Ids are below it.

    Raises:
        ValueError: if `out` has another form or dtype, or a codebook has no or too many codes.
    """
    check_ids(out, table, codebook)
    _check_room(out, table)
    if table.rows:
        _stamp_ids_kernel[(triton.cdiv(table.rows, _IDS),)](
            out, table.offsets, table.owners, table.occurrences, table.firsts,
            table.rows, codebook, table.slots, STEPS=steps_of(table.slots), IDS=_IDS,
        )  # fmt: skip
    return out


def stamp_ids_torch(table: ItemTable, out: torch.Tensor, codebook: int) -> torch.Tensor:
    """Write what `stamp_ids` writes, in eager torch on any device."""
    check_ids(out, table, codebook)
    _check_room(out, table)
    out.copy_(_packed(table)[2] % codebook)
    return out


def _packed(table: ItemTable) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return slot, position and stamp of each row of a table, (rows,) int64 each."""
    slots = torch.arange(table.slots, device=table.device)
    slots = slots.repeat_interleave(table.offsets.diff(), output_size=table.rows)
    begun = (table.offsets[:-1] - table.firsts)[slots]
    positions = torch.arange(table.rows, device=table.device) - begun
    return slots, positions, mix_torch(table.owners[slots], table.occurrences[slots], positions)


def _check_room(out: torch.Tensor, table: ItemTable) -> None:
    if out.shape[0] != table.rows:
        raise ValueError(f"{table.rows} rows are stamped, and there is room for {out.shape[0]}")


def check_rows(rows: torch.Tensor, table: ItemTable) -> None:
    """Raise ValueError for rows that no kernel here can read or write."""
    if rows.ndim != 2 or rows.shape[1] < PERIOD:
        raise ValueError(f"rows of {PERIOD} columns or more are wanted, not {tuple(rows.shape)}")
    if rows.dtype not in ROW_DTYPES:
        raise ValueError(f"no row is of {rows.dtype}")
    if rows.stride(1) != 1:
        raise ValueError(f"the numbers of a row lie {rows.stride(1)} apart")
    if rows.device != table.device:
        raise ValueError(f"rows on {rows.device}, and their table on {table.device}")


def check_ids(ids: torch.Tensor, table: ItemTable, codebook: int) -> None:
    """Raise ValueError for ids that no kernel here can read or write."""
    if ids.ndim != 1 or not ids.is_contiguous():
        raise ValueError(f"a contiguous run of ids is wanted, not {tuple(ids.shape)}")
    if ids.dtype not in ID_DTYPES:
        raise ValueError(f"no id is of {ids.dtype}")
    if not 1 <= codebook <= MOST_CODES:
        raise ValueError(f"a codebook has 1 to {MOST_CODES} codes, not {codebook}")
    if ids.device != table.device:
        raise ValueError(f"ids on {ids.device}, and their table on {table.device}")
