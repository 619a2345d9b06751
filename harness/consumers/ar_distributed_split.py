"""ar-distributed-split: a denoiser worker splits prior tokens into one request for each output.

Driven: `SchedulerDisaggMixin._execute_glm_distributed_denoiser_request`, as a worker calls it for
a request of the head. It splits only where its pipeline says that outputs are run one after the
other, which is upstream's answer on an NPU; the harness provides that answer.

Provided, by name: the request, the worker that would denoise (it keeps the requests that it is
given), the socket to the head, and a trace that traces nothing.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.disaggregation import OutputBatch, load_disaggregated
from harness.consumers.glm_image_stage import PROMPTS, seed_of, server_args, size_of
from harness.consumers.split_requests import read_requests, rows_of
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided


class ArDistributedSplit:
    """The consumer of ar-distributed-split."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        mixin = load_disaggregated(upstream, module).SchedulerDisaggMixin
        self._execute = mixin._execute_glm_distributed_denoiser_request

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the prior tokens as the worker would receive them."""
        return rows_of(dims, lie, self._device).passed

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the worker did with the prior tokens."""
        rows = rows_of(dims, lie, self._device)
        one = _request(dims, rows.outputs)
        one.prior_token_id = rows.passed.payload["prior_token_id"]
        one.extra["usage_by_output"] = list(rows.passed.payload["usage_by_output"])
        kept: list[Any] = []

        def call() -> Output:
            self._execute(_scheduler(kept), one, "request")
            return read_requests(kept, rows)

        return Run(outcome_of(self._upstream, call), rows.passed)


def _scheduler(kept: list[Any]) -> Provided:
    def one_by_one(requests: list[Any]) -> list[OutputBatch]:
        kept.extend(requests)
        return [OutputBatch() for _ in requests]

    def at_once(requests: list[Any]) -> OutputBatch:
        kept.extend(requests)
        return OutputBatch()

    worker = Provided(
        "worker",
        execute_forward_sequentially=one_by_one,
        execute_forward=at_once,
        _merge_expanded_output_batches=lambda batches: OutputBatch(),
    )
    return Provided(
        "scheduler",
        server_args=server_args("", sequential=True),
        worker=worker,
        _disagg_trace_dispatch=lambda request: nullcontext(),
        _pool_result_push=Provided("socket", send_multipart=lambda parts, **flags: None),
        _disagg_metrics=None,
    )


def _request(dims: Mapping[str, str], outputs: int) -> Provided:
    height, width = size_of(dims)
    return Provided(
        "Req",
        prompt=PROMPTS[0],
        height=height,
        width=width,
        num_outputs_per_prompt=outputs,
        seed=seed_of(dims, 0, outputs),
        seeds=None,
        generator=None,
        request_id="request",
        prior_token_id=None,
        usage={"total_tokens": -1},
        extra={},
        condition_inputs={},
        sampling_params=Provided(
            "sampling_params", refresh_request_extra_after_output_expansion=lambda request: None
        ),
        metrics=None,
        trace_ctx=Provided("trace_ctx", tracing_enable=False),
        output_file_name=None,
        save_output=True,
        return_file_paths_only=True,
        validate=lambda: None,
    )
