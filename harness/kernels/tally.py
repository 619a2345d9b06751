"""What was read of each row, counted per item: how many of each kind, and where the first is.

The counts are added and the places lowered by integer atomics, so they are exact and the same in
every run, in whatever order the programs go.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from harness.kernels.items import ItemTable
from harness.kernels.stamp import slot_at, steps_of

#: What a row can be, by the columns of an audit. The first three and the last are said of a place
#: in the audited tensor, by whose row belongs there: it has that row, another item's, the same
#: item's from another position, or none that can be read. `missing` and `repeated` are said of a
#: row that is expected: it is nowhere, or stands again after its first place.
KINDS = ("right", "foreign", "shifted", "missing", "repeated", "corrupted")
RIGHT, FOREIGN, SHIFTED, MISSING, REPEATED, CORRUPTED = range(len(KINDS))
#: The place of what was never seen.
NEVER = torch.iinfo(torch.int64).max
_ROWS = 1024
_MISSING = tl.constexpr(MISSING)
_REPEATED = tl.constexpr(REPEATED)
_NEVER = tl.constexpr(NEVER)


class Audit(NamedTuple):
    """What became of the rows of each item, on the device where it was read."""

    #: (items + 1, 6) int64, by the columns KINDS. The last row counts what stands after the
    #: places of all items.
    counts: torch.Tensor
    #: (items + 1, 6) int64, the lowest row of the audited tensor of that kind; -1 for none. A
    #: missing row's place is where it belongs.
    first: torch.Tensor


class Reading(NamedTuple):
    """What was read of each row, before it is counted."""

    #: (rows,) int8, one of RIGHT, FOREIGN, SHIFTED, CORRUPTED.
    kinds: torch.Tensor
    #: (rows,) int64, which row of the table it is; -1 for none.
    targets: torch.Tensor
    #: (rows of ours,) int64, the lowest place where each expected row stands; or NEVER.
    seen: torch.Tensor


@triton.jit
def _count(
    counts_ptr: tl.tensor,  # (ours + 1, 6) int64, in and out
    first_ptr: tl.tensor,  # (ours + 1, 6) int64, in and out
    slot: tl.tensor,
    kind: tl.constexpr,
    said: tl.tensor,  # whether it is so, of each row
    row: tl.tensor,
) -> None:
    least = tl.min(slot, axis=0)
    if least == tl.max(slot, axis=0):
        # Rows of one item, as nearly always: they are summed before anything is written.
        count = tl.sum(said.to(tl.int64), axis=0)
        if count > 0:
            tl.atomic_add(counts_ptr + least * 6 + kind, count)
            tl.atomic_min(first_ptr + least * 6 + kind, tl.min(tl.where(said, row, _NEVER), axis=0))
    else:
        one = tl.full(slot.shape, 1, tl.int64)
        tl.atomic_add(counts_ptr + slot * 6 + kind, one, mask=said)
        tl.atomic_min(first_ptr + slot * 6 + kind, row, mask=said)


@triton.jit(do_not_specialize=["rows", "rows_ours", "ours"])
def _tally_kernel(
    counts_ptr: tl.tensor,  # (ours + 1, 6) int64, in and out
    first_ptr: tl.tensor,  # (ours + 1, 6) int64, in and out
    kind_ptr: tl.tensor,  # (rows,) int8, in
    target_ptr: tl.tensor,  # (rows,) int64, in
    seen_ptr: tl.tensor,  # (rows_ours,) int64, in
    offset_ptr: tl.tensor,  # (slots + 1,) int64, in
    rows: tl.tensor,
    rows_ours: tl.tensor,
    ours: tl.tensor,
    STEPS: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
) -> None:
    """One program counts ROWS places, and the expected rows that belong there."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    slot = slot_at(row, offset_ptr, ours, STEPS)
    kind = tl.load(kind_ptr + row, mask=there, other=-1)
    for said in tl.static_range(6):
        if said != _MISSING and said != _REPEATED:
            _count(counts_ptr, first_ptr, slot, said, kind == said, row)
    # Where fewer rows came than are expected, there are expected rows beyond the last.
    seen = tl.load(seen_ptr + row, mask=row < rows_ours, other=0)
    _count(counts_ptr, first_ptr, slot, _MISSING, seen == _NEVER, row)
    target = tl.load(target_ptr + row, mask=there, other=-1)
    expected = (target >= 0) & (target < rows_ours)
    target = tl.where(expected, target, 0)
    earliest = tl.load(seen_ptr + target, mask=expected, other=0)
    again = expected & (earliest != row)
    if tl.max(again.to(tl.int32), axis=0) > 0:
        _count(
            counts_ptr, first_ptr, slot_at(target, offset_ptr, ours, STEPS), _REPEATED, again, row
        )


def tallied(reading: Reading, table: ItemTable) -> Audit:
    """Return the counts and first places of what was read, by a kernel."""
    counts, first = _blank(table)
    rows = reading.kinds.numel()
    places = max(rows, table.rows_ours)
    if places:
        _tally_kernel[(triton.cdiv(places, _ROWS),)](
            counts, first, reading.kinds, reading.targets, reading.seen, table.offsets,
            rows, table.rows_ours, table.ours, STEPS=steps_of(table.ours), ROWS=_ROWS,
        )  # fmt: skip
    return Audit(counts, first.where(first != NEVER, -1))


def tallied_torch(kinds: torch.Tensor, targets: torch.Tensor, table: ItemTable) -> Audit:
    """Return what `tallied` returns, in eager torch, from kinds and targets alone."""
    counts, first = _blank(table)
    rows = torch.arange(kinds.numel(), device=table.device)
    slots = slots_of_places(kinds.numel(), table)

    def count(slots: torch.Tensor, kind: int | torch.Tensor, rows: torch.Tensor) -> None:
        cells = slots * len(KINDS) + kind
        counts.view(-1).scatter_add_(0, cells, torch.ones_like(cells))
        first.view(-1).scatter_reduce_(0, cells, rows, "amin")

    count(slots, kinds.long(), rows)
    # Stably sorted by which row it is, an expected row follows itself where it is repeated.
    ours = (targets >= 0) & (targets < table.rows_ours)
    sorted_targets, order = targets[ours].sort(stable=True)
    again = torch.zeros_like(sorted_targets, dtype=torch.bool)
    again[1:] = sorted_targets[1:] == sorted_targets[:-1]
    expected = slots_of_places(table.rows_ours, table)
    count(expected[sorted_targets[again]], REPEATED, rows[ours][order[again]])
    lost = torch.ones(table.rows_ours, dtype=torch.bool, device=table.device)
    lost[sorted_targets] = False
    missing = lost.nonzero().view(-1)
    count(expected[missing], MISSING, missing)
    return Audit(counts, first.where(first != NEVER, -1))


def slots_of_places(places: int, table: ItemTable) -> torch.Tensor:
    """Return whose row belongs at each place, (places,) int64; `ours` after all items."""
    counts = table.offsets[: table.ours + 1].diff()
    slots = torch.arange(table.ours, device=table.device)
    slots = slots.repeat_interleave(counts, output_size=table.rows_ours)[:places]
    return torch.nn.functional.pad(slots, (0, places - slots.numel()), value=table.ours)


def _blank(table: ItemTable) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (table.ours + 1, len(KINDS))
    counts = torch.zeros(shape, dtype=torch.int64, device=table.device)
    return counts, torch.full(shape, NEVER, dtype=torch.int64, device=table.device)
