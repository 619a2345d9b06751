"""Packed rows that say whose they are: any number of items, any width, exact in every number.

The rows of item 0 come first, then those of item 1, and so on. Eight digits are in the first
eight columns of a row, and again in each eight that follow, so that no column can change unseen:

    slot low, slot high, position low, middle, high, mix low, middle, high

The slot is the item's index, the mix is of its owner, its occurrence and the position
(`simulators.stamp.mix`). A digit is 1 to 256, which bfloat16, float16, float32 and the integers
hold exactly; a row of zeros therefore carries no stamp.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.stamp import mix, mix_torch

if TYPE_CHECKING:
    import torch

#: Columns until the digits begin anew; no row is narrower.
PERIOD = 8
MOST_ITEMS = 1 << 16
#: Positions of an item are below it.
MOST_POSITIONS = 1 << 24
_SLOT_BITS, _POSITION_BITS = 16, 24


@dataclass(frozen=True)
class Item:
    """Whose rows are packed, and which of them."""

    owner: int
    #: Which of several equal owners.
    occurrence: int
    #: Rows that are packed.
    count: int
    #: Position of the first of them among all rows of the owner.
    first: int = 0


def digits_of(slot: int, item: Item, position: int) -> tuple[int, ...]:
    """Return the eight digits of one row, each 1 to 256."""
    mixed = mix(item.owner, item.occurrence, position) % (1 << 24)
    word = slot | position << _SLOT_BITS | mixed << _SLOT_BITS + _POSITION_BITS
    return tuple(1 + digit for digit in word.to_bytes(PERIOD, "little"))


def stamped_rows(slot: int, item: Item, width: int = PERIOD) -> "torch.Tensor":
    """Return the rows of one item, (item.count, width), float32 on the CPU.

    Args:
        slot: The item's index among those that a reader knows.
        item: Whose rows, and which of them.
        width: Columns, at least `PERIOD`.
    """
    import torch

    positions = item.first + torch.arange(item.count)
    mixed = mix_torch(item.owner, item.occurrence, positions) % (1 << 24)
    word = slot | positions << _SLOT_BITS | mixed << _SLOT_BITS + _POSITION_BITS
    digits = 1 + (word[:, None] >> 8 * torch.arange(PERIOD) & 255).float()
    return digits.repeat(1, -(-width // PERIOD))[:, :width].contiguous()


def decoded(
    rows: "torch.Tensor",
) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]":
    """Return what the digits of each row say: slot, position and mix, each (count,) int64.

    Args:
        rows: (count, width) of any dtype that holds the digits, on any device.

    Returns:
        The three, and for each row, bool, whether it consists of digits, in every column.
    """
    import torch

    width = rows.shape[1]
    head = rows[:, :PERIOD]
    whole = (head >= 1) & (head <= 256) & (head == head.long())
    known = whole.all(1)
    for first in range(PERIOD, width, PERIOD):
        known &= (rows[:, first : first + PERIOD] == head[:, : width - first]).all(1)
    digits = head.where(whole, 1).to(torch.int64).sub_(1)
    word = digits[:, 0]
    for place in range(1, PERIOD):
        word = word | digits[:, place] << 8 * place
    slots, positions = word & MOST_ITEMS - 1, word >> _SLOT_BITS & MOST_POSITIONS - 1
    return slots, positions, word >> _SLOT_BITS + _POSITION_BITS & (1 << 24) - 1, known


class PackedReader:
    """Reads whose each row is, among known items."""

    def __init__(self, items: Sequence[Item]) -> None:
        """Take the items by their slots."""
        self._items = tuple(items)

    def __call__(self, rows: Any) -> list[Origin | None]:
        """Return the slot and the position of each row; None for one that is no item's."""
        return [self._origin([float(number) for number in row]) for row in rows]

    def _origin(self, row: Sequence[float]) -> Origin | None:
        if len(row) < PERIOD or not all(n.is_integer() and 1 <= n <= 256 for n in row[:PERIOD]):
            return None
        word = int.from_bytes(bytes(int(number) - 1 for number in row[:PERIOD]), "little")
        slot, position = word % MOST_ITEMS, (word >> _SLOT_BITS) % MOST_POSITIONS
        if slot >= len(self._items):
            return None
        digits = digits_of(slot, self._items[slot], position)
        same = all(number == digits[place % PERIOD] for place, number in enumerate(row))
        return Origin(slot, position) if same else None
