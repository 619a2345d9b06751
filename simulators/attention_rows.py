"""Stamped queries, keys and values: what attention makes of them says which rows it saw.

Heads come in two kinds. In an even head each query is so near to the key of one other row that
softmax gives all its weight to that row, exactly, and the output is that row's value: it says its
sequence, token and head. The row that a query looks for is half a sequence away, on another rank.
In an odd head every row has its weight in every output, which is compared with attention over the
whole sequence, computed in float64: a row that is missing, doubled or foreign changes it.
"""

from functools import lru_cache
from math import pi
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

#: Columns of a row in one head.
WIDTH = 8
#: Rows of a sequence, at most: beyond, the weights of neighbours are not all but zero.
MOST_ROWS = 32
#: Length of a query and of a key in an even head.
_REACH = 128.0
_VALUE = 3
#: Whole numbers below it are exact in every float.
_SIGNS = 256
#: Float32 attention is nearer than this to float64, and a single wrong row is not.
_NEAR = 1e-4
_QUERIES, _KEYS, _VALUES = 11, 12, 13


def looked_for(token: int, head: int, rows: int) -> int:
    """Return the token whose value comes out where `token` asks in an even head."""
    return (token + rows // 2 + head // 2) % rows


@lru_cache(maxsize=16)
def stamped_rows(rows: int, heads: int) -> Any:
    """Return the queries, keys and values of one sequence.

    Returns:
        Three float32 tensors of (1, rows, heads, WIDTH).
    """
    import torch

    parts = [torch.zeros(1, rows, heads, WIDTH, dtype=torch.float64) for _ in range(3)]
    queries, keys, values = parts
    for head in range(heads):
        if head % 2:
            queries[0, :, head] = _mixed(_QUERIES, head, rows)
            keys[0, :, head] = _mixed(_KEYS, head, rows)
            values[0, :, head] = _mixed(_VALUES, head, rows)
            continue
        sought = torch.tensor([looked_for(token, head, rows) for token in range(rows)])
        queries[0, :, head, :2] = _directions(sought, rows)
        keys[0, :, head, :2] = _directions(torch.arange(rows), rows)
        values[0, :, head, 0] = 1
        values[0, :, head, 1] = torch.arange(1, rows + 1)
        values[0, :, head, 2] = head + 1
        values[0, :, head, 3] = _VALUE
        values[0, :, head, 4] = torch.tensor([_sign(head, token) for token in range(rows)])
    return tuple(part.float() for part in parts)


def _sign(head: int, token: int) -> int:
    # Where a row is missing, a query meets its neighbours halfway: the mean of their numbers is
    # the missing one's, the mean of their signs is not.
    return mix(_VALUES, head, token) % _SIGNS


def _directions(tokens: "torch.Tensor", rows: int) -> "torch.Tensor":
    import torch

    angles = tokens.double() * (2 * pi / rows)
    return _REACH * torch.stack((angles.cos(), angles.sin()), dim=-1)


def _mixed(owner: int, head: int, rows: int) -> "torch.Tensor":
    import torch

    numbers = [mix(owner, head, place) / 2**32 for place in range(rows * WIDTH)]
    return torch.tensor(numbers, dtype=torch.float64).reshape(rows, WIDTH) * 2 - 1


@lru_cache(maxsize=16)
def weighed(rows: int, heads: int, first: int = 0, count: int | None = None) -> "torch.Tensor":
    """Return what attention over a part of the sequence is, for every query of it.

    Args:
        rows: Of the whole sequence.
        heads: As in `stamped_rows`.
        first: First row of the part that keys and values come from.
        count: How many rows it has; None for all that follow.

    Returns:
        float64, (rows, heads, WIDTH), computed from the formula.
    """
    import torch

    part = slice(first, rows if count is None else first + count)
    queries, keys, values = (one[0].double() for one in stamped_rows(rows, heads))
    scores = torch.einsum("ihd,jhd->hij", queries, keys[part]) / WIDTH**0.5
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("hij,jhd->ihd", weights, values[part])


class ValueReader:
    """Reads which token's value a row is, head by head, in the even heads."""

    def __init__(self, rows: int) -> None:
        """Take how many rows the sequence has."""
        self._rows = rows

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each (head, row); None for a value that is no token's."""
        return [self._origin(head, row) for head, row in tokens]

    def _origin(self, head: int, row: Any) -> Origin | None:
        owner, token, named, kind, sign, *rest = [float(number) for number in row]
        known = (owner, named, kind) == (1, head + 1, _VALUE) and not any(rest)
        if not known or not token.is_integer() or not 1 <= token <= self._rows:
            return None
        index = int(token) - 1
        return Origin(0, index) if sign == _sign(head, index) else None


def near(row: "torch.Tensor", reference: "torch.Tensor") -> bool:
    """Return whether a row of an odd head is what it is compared with, both (WIDTH,)."""
    return bool(((row.double() - reference).abs() < _NEAR).all())
