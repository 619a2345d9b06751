"""Packed rows: digits of known stamps, and read back."""

import pytest

from contracts.contract import Origin
from simulators.packed_rows import PERIOD, Item, PackedReader, digits_of

ITEMS = (Item(1, 2, 9), Item(5, 0, 3), Item(5, 1, 3))


def test_the_digits_are_slot_position_and_mix() -> None:
    """The stamp of owner 1, occurrence 2, position 3 is 0x729ABA74, of which 24 bits remain."""
    assert digits_of(0, ITEMS[0], 3) == (1, 1, 4, 1, 1, 0x75, 0xBB, 0x9B)
    assert digits_of(0x1FF, ITEMS[0], 0x030201)[:5] == (256, 2, 2, 3, 4)


def test_rows_of_any_width_are_read_back() -> None:
    """Slot and position of each, also where the digits end within a period."""
    reader = PackedReader(ITEMS)
    for slot, item in enumerate(ITEMS):
        for position in (0, 2, 70_000):
            row = digits_of(slot, item, position) * 3
            for width in (PERIOD, 11, 24):
                assert reader([row[:width]]) == [Origin(slot, position)]


@pytest.mark.parametrize("column", range(20))
@pytest.mark.parametrize("number", [0, 1.5, 257, -3, float("nan"), float("inf")])
def test_a_row_with_one_other_number_is_nobodys(column: int, number: float) -> None:
    """Wherever it is, and whatever: no number may be lost in a row that is believed."""
    row = [float(digit) for digit in digits_of(1, ITEMS[1], 2) * 3][:20]
    row[column] = number

    assert PackedReader(ITEMS)([row]) == [None]


def test_what_no_item_could_have_written_is_nobodys() -> None:
    """Zeros, too few columns, another request's slot, and another owner in a known one."""
    strange = digits_of(7, Item(1, 0, 1), 0)
    other = digits_of(0, Item(9, 9, 9), 0)

    assert PackedReader(ITEMS)([[0.0] * 8, digits_of(0, ITEMS[0], 0)[:7], strange, other]) == (
        [None] * 4
    )
