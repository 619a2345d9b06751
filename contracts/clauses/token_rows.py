"""What must hold for the prior tokens of several outputs, wherever they pass as rows.

- The prior tokens are a tensor of rows, one row for each output.
- A row is as long as the doubled grid, of 64-bit integers, and row i is output i's.
- Where they are split, there is one usage record for each output.

A request says `outputs` (how many) and `row_width` (tokens in a row, 4 * height * width of the
large grid). What becomes of a wrong count is the business of each seam, and so is its guard.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import walk_origins
from contracts.contract import Clause, Guard, OwnerOf, Unchecked, Violation

ROWS_DIMENSION = Clause(
    "rows-dimension",
    "The prior tokens have a dimension of rows.",
    incidental=("IndexError",),
)
ROWS_SINGLE = Clause("rows-single", "The prior tokens of one output are a tensor with one row.")
ROWS_MATRIX = Clause("rows-matrix", "The prior tokens are two-dimensional: rows of tokens.")
ROW_WIDTH = Clause("row-width", "A row has one token for each cell of the doubled grid.")
ROW_DTYPE = Clause("row-dtype", "The tokens are 64-bit integers.")
ROW_IDENTITY = Clause("row-identity", "Row i is output i's.", identity=True)
ROW_POSITION = Clause("row-position", "Every token stands in its own cell.", identity=True)
USAGE_EACH = Clause("usage-each", "There is one usage record for each output.")

#: What holds of the rows themselves, once they are rows.
MATRIX_CLAUSES = (ROWS_MATRIX, ROW_WIDTH, ROW_DTYPE, ROW_IDENTITY, ROW_POSITION)

WHERE = "prior_token_id"

Found = Iterator[Violation | Unchecked]


def rows_count(guard: Guard) -> Clause:
    """Return the clause about the count of rows, as the guard of a split checks it."""
    return Clause(
        "rows-count",
        "The prior tokens of several outputs are a tensor with one row for each output.",
        guards=(guard,),
    )


def split_clauses(count: Clause) -> tuple[Clause, ...]:
    """Return all clauses of a split, in the order in which upstream meets them."""
    return (ROWS_DIMENSION, count, ROWS_SINGLE, *MATRIX_CLAUSES, USAGE_EACH)


def split_walk(
    count: Clause,
) -> Callable[[Mapping[str, Any], Mapping[str, Any], OwnerOf | None], Found]:
    """Return the walk of a split into one request for each output.

    Args:
        count: The clause about the count of rows; what it guards differs between the splits.
    """

    def walk(
        payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
    ) -> Found:
        rows, outputs = payload["prior_token_id"], request["outputs"]
        yield from _walk_count(rows, outputs, count)
        yield from walk_matrix(rows, request, owner_of)
        usages = payload["usage_by_output"]
        found = len(usages) if isinstance(usages, list) else 0
        if found != outputs:
            yield Violation(USAGE_EACH, "usage_by_output", f"{outputs} records", str(found))

    return walk


def _walk_count(rows: Any, outputs: int, count: Clause) -> Iterator[Violation]:
    many = outputs > 1
    count_clause = count if many else ROWS_SINGLE
    if not is_tensor(rows):
        got = type(rows).__name__
        fields = {"expected": outputs, "got": got}
        yield Violation(count_clause, WHERE, f"{outputs} token rows", got, fields)
        return
    shape = tuple(rows.shape)
    if not shape:
        # One output is passed on before anything looks at its rows.
        accident = None if many else ()
        yield Violation(ROWS_DIMENSION, WHERE, "rows", "a single number", incidental=accident)
    elif shape[0] != outputs:
        fields = {"expected": outputs, "got": shape[0]}
        yield Violation(count_clause, WHERE, f"{outputs} token rows", str(shape[0]), fields)


def walk_matrix(rows: Any, request: Mapping[str, Any], owner_of: OwnerOf | None) -> Found:
    """Yield what the rows break by their form and by whose they are."""
    if is_tensor(rows) and rows.dim() != 2:
        yield Violation(ROWS_MATRIX, WHERE, "2 dimensions", str(rows.dim()))
    if not is_tensor(rows) or rows.dim() != 2:
        yield from (Unchecked(clause, "there are no rows") for clause in MATRIX_CLAUSES[1:])
        return
    wanted, width = request["row_width"], rows.shape[1]
    if width != wanted:
        yield Violation(ROW_WIDTH, WHERE, f"{wanted} tokens", str(width))
    if str(rows.dtype) != "torch.int64":
        yield Violation(ROW_DTYPE, WHERE, "torch.int64", str(rows.dtype))
    if owner_of is None:
        reason = "whose rows they are can be told only by a stamp reader"
        yield from (Unchecked(clause, reason) for clause in (ROW_IDENTITY, ROW_POSITION))
        return
    clauses = (ROW_IDENTITY, ROW_POSITION)
    for index in range(min(rows.shape[0], request["outputs"])):
        origins = owner_of(rows[index].tolist())
        yield from walk_origins(origins, index, range(width), f"{WHERE}[{index}]", clauses)


def is_tensor(value: Any) -> bool:
    """Return whether a value is a torch tensor.

    By name, along the class's bases: contracts import nothing but the standard library.
    """
    return any(
        base.__name__ == "Tensor" and base.__module__.split(".")[0] == "torch"
        for base in type(value).__mro__
    )
