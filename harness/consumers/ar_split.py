"""ar-split: upstream's GLM-Image stage splits prior tokens into one request for each output.

The split is entered only where the pipeline says that outputs are run one after the other,
which is upstream's answer on an NPU; the harness provides that answer.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from contracts.clauses.prior_tokens import prior_shape
from contracts.contract import Origin
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import (
    PROMPTS,
    load_stage,
    request,
    seed_of,
    server_args,
    size_of,
)
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.prior_grid import prior_grids
from simulators.prior_rows import assembled, honest_rows, sequences
from simulators.stamp import StampReader


class ArSplit:
    """The consumer of ar-split."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        self._glm, self._stage = load_stage(upstream, module, torch.device(device))

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the prior tokens as the stage would receive them."""
        passed, _ = self._passed(*_size(dims), lie)
        return passed

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the prior tokens."""
        outputs, row_width = _size(dims)
        height, width = size_of(dims)
        passed, reader = self._passed(outputs, row_width, lie)
        one = request(PROMPTS[0], height, width, outputs, seed_of(dims, 0, outputs))
        one.prior_token_id = passed.payload["prior_token_id"]
        one.usage = {"total_tokens": -1}
        one.extra["usage_by_output"] = list(passed.payload["usage_by_output"])
        one.request_id = "request"
        args = server_args("", sequential=True)

        def call() -> Output:
            parts = list(self._stage.iter_sequential_requests(one, args))
            return _read(parts, outputs, row_width, reader)

        return Run(outcome_of(self._upstream, call), passed)

    def _passed(self, outputs: int, row_width: int, lie: Lie) -> tuple[Passed, StampReader]:
        payload = lie.told(honest_rows(outputs, row_width, self._device))
        reader = StampReader(sequences(outputs, row_width))
        asked = {"outputs": outputs, "row_width": row_width}
        return Passed(
            {"prior_token_id": assembled(payload), **payload.beside}, asked, reader
        ), reader


def _size(dims: Mapping[str, str]) -> tuple[int, int]:
    shape = prior_shape(prior_grids(*size_of(dims)))
    return int(dims["records"]), 4 * shape.height * shape.width


def _read(parts: Sequence[Any], outputs: int, row_width: int, reader: StampReader) -> Output:
    found: list[Span] = []
    facts = {"count of requests": str(len(parts))}
    for index, part in enumerate(parts):
        row = part.prior_token_id
        facts |= _facts(index, part, row)
        if index < outputs:
            wants = [Whose(f"output {index}", i) for i in range(row_width)]
            has = [_whose(o) for o in reader.read(_tokens(row), Origin(index, 0))]
            found += spans(f"request {index}", wants, has)
    return Output(tuple(found), facts, list(parts))


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
