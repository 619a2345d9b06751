"""The items of a packed tensor, checked once and laid out where the kernels read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch

from simulators.packed_rows import MOST_ITEMS, MOST_POSITIONS, Item


@dataclass(frozen=True)
class ItemTable:
    """Items by their slots: first those whose rows are expected, then those of others."""

    #: How many slots are ours: their rows are expected, in this order.
    ours: int
    #: Rows of ours, and of all.
    rows_ours: int
    rows: int
    #: Row at which each item begins, and the end of the last: (slots + 1,) int64.
    offsets: torch.Tensor
    #: Of each item, (slots,) int64: owner and occurrence below 2**32, position of its first row.
    owners: torch.Tensor
    occurrences: torch.Tensor
    firsts: torch.Tensor

    @property
    def slots(self) -> int:
        """How many items there are, of ours and of others."""
        return self.owners.numel()

    @property
    def device(self) -> torch.device:
        """Where the table lies."""
        return self.owners.device


def table_of(
    items: Sequence[Item], others: Sequence[Item] = (), device: str | torch.device = "cpu"
) -> ItemTable:
    """Return the table of our items, and of others whose rows might come between ours.

    A row that is in no item of the table carries no stamp, for all that an audit can say. To
    have rows of others, stamp the whole table and take those that follow ours.

    Raises:
        ValueError: if there are too many items or positions, a number is negative, or two items
            have the same owner and occurrence, so that nobody could tell them apart.
    """
    every = (*items, *others)
    if len(every) > MOST_ITEMS:
        raise ValueError(f"{len(every)} items, and a row can name {MOST_ITEMS}")
    for slot, item in enumerate(every):
        if min(item.owner, item.occurrence, item.count, item.first) < 0:
            raise ValueError(f"item {slot} has a negative number: {item}")
        if item.first + item.count > MOST_POSITIONS:
            raise ValueError(f"item {slot} has positions from {MOST_POSITIONS} on: {item}")
    named = {(item.owner % 2**32, item.occurrence % 2**32) for item in every}
    if len(named) < len(every):
        raise ValueError(f"{len(every)} items have {len(named)} owners and occurrences")
    offsets = [0, *accumulate(item.count for item in every)]

    def column(numbers: Sequence[int]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=device)

    return ItemTable(
        ours=len(items),
        rows_ours=offsets[len(items)],
        rows=offsets[-1],
        offsets=column(offsets),
        owners=column([item.owner % 2**32 for item in every]),
        occurrences=column([item.occurrence % 2**32 for item in every]),
        firsts=column([item.first for item in every]),
    )
