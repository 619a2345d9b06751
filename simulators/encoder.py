"""The honest preprocessor and encoder, a pair: what the one counts is what the other makes.

A payload has a record for each item, in the order in which a batch is flattened: the rows that
the encoder makes for it, and the grid and the count that the preprocessor tells. Each row says
whose it is and where it stands, exactly in float32, float16 and bfloat16.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from contracts.contract import Origin
from simulators import packed_rows
from simulators.encoder_rules import Grid, Rules, Size, grid_of_picture, tokens_of_picture
from simulators.packed_rows import MOST_POSITIONS, PERIOD, Item, PackedReader
from simulators.payload import EMBEDDINGS, Payload

if TYPE_CHECKING:
    import torch

#: The setting that preprocessor and encoder share.
RULES = Rules()
#: Tokens of a picture, at most: what it has more is scaled down.
MOST_TOKENS = RULES.max_pixels // RULES.token**2
#: Columns of an embedding row, where nothing else is asked for.
WIDTH = PERIOD
#: Sizes of pictures of 6, 12, 8, 16, 10, 18, 14 and 20 tokens; each rounding counts others.
UNLIKE: tuple[Size, ...] = (
    (70, 80), (126, 80), (70, 100), (126, 100), (70, 130), (182, 80), (70, 190), (126, 130),
)  # fmt: skip
#: The size of pictures that are all alike, and so have as many tokens.
ALIKE: Size = (70, 80)

#: How many owners there are; those from the second number on are another request's.
OWNERS, _FOREIGN = 128, 64


class Encoded(NamedTuple):
    """One item: what was encoded, and what was told of it."""

    #: (tokens, width).
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


def honest_items(count: int, pictures: str = "unlike", width: int = WIDTH) -> Payload:
    """Return so many pictures as preprocessor and encoder make them, and as many foreign ones.

    Args:
        count: How many.
        pictures: How large they are; see `sizes_of`.
        width: Columns of an embedding row, a model's hidden size.
    """
    sizes = sizes_of(count, pictures)
    ours = tuple(encoded(owner, size, RULES, width) for owner, size in enumerate(sizes))
    others = tuple(encoded(_FOREIGN + i, size, RULES, width) for i, size in enumerate(sizes))
    return Payload(EMBEDDINGS, ours, others, {"form": "flat"})


def encoded(owner: int, size: Size, rules: Rules, width: int = WIDTH) -> Encoded:
    """Return one picture as it is preprocessed and encoded by one setting of rules."""
    count = tokens_of_picture(size, rules)
    rows = stamped_rows(owner, count, width)
    return Encoded(rows, count, grid_of_picture(size, rules), size, owner)


def stamped_rows(owner: int, count: int, width: int = WIDTH) -> "torch.Tensor":
    """Return the rows of one owner, (count, width), float32."""
    return packed_rows.stamped_rows(owner, Item(owner, 0, count), width)


_read = PackedReader([Item(owner, 0, MOST_POSITIONS) for owner in range(OWNERS)])


def owner_of(rows: Any) -> list[Origin | None]:
    """Return the origin of each row of WIDTH, of a tensor or a list; `None` for no known stamp.

    The owner is the index of the item in the batch, or the name of another request's.
    """
    told = rows.tolist() if hasattr(rows, "tolist") else rows
    origins = _read([row if len(row) == WIDTH else () for row in told])
    return [Origin(named(int(o.owner)), o.position) if o is not None else None for o in origins]


def named(owner: int) -> int | str:
    """Return the index of an item of the batch, or the name of another request's."""
    return owner if owner < _FOREIGN else f"another request's item {owner - _FOREIGN}"
