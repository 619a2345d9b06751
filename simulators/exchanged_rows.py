"""Stamped rows for an exchange: every row of every head says its token and its head.

A row holds (1, token + 1, head + 1, ...) in its columns, exact in every float; nothing else does.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin

if TYPE_CHECKING:
    import torch

#: Columns of a row in one head.
WIDTH = 4
_MARK, _END = 1, 7


def stamped(tokens: range, heads: range) -> "torch.Tensor":
    """Return the rows of some tokens in some heads, (1, tokens, heads, WIDTH), float32."""
    import torch

    rows = torch.empty(1, len(tokens), len(heads), WIDTH)
    rows[..., 0] = _MARK
    rows[..., 1] = torch.arange(tokens.start + 1, tokens.stop + 1)[None, :, None]
    rows[..., 2] = torch.arange(heads.start + 1, heads.stop + 1)[None, None, :]
    rows[..., 3] = _END
    return rows


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


class RowReader:
    """Reads whose row each row is: the head that it names, and the token."""

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each row; None for one that is no stamp."""
        return [self._origin([float(number) for number in row]) for row in tokens]

    def _origin(self, row: list[float]) -> Origin | None:
        if len(row) != WIDTH or (row[0], row[3]) != (_MARK, _END):
            return None
        token, head = row[1], row[2]
        if not all(number.is_integer() and number >= 1 for number in (token, head)):
            return None
        return Origin(f"head {int(head) - 1}", int(token) - 1)
