"""Clauses of what an encoder makes and a preprocessor counts: rows, counts and whose each is.

Rows are a tensor, (tokens, width); counts are ints, one for each item, in the order of the batch.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, OwnerOf, Unchecked, Violation

COUNT_ASKED = Clause("count-asked", "Each item has as many tokens as its picture makes.")
ROW_IDENTITY = Clause("row-identity", "Row k of item i's rows is item i's row k.", identity=True)


def flat_shape(rows: Any) -> tuple[int, int]:
    """Return rows and width as upstream sees them: all but the last dimension made one."""
    shape = tuple(rows.shape)
    return (shape[0], shape[1]) if len(shape) == 2 else (prod(shape[:-1]), shape[-1])


def is_whole(count: Any) -> bool:
    """Return whether a count is a whole number, as an int or as a tensor of one."""
    if is_tensor(count):
        return count.dim() == 0 and not count.is_floating_point()
    return isinstance(count, int)


def plain(number: Any) -> Any:
    """Return a number as it is printed, a tensor of one as the int that it holds."""
    return int(number) if is_tensor(number) else number


def walk_counts(counts: Sequence[Any], asked: Sequence[int]) -> Iterator[Violation]:
    """Yield a violation for each item whose count is not its picture's."""
    for index, (count, want) in enumerate(zip(counts, asked, strict=False)):
        if count != want:
            yield Violation(COUNT_ASKED, f"counts[{index}]", str(want), str(plain(count)))


def walk_identity(
    rows: Any, chosen: Sequence[int], asked: Sequence[int], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    """Yield the first row that is not whose it should be.

    Args:
        rows: What the encoder made for the chosen items, one after the other.
        chosen: Indices of the items.
        asked: The count of each item of the batch.
        owner_of: Reads the stamps of a matrix of rows.
    """
    if owner_of is None:
        yield Unchecked(ROW_IDENTITY, "whose rows they are can be told only by a stamp reader")
        return
    origins = owner_of(rows.reshape(-1, rows.shape[-1]))
    wanted = [(item, position) for item in chosen for position in range(asked[item])]
    for index, want in enumerate(wanted):
        got = origins[index] if index < len(origins) else None
        if got is None or tuple(got) != want:
            said = "no known stamp" if got is None else f"row {got.position} of {got.owner}"
            place = f"row {want[1]} of item {want[0]}"
            yield Violation(ROW_IDENTITY, f"rows[{index}]", place, said)
            return
