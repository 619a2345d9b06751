"""Stamped rows for an exchange: every row of every head says its token and its head.

They are packed rows: the head is the item whose row it is, the token its position.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.packed_rows import MOST_POSITIONS, PERIOD, Item, PackedReader, stamped_rows

if TYPE_CHECKING:
    import torch

#: Columns of a row in one head, where nothing else is asked for.
WIDTH = PERIOD
#: Heads that rows can name.
MOST_HEADS = 64


def stamped(tokens: range, heads: range, width: int = WIDTH) -> "torch.Tensor":
    """Return the rows of some tokens in some heads, (1, tokens, heads, width), float32."""
    import torch

    items = ((head, Item(head, 0, len(tokens), tokens.start)) for head in heads)
    rows = [stamped_rows(head, item, width) for head, item in items]
    return torch.stack(rows, dim=1)[None] if rows else torch.empty(1, len(tokens), 0, width)


def named(head: int) -> str:
    """Return what the owner of a head's rows is called."""
    return f"head {head}"


def changed(rows: "torch.Tensor", form: str) -> "torch.Tensor":
    """Return rows (1, tokens, heads, width) as a fault wants them; nothing is done for "".

    Raises:
        ValueError: if there is no such form.
    """
    if form == "flat":
        return rows[0]
    if form == "deep":
        return rows[None]
    if form == "half":
        return rows.half()
    if form == "narrow":
        return rows[..., :-1].contiguous()
    if form == "twice":
        return rows.repeat(2, 1, 1, 1)
    if form == "row-less":
        return rows[:, :-1].contiguous()
    if form == "row-more":
        return rows[:, [*range(rows.shape[1]), -1]]
    if form == "mirrored":
        return rows.flip(1)
    if form:
        raise ValueError(f"no form of rows is called {form!r}")
    return rows


#: Rows that every rank holds, where text is not shared out.
_TEXT = 2


def shard_of(form: str, rank: int, rows: Sequence[int]) -> list[int]:
    """Return the tokens that a rank holds before a gather.

    Args:
        form: "" for one run of the sequence, in rank order. "joined": a run of each half of the
            sequence, joined, as where noise and condition are shared out one by one. "repeated":
            the first rows on every rank, as where text is not shared out, before its own run.
        rank: Which.
        rows: How many rows each rank holds.
    """
    first = sum(rows[:rank])
    own = list(range(first, first + rows[rank]))
    if form == "repeated":
        return [*range(_TEXT), *own]
    if form == "joined":
        half, share = sum(count // 2 for count in rows), rows[rank] // 2
        before = sum(count // 2 for count in rows[:rank])
        noise = range(before, before + share)
        rest = range(half + first - before, half + first - before + rows[rank] - share)
        return [*noise, *rest]
    return own


_read = PackedReader([Item(head, 0, MOST_POSITIONS) for head in range(MOST_HEADS)])


def owner_of(rows: Any) -> list[Origin | None]:
    """Return the head that each row of a list names, and the token; None for no stamp."""
    origins = _read([row if len(row) == WIDTH else () for row in rows])
    return [Origin(named(int(o.owner)), o.position) if o is not None else None for o in origins]
