"""encoder-slice: the rows of the items that no cache has are cut into one embedding an item.

- There is a count for each item, and the encoder returns one tensor.
- Counts are whole numbers, and the encoder makes as many rows as they say together.
- Rows have the model's width and dtype.
- Each item has as many tokens as its picture makes, and its own rows in their order.

The payload holds `rows` that the encoder returns for the chosen items, and `counts` of all items.
The request says `counts` that the pictures make, `chosen` (the indices of the items that are
encoded), `width` and `dtype`. Before 0.5.19 a preprocessor tells grids, and counts follow.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.encoded_rows import (
    COUNT_ASKED,
    ROW_IDENTITY,
    flat_shape,
    is_whole,
    plain,
    walk_counts,
    walk_identity,
)
from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

ITEM_COUNT = Clause("item-count", "There is one count for each item.", incidental=("IndexError",))
ROWS_TENSOR = Clause(
    "rows-tensor", "The encoder returns one tensor.", incidental=("AttributeError",)
)
COUNT_WHOLE = Clause(
    "count-whole",
    "Counts are whole numbers.",
    incidental=("TypeError",),
    # Before, a grid was told, and its product made an int.
    accidents=Span("0.5.19"),
)
ROWS_COUNT = Clause(
    "rows-count",
    "The encoder makes as many rows as the counts say together.",
    guards=(
        Guard(
            "InternalError",
            "Encoder produced {got} tokens, but preprocessor metadata expected {expected}",
            Span("0.5.19"),
            Source("0.5.23", "srt/disaggregation/encoder/server.py", "MMEncoder.slice_embedding"),
        ),
    ),
)
ROW_WIDTH = Clause("row-width", "Rows are as wide as the model's.")
ROW_DTYPE = Clause("row-dtype", "Rows have the model's dtype.")

_CLAUSES = (
    ITEM_COUNT,
    ROWS_TENSOR,
    COUNT_WHOLE,
    ROWS_COUNT,
    ROW_WIDTH,
    ROW_DTYPE,
    COUNT_ASKED,
    ROW_IDENTITY,
)
_Found = Iterator[Violation | Unchecked]


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    rows, counts = payload["rows"], payload["counts"]
    asked, chosen = request["counts"], request["chosen"]
    if len(counts) != len(asked):
        # One too many is not looked at.
        accident = None if max(chosen) >= len(counts) else ()
        got = str(len(counts))
        yield Violation(ITEM_COUNT, "counts", str(len(asked)), got, incidental=accident)
    if not is_tensor(rows):
        yield Violation(ROWS_TENSOR, "rows", "a tensor", type(rows).__name__)
        yield from (Unchecked(clause, "the rows are no tensor") for clause in _CLAUSES[3:])
        return
    there = [index for index in chosen if index < len(counts)]
    yield from _walk_rows(rows, [counts[index] for index in there], request)
    yield from walk_counts([counts[i] for i in there], [asked[i] for i in there])
    yield from walk_identity(rows, chosen, asked, owner_of)


def _walk_rows(rows: Any, counts: Sequence[Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    for index, count in enumerate(counts):
        if not is_whole(count):
            yield Violation(COUNT_WHOLE, f"counts[{index}]", "an int", str(count))
    (made, width), total = flat_shape(rows), plain(sum(counts))
    if made != total:
        fields = {"got": made, "expected": total}
        yield Violation(ROWS_COUNT, "rows", f"{total} rows", str(made), fields)
    if width != request["width"]:
        yield Violation(ROW_WIDTH, "rows", str(request["width"]), str(width))
    if str(rows.dtype) != request["dtype"]:
        yield Violation(ROW_DTYPE, "rows", request["dtype"], str(rows.dtype))


CONTRACT = Contract(
    "encoder-slice",
    "The rows of the items that no cache has are cut into one embedding for each item.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
