"""Ids that have gone through a consumer, read once on the device: whose each is, as far as known.

An id of a codebook is not unique, so a lone one says nothing of whose it is. What holds here:

- An id that equals the expected one is right; another's id does so by chance once per codebook.
- Else the id is looked up together with the next one, and if such a pair is nowhere in the
  table, with the one before it. A pair that is there several times is taken as the first of them.
- An id in no known pair is corrupted: alone among right ones, another item's id reads the same.
  The row that belongs there is then missing.
"""

import torch
import triton
import triton.language as tl

from harness.kernels.items import ItemTable
from harness.kernels.stamp import check_ids, slot_at, stamp_ids, stamp_ids_torch, steps_of
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

_RIGHT = tl.constexpr(RIGHT)
_FOREIGN = tl.constexpr(FOREIGN)
_SHIFTED = tl.constexpr(SHIFTED)
_CORRUPTED = tl.constexpr(CORRUPTED)
_IDS = 1024


@triton.jit
def _pair_at(
    key: tl.tensor,  # int64, -1 for no pair
    key_ptr: tl.tensor,  # (pairs,) int64, ascending, in
    order_ptr: tl.tensor,  # (pairs,) int64, in
    pairs: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
) -> tl.tensor:
    # The first row of each pair in the table, or -1. STEPS is the number of bits of `pairs`, or
    # more.
    low = key * 0
    high = low + pairs
    for _ in range(STEPS):
        middle = (low + high) >> 1
        searching = low < high
        less = tl.load(key_ptr + middle, mask=searching, other=0) < key
        low = tl.where(searching & less, middle + 1, low)
        high = tl.where(searching & (less == 0), middle, high)
    inside = (low < pairs) & (key >= 0)
    found = inside & (tl.load(key_ptr + low, mask=inside, other=-1) == key)
    return tl.where(found, tl.load(order_ptr + low, mask=found, other=0), -1)


@triton.jit(do_not_specialize=["rows", "codebook", "pairs", "rows_ours", "ours", "slots"])
def _read_ids_kernel(
    ids_ptr: tl.tensor,  # (rows,) int32 or int64, in
    kind_ptr: tl.tensor,  # (rows,) int8, out
    target_ptr: tl.tensor,  # (rows,) int64, out
    seen_ptr: tl.tensor,  # (rows_ours,) int64, in and out
    honest_ptr: tl.tensor,  # (rows of the table,) int64, in
    key_ptr: tl.tensor,  # (pairs,) int64, ascending, in
    order_ptr: tl.tensor,  # (pairs,) int64, in
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    rows: tl.tensor,
    codebook: tl.tensor,
    pairs: tl.tensor,
    rows_ours: tl.tensor,
    ours: tl.tensor,
    slots: tl.tensor,
    PAIR_STEPS: tl.constexpr,  # noqa: N803
    STEPS: tl.constexpr,  # noqa: N803
    IDS: tl.constexpr,  # noqa: N803
) -> None:
    """One program reads IDS neighbouring ids."""
    row = tl.program_id(0).to(tl.int64) * IDS + tl.arange(0, IDS)
    there = row < rows
    # Before the first id and after the last there is none, which is in no pair.
    here = tl.load(ids_ptr + row, mask=there, other=-1).to(tl.int64)
    after = tl.load(ids_ptr + row + 1, mask=row + 1 < rows, other=-1).to(tl.int64)
    before = tl.load(ids_ptr + row - 1, mask=there & (row > 0), other=-1).to(tl.int64)
    honest = tl.load(honest_ptr + row, mask=there & (row < rows_ours), other=-2)
    right = here == honest
    here_is = (here >= 0) & (here < codebook)
    after_is = here_is & (after >= 0) & (after < codebook)
    before_is = here_is & (before >= 0) & (before < codebook)
    with_after = _pair_at(
        tl.where(after_is, here * codebook + after, -1), key_ptr, order_ptr, pairs, PAIR_STEPS
    )
    with_before = _pair_at(
        tl.where(before_is, before * codebook + here, -1), key_ptr, order_ptr, pairs, PAIR_STEPS
    )
    found = tl.where(with_before >= 0, with_before + 1, -1)
    found = tl.where(with_after >= 0, with_after, found)
    target = tl.where(right, row, found)
    slot = slot_at(tl.where(target >= 0, target, 0), offset_ptr, slots, STEPS)
    # After the places of ours every id is foreign, and the first of others would have that slot.
    mine = (slot == slot_at(row, offset_ptr, ours, STEPS)) & (slot < ours)
    kind = tl.where(right, _RIGHT, tl.where(mine, _SHIFTED, _FOREIGN))
    kind = tl.where(target >= 0, kind, _CORRUPTED)
    tl.store(kind_ptr + row, kind.to(tl.int8), mask=there)
    tl.store(target_ptr + row, target, mask=there)
    tl.atomic_min(seen_ptr + target, row, mask=there & (target >= 0) & (target < rows_ours))


def audit_ids(ids: torch.Tensor, table: ItemTable, codebook: int) -> Audit:
    """Return what became of the ids of our items, without waiting for the device.

    Args:
        ids: (any count,), int32 or int64, contiguous, as a consumer has left them.
        table: Whose are expected, and whose else might be there; on the same device.
        codebook: The one that the ids were stamped with. What lies outside of it is corrupted.

    Raises:
        ValueError: if `ids` has another form or dtype, or a codebook has no or too many codes.
    """
    check_ids(ids, table, codebook)
    honest = torch.empty(table.rows, dtype=torch.int64, device=table.device)
    honest = stamp_ids(table, honest, codebook)
    keys, order = _pairs(honest, codebook)
    count = ids.numel()
    reading = Reading(
        kinds=torch.empty(count, dtype=torch.int8, device=ids.device),
        targets=torch.empty(count, dtype=torch.int64, device=ids.device),
        seen=torch.full((table.rows_ours,), NEVER, dtype=torch.int64, device=ids.device),
    )
    if count:
        _read_ids_kernel[(triton.cdiv(count, _IDS),)](
            ids, *reading, honest, keys, order, table.offsets,
            count, codebook, keys.numel(), table.rows_ours, table.ours, table.slots,
            PAIR_STEPS=steps_of(keys.numel()), STEPS=steps_of(table.slots), IDS=_IDS,
        )  # fmt: skip
    return tallied(reading, table)


def audit_ids_torch(ids: torch.Tensor, table: ItemTable, codebook: int) -> Audit:
    """Return what `audit_ids` returns, in eager torch on any device."""
    check_ids(ids, table, codebook)
    honest = torch.empty(table.rows, dtype=torch.int64, device=table.device)
    honest = stamp_ids_torch(table, honest, codebook)
    keys, order = _pairs(honest, codebook)
    count = ids.numel()
    # Widened first: int32 cannot be compared with a codebook of 2**31.
    codes = ids.long()
    codes = codes.where((codes >= 0) & (codes < codebook), -1)
    whole = (codes[:-1] >= 0) & (codes[1:] >= 0)
    wanted = (codes[:-1] * codebook + codes[1:]).where(whole, -1)
    places = torch.searchsorted(keys, wanted)
    padded = torch.nn.functional.pad(keys, (0, 1), value=-2)[places]
    pairs = torch.nn.functional.pad(order, (0, 1))[places].where(padded == wanted, -1)
    targets = torch.full((count,), -1, dtype=torch.int64, device=ids.device)
    # With the one before, and over it with the next, which goes first.
    targets[1:] = (pairs + 1).where(pairs >= 0, -1)
    targets[:-1] = pairs.where(pairs >= 0, targets[:-1])
    reach = min(count, table.rows_ours)
    right = torch.zeros(count, dtype=torch.bool, device=ids.device)
    right[:reach] = ids[:reach] == honest[:reach]
    targets = torch.arange(count, device=ids.device).where(right, targets)
    every = torch.arange(table.slots, device=ids.device)
    every = every.repeat_interleave(table.offsets.diff(), output_size=table.rows)
    slots = torch.nn.functional.pad(every, (0, 1))[targets]
    kinds = torch.full((count,), FOREIGN, dtype=torch.int8, device=ids.device)
    kinds[(slots == slots_of_places(count, table)) & (slots < table.ours)] = SHIFTED
    kinds[right] = RIGHT
    kinds[targets < 0] = CORRUPTED
    return tallied_torch(kinds, targets, table)


def _pairs(honest: torch.Tensor, codebook: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the keys of all neighbours, ascending, and the row of the first of each pair."""
    sorted_keys, order = (honest[:-1] * codebook + honest[1:]).sort(stable=True)
    return sorted_keys, order
