"""The honest preprocessor and encoder, a pair: what the one counts is what the other makes.

A payload has a record for each item, in the order in which a batch is flattened: the rows that
the encoder makes for it, and the grid and the count that the preprocessor tells. Each row says
whose it is and where it stands, exactly in float32, float16 and bfloat16.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from contracts.contract import Origin
from simulators.encoder_rules import Grid, Rules, Size, grid_of_picture, tokens_of_picture
from simulators.payload import EMBEDDINGS, Payload

if TYPE_CHECKING:
    import torch

#: The setting that preprocessor and encoder share.
RULES = Rules()
#: Tokens of a picture, at most: what it has more is scaled down.
MOST_TOKENS = RULES.max_pixels // RULES.token**2
#: Columns of an embedding row.
WIDTH = 8
#: Sizes of pictures of 6, 12, 8, 16, 10, 18, 14 and 20 tokens; each rounding counts others.
UNLIKE: tuple[Size, ...] = (
    (70, 80), (126, 80), (70, 100), (126, 100), (70, 130), (182, 80), (70, 190), (126, 130),
)  # fmt: skip
#: The size of pictures that are all alike, and so have as many tokens.
ALIKE: Size = (70, 80)

# Whole numbers up to 256 are exact in bfloat16, the coarsest of the three.
_DIGIT = 128
_MARK, _END = 251.0, 253.0
#: Owners from here on are another request's.
_FOREIGN = 64


class Encoded(NamedTuple):
    """One item: what was encoded, and what was told of it."""

    #: (tokens, WIDTH).
    rows: "torch.Tensor"
    count: Any
    grid: Grid
    #: (height, width) of the picture, in pixels.
    size: Size
    #: Its index in the batch, or a number that stands for another request's item.
    owner: int


def sizes_of(count: int, pictures: str = "unlike") -> tuple[Size, ...]:
    """Return the sizes of so many pictures, at most 8, in pixels.

    Args:
        count: How many.
        pictures: `unlike`, `alike`, or each one's tokens, or its height x width in pixels, parted
            by commas. Of tokens alone one row is made, so that every honest rule counts as many.

    Raises:
        ValueError: if not so many are given.
    """
    if pictures == "alike":
        return (ALIKE,) * count
    if pictures == "unlike":
        return UNLIKE[:count]
    sizes = tuple(map(_size, pictures.split(",")))
    if len(sizes) != count:
        raise ValueError(f"{len(sizes)} pictures for {count}")
    return sizes


def _size(told: str) -> Size:
    height, by, width = told.partition("x")
    return (int(height), int(width)) if by else (RULES.token, RULES.token * int(told))


def honest_items(count: int, pictures: str = "unlike") -> Payload:
    """Return so many pictures as preprocessor and encoder make them, and as many foreign ones.

    Args:
        count: How many.
        pictures: How large they are; see `sizes_of`.
    """
    sizes = sizes_of(count, pictures)
    ours = tuple(encoded(owner, size, RULES) for owner, size in enumerate(sizes))
    others = tuple(encoded(_FOREIGN + i, size, RULES) for i, size in enumerate(sizes))
    return Payload(EMBEDDINGS, ours, others, {"form": "flat"})


def encoded(owner: int, size: Size, rules: Rules) -> Encoded:
    """Return one picture as it is preprocessed and encoded by one setting of rules."""
    count = tokens_of_picture(size, rules)
    return Encoded(stamped_rows(owner, count), count, grid_of_picture(size, rules), size, owner)


def stamped_rows(owner: int, count: int) -> "torch.Tensor":
    """Return the rows of one owner, (count, WIDTH), float32."""
    import torch

    positions = torch.arange(count)
    high, low = positions // _DIGIT, positions % _DIGIT
    check = (owner + 3 * high + 5 * low) % _DIGIT
    marks = torch.full((count,), _MARK), torch.full((count,), _END)
    columns = (marks[0], torch.full((count,), owner), high, low, check, low + high, high, marks[1])
    return torch.stack([column.float() for column in columns], dim=1)


def owner_of(rows: Any) -> list[Origin | None]:
    """Return the origin of each row of a list of rows; `None` for one without a known stamp.

    The owner is the index of the item in the batch, or the name of another request's.
    """
    return [_origin([float(value) for value in row]) for row in rows]


def _origin(row: Sequence[float]) -> Origin | None:
    if len(row) != WIDTH or any(value != value or value % 1 for value in row):
        return None
    mark, owner, high, low, check, total, again, end = (int(value) for value in row)
    if (mark, end) != (_MARK, _END) or total != low + high or again != high:
        return None
    if check != (owner + 3 * high + 5 * low) % _DIGIT or not 0 <= owner < 2 * _FOREIGN:
        return None
    position = high * _DIGIT + low
    if owner >= _FOREIGN:
        return Origin(f"another request's item {owner - _FOREIGN}", position)
    return Origin(owner, position)
