"""ar-row-broadcast: upstream's stage before the denoiser takes prior tokens for its outputs.

Driven: `GlmImageBeforeDenoisingStage.forward`, whole, for a request without pictures. It brings
every input of the denoiser to the count of outputs with `_repeat_to_batch`.
"""

from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.glm_image_before import build_before, canvas_request
from harness.consumers.glm_image_stage import PROMPTS, load_stage, server_args, size_of
from harness.consumers.split_requests import Rows, row_spans, rows_of
from harness.outcome import Passed, Run, Span
from harness.upstream.loading import Upstream


class ArRowBroadcast:
    """The consumer of ar-row-broadcast."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        glm, _ = load_stage(upstream, module, torch.device(device))
        self._stage = build_before(glm)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the prior tokens as the stage would receive them."""
        return rows_of(dims, lie, self._device).passed

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the prior tokens."""
        rows = rows_of(dims, lie, self._device)
        tokens = rows.passed.payload["prior_token_id"]
        one = canvas_request(PROMPTS[0], *size_of(dims), rows.outputs, tokens)

        def call() -> Output:
            return _read(self._stage.forward(one, server_args("")), rows)

        return Run(outcome_of(self._upstream, call), rows.passed)


def _read(done: Any, rows: Rows) -> Output:
    tokens = done.prior_token_id
    found: list[Span] = []
    for index in range(rows.outputs):
        row = tokens[index] if index < len(tokens) else None
        found += row_spans(f"output {index}", index, row, rows)
    facts = {
        "shape of the prior tokens": str(tuple(tokens.shape)),
        "dtype of the prior tokens": str(tokens.dtype),
        "shape of the latents": str(tuple(done.latents.shape)),
        "shape of the prompt": str([tuple(part.shape) for part in done.prompt_embeds]),
    }
    return Output(tuple(found), facts, [tokens, done.latents])
