"""Stamped queries, keys and values for a kernel that moves rows: each element says whose it is.

A row of one head holds its part (query, key or value) and request in the first column, its number
in the second, its head in the third, and a mix of all of them and the column in the rest: exact in
every float and whole number of 16 bits or more, and never zero.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import TENSORS, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

PARTS = ("q", "k", "v")
#: Rows and heads of a tensor, at most: whole numbers up to 256 are exact in bfloat16.
MOST = 200
#: Columns of a row, at least.
LEAST_WIDTH = 4
_REQUESTS = 8
_SIGNS = 200


@lru_cache(maxsize=64)
def _values(part: int, request: int, rows: int, heads: int, width: int) -> Any:
    import torch

    owner = _REQUESTS * request + part
    values = torch.empty(rows, heads, width, dtype=torch.float64)
    for row in range(rows):
        for head in range(heads):
            values[row, head] = torch.tensor(_stamp(owner, row, head, width))
    return values


@lru_cache(maxsize=65536)
def _stamp(owner: int, row: int, head: int, width: int) -> tuple[float, ...]:
    signs = [1 + mix(owner, head, row * width + column) % _SIGNS for column in range(3, width)]
    return tuple(float(number) for number in (owner + 1, row + 1, head + 1, *signs))


def stamped(
    part: str, shape: tuple[int, int, int], dtype: str = "float32", request: int = 0
) -> "torch.Tensor":
    """Return the rows of one part of a request.

    Args:
        part: One of `PARTS`.
        shape: (rows, heads, width); at most `MOST` rows and heads, at least `LEAST_WIDTH` columns.
        dtype: Name of torch's dtype.
        request: 0 for ours, 1 for another one.
    """
    import torch

    values = _values(PARTS.index(part), request, *shape)
    return values.to(getattr(torch, dtype)).clone()  # type: ignore[no-any-return]


def owner_name(part: str, head: int, request: int = 0) -> str:
    """Return who owns the rows of one head of one part, in words."""
    return f"{'another request ' * request}{part} head {head}"


def owner_of(rows: Any) -> list[Origin | None]:
    """Return the origin of each row of one head, given as lists of numbers; None if it has none."""
    return [_origin(row) for row in rows]


def _origin(row: Sequence[float]) -> Origin | None:
    if len(row) < LEAST_WIDTH or any(number != number or number % 1 for number in row):
        return None
    owner, position, head = (int(number) - 1 for number in row[:3])
    request, part = divmod(owner, _REQUESTS)
    if request not in (0, 1) or part >= len(PARTS):
        return None
    if tuple(row) != _stamp(owner, position, head, len(row)):
        return None
    return Origin(owner_name(PARTS[part], head, request), position)


def honest_qkv(
    shape: tuple[int, int, int], world_size: int, dtype: str = "float32", out: bool = False
) -> Payload:
    """Return queries, keys and values as they are packed for the ranks of a group.

    Args:
        shape: (rows, heads, width) of each.
        world_size: Ranks that share the heads.
        dtype: Name of torch's dtype.
        out: Whether the caller brings the memory for the output.
    """
    import torch

    rows, heads, width = shape
    ours, others = (
        tuple(stamped(part, shape, dtype, request) for part in PARTS) for request in (0, 1)
    )
    brought = torch.zeros(
        world_size, rows, heads // world_size, 3 * width, dtype=getattr(torch, dtype)
    )
    beside = {"world_size": world_size, "out": brought if out else None}
    return Payload(TENSORS, ours, others, beside)
