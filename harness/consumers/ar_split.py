"""ar-split: upstream's GLM-Image stage splits prior tokens into one request for each output.

The split is entered only where the pipeline says that outputs are run one after the other,
which is upstream's answer on an NPU; the harness provides that answer.
"""

from collections.abc import Mapping

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.glm_image_stage import (
    PROMPTS,
    load_stage,
    request,
    seed_of,
    server_args,
    size_of,
)
from harness.consumers.split_requests import read_requests, rows_of
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream


class ArSplit:
    """The consumer of ar-split."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        _, self._stage = load_stage(upstream, module, torch.device(device))

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the prior tokens as the stage would receive them."""
        return rows_of(dims, lie, self._device).passed

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the prior tokens."""
        rows = rows_of(dims, lie, self._device)
        height, width = size_of(dims)
        seed = seed_of(dims, 0, rows.outputs)
        one = request(PROMPTS[0], height, width, rows.outputs, seed)
        one.prior_token_id = rows.passed.payload["prior_token_id"]
        one.usage = {"total_tokens": -1}
        one.extra["usage_by_output"] = list(rows.passed.payload["usage_by_output"])
        one.request_id = "request"
        args = server_args("", sequential=True)

        def call() -> Output:
            parts = list(self._stage.iter_sequential_requests(one, args))
            return read_requests(parts, rows)

        return Run(outcome_of(self._upstream, call), rows.passed)
