"""ar-row-broadcast: the stage before the denoiser takes one row of prior tokens for each output.

- The prior tokens are a tensor with one row for each output; upstream lets one row stand for
  all of them, and refuses every other count.
- What else holds of the rows is in `contracts.clauses.token_rows`.

The payload holds `prior_token_id`; the request says `outputs` and `row_width`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import STAGE_FILE
from contracts.clauses.token_rows import (
    MATRIX_CLAUSES,
    ROWS_DIMENSION,
    WHERE,
    is_tensor,
    walk_matrix,
)
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

ROWS_TENSOR = Clause(
    "rows-tensor",
    "The prior tokens are a tensor.",
    incidental=("AttributeError",),
)
ROWS_EXPAND = Clause(
    "rows-expand",
    "There are as many rows of prior tokens as outputs, or one.",
    guards=(
        Guard(
            "ValueError",
            "Cannot expand tensor with batch size {got} to {expected}",
            Span("0.5.16"),
            Source("0.5.23", STAGE_FILE, "_repeat_to_batch"),
        ),
    ),
)
ROWS_EACH = Clause("rows-each", "Every output has a row of its own; none stands for another's.")

_CLAUSES = (ROWS_TENSOR, ROWS_DIMENSION, ROWS_EXPAND, ROWS_EACH, *MATRIX_CLAUSES)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    rows, outputs = payload["prior_token_id"], request["outputs"]
    if not is_tensor(rows):
        yield Violation(ROWS_TENSOR, WHERE, "a tensor", type(rows).__name__)
        yield from (Unchecked(clause, "there are no rows") for clause in _CLAUSES[1:])
        return
    shape = tuple(rows.shape)
    if not shape:
        yield Violation(ROWS_DIMENSION, WHERE, "rows", "a single number")
    elif shape[0] not in (1, outputs):
        fields = {"expected": outputs, "got": shape[0]}
        yield Violation(ROWS_EXPAND, WHERE, f"{outputs} token rows", str(shape[0]), fields)
    elif shape[0] != outputs:
        yield Violation(ROWS_EACH, WHERE, f"{outputs} token rows", "1 for all of them")
    yield from walk_matrix(rows, request, owner_of)


CONTRACT = Contract(
    "ar-row-broadcast",
    "The stage before the denoiser takes one row of prior tokens for each output.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
