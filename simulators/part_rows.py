"""Stamped embedding rows: each says whose it is and where it stands, exact in every float.

A row has eight columns of whole numbers below 256, so that float32, float16 and bfloat16 hold
them exactly: the owner, the position in two digits, and five digits that are mixed from them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

#: Columns of a row.
WIDTH = 8
_DIGIT = 64
_CHECKS = 5


def _stamp(owner: int, position: int) -> tuple[int, ...]:
    mixed = mix(owner, 0, position)
    checks = (mixed >> 6 * place & _DIGIT - 1 for place in range(_CHECKS))
    return (owner, position // _DIGIT, position % _DIGIT, *checks)


def stamped_rows(owner: int, first: int, count: int, dtype: str) -> "torch.Tensor":
    """Return neighbouring rows of one owner.

    Args:
        owner: The owner's number, 1 to 255.
        first: Position of the first row in the owner's rows.
        count: How many.
        dtype: `float32`, `float16` or `bfloat16`.

    Returns:
        (count, WIDTH)
    """
    import torch

    rows = [_stamp(owner, first + place) for place in range(count)]
    return torch.tensor(rows, dtype=torch.float32).reshape(count, WIDTH).to(getattr(torch, dtype))


class RowReader:
    """Reads whose each row is, among known owners."""

    def __init__(self, owners: Mapping[int, str]) -> None:
        """Take the names of the owners by their numbers."""
        self._owners = owners

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each row; None for one that carries no known stamp."""
        return [self._origin(row) for row in tokens]

    def _origin(self, row: Any) -> Origin | None:
        if not isinstance(row, list) or len(row) != WIDTH:
            return None
        if any(number != number or abs(number) > 255 for number in row):
            return None
        owner, high, low = (int(number) for number in row[:3])
        known = owner in self._owners and tuple(row) == _stamp(owner, high * _DIGIT + low)
        return Origin(self._owners[owner], high * _DIGIT + low) if known else None
