"""Whose rows and ids a tensor holds, read on its device: only stretches come to the host.

A row is read as `harness.kernels.audit` reads it: by its kernel on a card, by the kernel's twin
in eager torch elsewhere. So a million rows of a model's width cost one pass over them, and an
output that is whole comes to the host as one stretch an item. Ids of a codebook say less: whether
all of an output are as they should be is told on the device, and only what is not is looked at
on the host.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from contracts.contract import Origin
from harness.kernels.items import ItemTable, table_of
from harness.outcome import Whose
from harness.stretches import Stretch
from simulators.packed_rows import MOST_POSITIONS, PERIOD, Item, decoded
from simulators.stamp import mix_torch

#: Bits of the mix that a row holds.
_MIX = (1 << 24) - 1
#: Names the owner of the item in a slot, as a contract knows it.
Named = Callable[[int], int | str]


class RowProvenance:
    """Reads whose rows a tensor holds, among items that are known by their slots.

    Args:
        slots: How many items there are; item s has owner s and occurrence 0, as its rows say.
        named: Names the owner of the item in a slot.
        width: Columns that a row has; what has another number of them carries no known stamp.
    """

    def __init__(self, slots: int, named: Named, width: int = PERIOD) -> None:
        self._slots = slots
        self._named = named
        self._width = width

    def stretches(self, rows: torch.Tensor, called: Callable[[int | str], str]) -> list[Stretch]:
        """Return the provenance of rows, (any count, width) on any device.

        Args:
            rows: A tensor of any dtype; what is no tensor of rows carries no known stamp.
            called: Says an owner in words.
        """
        return [
            Stretch(None if origin is None else Whose(called(origin.owner), origin.position), count)
            for origin, count in self.runs(rows)
        ]

    def __call__(self, rows: Any) -> list[Origin | None]:
        """Return the origin of each row, of a tensor or a list; None for no known stamp."""
        if not isinstance(rows, torch.Tensor):
            rows = torch.tensor(rows)
        origins: list[Origin | None] = []
        for origin, count in self.runs(rows):
            if origin is None:
                origins += [None] * count
            else:
                owner, first = origin
                origins += [Origin(owner, first + place) for place in range(count)]
        return origins

    def runs(self, rows: torch.Tensor) -> list[tuple[Origin | None, int]]:
        """Return the origin of the first row of each run of one item, and how many follow it."""
        count = len(rows)
        if rows.ndim != 2 or rows.shape[1] != self._width or not count:
            return [(None, count)] if count else []
        targets = (_targets if rows.is_cuda else targets_torch)(rows, self._slots)
        # A run goes on while the next row is the next of the same item, or neither is known.
        goes_on = (targets[1:] == targets[:-1] + 1) & (targets[:-1] >= 0)
        goes_on |= (targets[1:] < 0) & (targets[:-1] < 0)
        goes_on &= (targets[1:] % MOST_POSITIONS != 0) | (targets[1:] < 0)
        begins = torch.nn.functional.pad(~goes_on, (1, 0), value=True).nonzero().flatten()
        firsts = begins.tolist()
        ends = [*firsts[1:], count]
        return [
            (self._origin(target), end - begin)
            for target, begin, end in zip(targets[begins].tolist(), firsts, ends, strict=True)
        ]

    def _origin(self, target: int) -> Origin | None:
        if target < 0:
            return None
        slot, position = divmod(target, MOST_POSITIONS)
        return Origin(self._named(slot), position)


def targets_torch(rows: torch.Tensor, slots: int) -> torch.Tensor:
    """Return which row of all that could be each row is, (count,) int64; -1 for none.

    Row p of the item in slot s is s * MOST_POSITIONS + p. In eager torch on any device.
    """
    of, positions, mixes, known = decoded(rows)
    known &= (of < slots) & (mix_torch(of, 0, positions) & _MIX == mixes)
    return (of * MOST_POSITIONS + positions).where(known, -1)


def _targets(rows: torch.Tensor, slots: int) -> torch.Tensor:
    # Triton is imported where there is a card for it.
    from harness.kernels.audit import read_rows
    from harness.kernels.stamp import ROW_DTYPES

    # A digit is exact in every dtype.
    fit = rows if rows.dtype in ROW_DTYPES else rows.float()
    return read_rows(fit if fit.stride(1) == 1 else fit.contiguous(), known(slots, rows.device))[1]


@lru_cache(maxsize=8)
def known(slots: int, device: torch.device) -> ItemTable:
    """Return the table of all rows that could be: none is expected, each has its own target."""
    every: Sequence[Item] = [Item(slot, 0, MOST_POSITIONS) for slot in range(slots)]
    return table_of([], every, device)


def are_whole(outputs: Sequence[torch.Tensor], items: Sequence[Item], codebook: int) -> list[bool]:
    """Return for each output whether its ids are those of its item, all and in order.

    Args:
        outputs: Ids, (count,) each, int32 or int64, on one device; what has another form is not
            whole.
        items: Whose each output should be.
        codebook: The one that ids are stamped with.
    """
    from harness.kernels.audit_ids import audit_ids, audit_ids_torch
    from harness.kernels.stamp import ID_DTYPES
    from harness.kernels.tally import RIGHT

    fit = [
        place
        for place, (ids, item) in enumerate(zip(outputs, items, strict=True))
        if tuple(ids.shape) == (item.count,) and ids.dtype in ID_DTYPES and item.count
    ]
    whole = [False] * len(outputs)
    if not fit:
        return whole
    ids = torch.cat([outputs[place] for place in fit])
    ours = [items[place] for place in fit]
    audited = audit_ids if ids.is_cuda else audit_ids_torch
    right = audited(ids, table_of(ours, device=ids.device), codebook).counts[:-1, RIGHT]
    for place, item, count in zip(fit, ours, right.tolist(), strict=True):
        whole[place] = count == item.count
    return whole
