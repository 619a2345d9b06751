"""ar-split: the prior tokens of several outputs are split into one request for each output.

- The prior tokens are a tensor of rows, one row for each output.
- A row is as long as the doubled grid, of 64-bit integers, and row i is output i's.
- There is one usage record for each output.

The payload is what the request holds: `prior_token_id` and `usage_by_output`. The request says
`outputs` (how many) and `row_width` (tokens in a row, 4 * height * width of the large grid). The
split is done only where the platform is an NPU; on every other one the rows pass on as they are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import STAGE_FILE, walk_origins
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

ROWS_DIMENSION = Clause(
    "rows-dimension",
    "The prior tokens have a dimension of rows.",
    incidental=("IndexError",),
)
ROWS_COUNT = Clause(
    "rows-count",
    "The prior tokens of several outputs are a tensor with one row for each output.",
    guards=(
        Guard(
            "RuntimeError",
            "Cannot split GLM-Image AR output for sequential inference: "
            "expected {expected} token rows, got {got}.",
            Span("0.5.18"),
            Source("0.5.23", STAGE_FILE, "GlmImageAR.iter_sequential_requests"),
            platforms=("npu",),
        ),
    ),
)
ROWS_SINGLE = Clause("rows-single", "The prior tokens of one output are a tensor with one row.")
ROWS_MATRIX = Clause("rows-matrix", "The prior tokens are two-dimensional: rows of tokens.")
ROW_WIDTH = Clause("row-width", "A row has one token for each cell of the doubled grid.")
ROW_DTYPE = Clause("row-dtype", "The tokens are 64-bit integers.")
ROW_IDENTITY = Clause("row-identity", "Row i is output i's.", identity=True)
ROW_POSITION = Clause("row-position", "Every token stands in its own cell.", identity=True)
USAGE_EACH = Clause("usage-each", "There is one usage record for each output.")

_OF_A_MATRIX = (ROW_WIDTH, ROW_DTYPE, ROW_IDENTITY, ROW_POSITION)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    rows, outputs = payload["prior_token_id"], request["outputs"]
    yield from _walk_rows(rows, outputs)
    if not _is_tensor(rows) or rows.dim() != 2:
        yield from (Unchecked(clause, "there are no rows") for clause in _OF_A_MATRIX)
    else:
        yield from _walk_matrix(rows, request, owner_of)
    usages = payload["usage_by_output"]
    count = len(usages) if isinstance(usages, list) else 0
    if count != outputs:
        yield Violation(USAGE_EACH, "usage_by_output", f"{outputs} records", str(count))


def _walk_rows(rows: Any, outputs: int) -> Iterator[Violation]:
    where, many = "prior_token_id", outputs > 1
    count_clause = ROWS_COUNT if many else ROWS_SINGLE
    if not _is_tensor(rows):
        got = type(rows).__name__
        fields = {"expected": outputs, "got": got}
        yield Violation(count_clause, where, f"{outputs} token rows", got, fields)
        return
    shape = tuple(rows.shape)
    if not shape:
        # One output is passed on before anything looks at its rows.
        accident = None if many else ()
        yield Violation(ROWS_DIMENSION, where, "rows", "a single number", incidental=accident)
    elif shape[0] != outputs:
        fields = {"expected": outputs, "got": shape[0]}
        yield Violation(count_clause, where, f"{outputs} token rows", str(shape[0]), fields)
    if len(shape) != 2:
        yield Violation(ROWS_MATRIX, where, "2 dimensions", str(len(shape)))


def _walk_matrix(
    rows: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    where, wanted = "prior_token_id", request["row_width"]
    width = rows.shape[1]
    if width != wanted:
        yield Violation(ROW_WIDTH, where, f"{wanted} tokens", str(width))
    if str(rows.dtype) != "torch.int64":
        yield Violation(ROW_DTYPE, where, "torch.int64", str(rows.dtype))
    if owner_of is None:
        reason = "whose rows they are can be told only by a stamp reader"
        yield from (Unchecked(clause, reason) for clause in (ROW_IDENTITY, ROW_POSITION))
        return
    clauses = (ROW_IDENTITY, ROW_POSITION)
    for index in range(min(rows.shape[0], request["outputs"])):
        origins = owner_of(rows[index].tolist())
        yield from walk_origins(origins, index, range(width), f"{where}[{index}]", clauses)


def _is_tensor(value: Any) -> bool:
    # By name, along the class's bases: contracts import nothing but the standard library.
    return any(
        base.__name__ == "Tensor" and base.__module__.split(".")[0] == "torch"
        for base in type(value).__mro__
    )


CONTRACT = Contract(
    "ar-split",
    "The prior tokens of several outputs are split into one request for each output.",
    (
        ROWS_DIMENSION,
        ROWS_COUNT,
        ROWS_SINGLE,
        ROWS_MATRIX,
        ROW_WIDTH,
        ROW_DTYPE,
        ROW_IDENTITY,
        ROW_POSITION,
        USAGE_EACH,
    ),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
