"""Clauses of one encoded batch: what preprocessor and encoder hand to the staging of requests.

In the order in which upstream meets them: the layout, the encoder's rows, their number, the cut
for each request, and what was announced of it. Refusals are returned: each request of the batch
is answered with an error. Before 0.5.19 a preprocessor tells grids, and counts follow from them.
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
from contracts.contract import RETURNED, Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

SERVER_FILE = "srt/disaggregation/encoder/server.py"
OLD_SERVER_FILE = "srt/disaggregation/encode_server.py"
_BATCH = "MMEncoder.batch_encode"


def _returned(text: str, symbol: str) -> Guard:
    return Guard(RETURNED, text, Span("0.5.19"), Source("0.5.23", SERVER_FILE, symbol))


_LAYOUT = _returned(
    "Batch layout {layout} expects {expected} grids, but the processor produced {got}",
    "MMEncoder._prepare_encode_context",
)
_OLD_LAYOUT = Guard(
    RETURNED,
    "expected {expected} grids (per-req {layout}), but processor produced {got}.",
    Span(until="0.5.19"),
    Source("0.5.18", OLD_SERVER_FILE, _BATCH),
)

#: Of one request alone, which no release before 0.5.19 looks at.
ITEM_COUNT = Clause("item-count", "There is one grid for each item.", guards=(_LAYOUT,))
#: Of several requests at once.
BATCH_ITEM_COUNT = Clause(
    "item-count", "There is one grid for each item.", guards=(_LAYOUT, _OLD_LAYOUT)
)
ROWS_TENSOR = Clause("rows-tensor", "The encoder returns one tensor.", incidental=(RETURNED,))
ROWS_COUNT = Clause(
    "rows-count",
    "The encoder makes as many rows as the counts say together.",
    guards=(
        _returned(
            "Encoder produced {got} tokens, but preprocessor metadata expected {expected}",
            "MMEncoder._validate_embedding_token_count",
        ),
    ),
)
COUNT_WHOLE = Clause(
    "count-whole",
    "Counts are whole numbers.",
    incidental=(RETURNED,),
    # Before, a grid was told, and its product made an int.
    accidents=Span("0.5.19"),
)
AS_ANNOUNCED = Clause(
    "as-announced",
    "The rows of each request have the number, width and dtype that were announced for it.",
    guards=(
        _returned(
            "Embedding metadata mismatch for {request}: "
            "expected={shape}/{dtype}, actual={made}/{made_dtype}",
            "MMEncoder._embedding_state_for_stage",
        ),
    ),
)


def clauses_of(item_count: Clause) -> tuple[Clause, ...]:
    """Return the clauses of a batch, with the clause of its number of items."""
    return (
        item_count,
        ROWS_TENSOR,
        ROWS_COUNT,
        COUNT_WHOLE,
        AS_ANNOUNCED,
        COUNT_ASKED,
        ROW_IDENTITY,
    )


def walk_batch(
    payload: Mapping[str, Any],
    request: Mapping[str, Any],
    owner_of: OwnerOf | None,
    item_count: Clause,
) -> Iterator[Violation | Unchecked]:
    """Yield what a batch breaks.

    Args:
        payload: `rows` that the encoder returns, `counts` that the preprocessor tells.
        request: `counts` that the pictures make, `items` (how many each request has), `names`
            (their ids), `width` and `dtype` of the model's rows.
        owner_of: Reads the stamps of a list of rows.
        item_count: The clause of the number of items.
    """
    rows, counts, layout = payload["rows"], payload["counts"], list(request["items"])
    if len(counts) != sum(layout):
        fields = {"layout": layout, "expected": sum(layout), "got": len(counts)}
        yield Violation(item_count, "grids", str(sum(layout)), str(len(counts)), fields)
    if not is_tensor(rows):
        yield Violation(ROWS_TENSOR, "rows", "a tensor", type(rows).__name__)
        yield from (
            Unchecked(clause, "the rows are no tensor")
            for clause in (ROWS_COUNT, AS_ANNOUNCED, ROW_IDENTITY)
        )
        return
    yield from _walk_total(flat_shape(rows)[0], counts)
    for index, count in enumerate(counts):
        if not is_whole(count):
            yield Violation(COUNT_WHOLE, f"counts[{index}]", "an int", str(count))
    if all(is_whole(count) for count in counts):
        yield from walk_announced(rows, counts, request)
    yield from walk_counts(counts, request["counts"])
    every = range(len(request["counts"]))
    yield from walk_identity(rows, every, request["counts"], owner_of)


def _walk_total(made: int, counts: Sequence[Any]) -> Iterator[Violation]:
    total = plain(sum(counts))
    if made != total:
        fields = {"got": made, "expected": total}
        yield Violation(ROWS_COUNT, "rows", f"{total} rows", str(made), fields)


def walk_announced(
    rows: Any, counts: Sequence[Any], request: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield a violation for each request whose rows are not what was announced.

    Args:
        rows: What the encoder made, (tokens, width).
        counts: Whole numbers, one for each item.
        request: `items`, `names`, `width` and `dtype`: see `walk_batch`.
    """
    made, width = flat_shape(rows)
    first_item, first_row = 0, 0
    for name, items in zip(request["names"], request["items"], strict=True):
        total = int(sum(counts[first_item : first_item + items]))
        # A negative count counts from the end.
        cut = len(range(made)[first_row : first_row + total])
        fields = {
            "request": name,
            "shape": f"[{total}, {request['width']}]",
            "dtype": request["dtype"],
            "made": f"[{cut}, {width}]",
            "made_dtype": str(rows.dtype),
        }
        wanted, got = "{shape}/{dtype}".format(**fields), "{made}/{made_dtype}".format(**fields)
        if wanted != got:
            yield Violation(AS_ANNOUNCED, f"rows of {name}", wanted, got, fields)
        first_item, first_row = first_item + items, first_row + total
