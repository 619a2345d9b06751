"""Honest chunks of keys and values, each row of which says whose it is and where it stands.

A row holds digits over its columns, exact in every float: owner, position, lane (batch row and
head in one number) and whether it is a key or a value. A row of zeros says nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import CHUNKS, Payload

if TYPE_CHECKING:
    import torch

BATCH = 2
#: Tokens in an honest chunk.
TOKENS = 4
COLUMNS = 4
#: Stands for the sequence of another request.
OTHER = "another request"
_OWNERS: tuple[int | str, ...] = (0, OTHER)
_KEY, _VALUE = 1, 2


def honest_chunks(
    count: int, heads: int = 2, head_start: int | None = None, recent: int | None = None
) -> Payload:
    """Return the chunks of one sequence in order, and those of another request.

    Args:
        count: How many chunks.
        heads: Heads in a chunk.
        head_start: First of the cache's heads that a chunk is for; None where it has them all.
        recent: How many tokens before a chunk its attention sees; None for all that are kept.
    """

    def chunk(owner: int, index: int) -> dict[str, Any]:
        start = index * TOKENS
        return {
            "key": _rows(owner, start, heads, head_start or 0, _KEY),
            "value": _rows(owner, start, heads, head_start or 0, _VALUE),
            "start": start,
            "head_start": head_start,
            "recent": recent,
        }

    ours = tuple(chunk(0, index) for index in range(count))
    others = tuple(chunk(1, index) for index in range(count))
    return Payload(CHUNKS, ours, others, {"cursor": (None, None)})


def _rows(owner: int, start: int, heads: int, first_head: int, kind: int) -> "torch.Tensor":
    import torch

    rows = torch.zeros(BATCH, TOKENS, heads, COLUMNS)
    rows[..., 0] = owner + 1
    rows[..., 1] = torch.arange(start + 1, start + TOKENS + 1)[None, :, None]
    for batch in range(BATCH):
        for head in range(heads):
            rows[batch, :, head, 2] = lane(batch, first_head + head)
    rows[..., 3] = kind
    return rows


def lane(batch: int, head: int) -> int:
    """Return the number of a batch row's head; there are fewer than 16 heads."""
    return 16 * batch + head + 1


class RowReader:
    """Reads whose token a position's rows are: the keys and values of all its heads together."""

    def __init__(self, heads: Sequence[int]) -> None:
        """Take the heads that the rows of one position belong to, in order."""
        self._heads = heads

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each token, given as its batch row, its keys and its values."""
        return [self._origin(*token) for token in tokens]

    def _origin(self, batch: int, keys: Any, values: Any) -> Origin | None:
        lanes = [lane(batch, head) for head in self._heads]
        found = set()
        for rows, kind in ((keys, _KEY), (values, _VALUE)):
            if [list(row[2:]) for row in rows] != [[number, kind] for number in lanes]:
                return None
            found |= {(row[0], row[1]) for row in rows}
        if len(found) != 1:
            return None
        owner, position = found.pop()
        if owner not in (1, 2) or position != int(position) or position < 1:
            return None
        return Origin(_OWNERS[int(owner) - 1], int(position) - 1)
