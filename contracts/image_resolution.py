"""image-resolution: the size that was asked for becomes a grid of prior tokens and a canvas.

- The size is two whole numbers, positive, and the one that was asked for.
- Where tokens are made it fits their grid: both sides are multiples of 32. A user's own size may
  not; then it is brought to the next one before, and the picture is cut back later.

The payload is `height`, `width` and `asked` (height and width as the user gave them). The request
says whether the size comes from a `user` and so is brought to the grid first.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.picture_size import (
    ALIGNMENT,
    SIZE_ALIGNED,
    SIZE_NUMBERS,
    is_aligned,
    is_size,
    not_aligned,
    not_numbers,
)
from contracts.contract import Clause, Contract, OwnerOf, Unchecked, Violation

SIZE_POSITIVE = Clause(
    "size-positive",
    "Both sides of a picture are positive.",
    incidental=("ZeroDivisionError", "ValueError"),
)
SIZE_MULTIPLE = Clause(
    "size-multiple",
    "A user asks for sides that are multiples of 32.",
)
SIZE_ASKED = Clause("size-asked", "The size that is told on is the one that was asked for.")

_CLAUSES = (SIZE_NUMBERS, SIZE_ALIGNED, SIZE_POSITIVE, SIZE_MULTIPLE, SIZE_ASKED)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    height, width = payload["height"], payload["width"]
    if not is_size(height, width):
        yield not_numbers(height, width, "$")
        yield from (Unchecked(clause, "there is no size") for clause in _CLAUSES[1:])
        return
    said = f"{height}x{width}"
    if not is_aligned(height, width) and not request["user"]:
        yield not_aligned(height, width, "$")
    if height <= 0 or width <= 0:
        yield Violation(SIZE_POSITIVE, "$", "positive sides", said)
    elif not is_aligned(height, width) and request["user"]:
        # A side below one token leaves nothing where sizes are rounded down.
        accident = ("ZeroDivisionError",) if min(height, width) < ALIGNMENT else ()
        wanted = f"multiples of {ALIGNMENT}"
        yield Violation(SIZE_MULTIPLE, "$", wanted, said, incidental=accident)
    if (height, width) != payload["asked"]:
        yield Violation(SIZE_ASKED, "$", "{}x{}".format(*payload["asked"]), said)


CONTRACT = Contract(
    "image-resolution",
    "The size that was asked for becomes a grid of prior tokens and a canvas.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
