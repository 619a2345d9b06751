"""Reading back what a split made: one request for each output, and whose tokens each holds."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from contracts.clauses.prior_tokens import prior_shape
from contracts.contract import Origin
from harness.consumers.consumer import Lie, Output, spans
from harness.consumers.glm_image_stage import size_of
from harness.outcome import Passed, Span, Whose
from simulators.prior_grid import prior_grids
from simulators.prior_rows import assembled, honest_rows, sequences
from simulators.stamp import StampReader


class Rows(NamedTuple):
    """What a seam of prior tokens receives, and who reads it back."""

    passed: Passed
    reader: StampReader
    outputs: int
    row_width: int


def rows_of(dims: Mapping[str, str], lie: Lie, device: str) -> Rows:
    """Return the prior tokens and usage records of a case, under its lie."""
    shape = prior_shape(prior_grids(*size_of(dims)))
    outputs, row_width = int(dims["records"]), 4 * shape.height * shape.width
    payload = lie.told(honest_rows(outputs, row_width, device))
    reader = StampReader(sequences(outputs, row_width))
    asked = {"outputs": outputs, "row_width": row_width}
    rows = {"prior_token_id": assembled(payload), **payload.beside}
    return Rows(Passed(rows, asked, reader), reader, outputs, row_width)


def read_requests(parts: Sequence[Any], rows: Rows) -> Output:
    """Return what can be seen of the requests that a split made."""
    found: list[Span] = []
    facts = {"count of requests": str(len(parts))}
    for index, part in enumerate(parts):
        row = part.prior_token_id
        facts |= _facts(index, part, row)
        if index < rows.outputs:
            found += row_spans(f"request {index}", index, row, rows)
    return Output(tuple(found), facts, list(parts))


def row_spans(place: str, index: int, row: Any, rows: Rows) -> tuple[Span, ...]:
    """Return whose tokens one output's row holds."""
    wants = [Whose(f"output {index}", i) for i in range(rows.row_width)]
    has = [_whose(o) for o in rows.reader.read(_tokens(row), Origin(index, 0))]
    return spans(place, wants, has)


def _tokens(row: Any) -> list[Any]:
    if not isinstance(row, torch.Tensor):
        return []
    # A float row still says whose it is; that it is float stands in the facts.
    return [int(t) if float(t).is_integer() else t for t in row.flatten().tolist()]


def _facts(index: int, part: Any, row: Any) -> dict[str, str]:
    tensor = isinstance(row, torch.Tensor)
    return {
        f"shape of request {index}": str(tuple(row.shape) if tensor else type(row).__name__),
        f"dtype of request {index}": str(row.dtype if tensor else type(row).__name__),
        f"usage of request {index}": json.dumps(part.usage, sort_keys=True),
        f"seed of request {index}": str(part.seed),
        f"id of request {index}": str(part.request_id),
    }


def _whose(origin: Origin | None) -> Whose | None:
    if origin is None:
        return None
    named = f"output {origin.owner}" if isinstance(origin.owner, int) else origin.owner
    return Whose(named, origin.position)
