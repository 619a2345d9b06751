"""ar-batch: upstream's GLM-Image stage asks a simulated AR server over real HTTP.

Entries: `grouped` is `run_grouped_requests` with several requests, `forward` is `forward` with
one prompt and several outputs, `batch` is `generate_prior_tokens_batch` itself.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
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
from harness.outcome import Passed, Run, Whose
from harness.upstream.loading import Upstream
from simulators.ar_server import ArServer, ArSimulator, Exchange, Injection, Plan
from simulators.prior_grid import prior_grids
from simulators.stamp import StampReader


class ArBatch:
    """The consumer of ar-batch."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._glm, self._stage = load_stage(upstream, module, self._device)
        method = self._stage.generate_prior_tokens_batch
        takes_device = "device" in inspect.signature(method).parameters
        self._on_device = {"device": self._device} if takes_device else {}
        self._simulator = ArSimulator(upstream.tree.release, kept_exchanges=4)
        self._server = ArServer(self._simulator)
        self._server.__enter__()

    def close(self) -> None:
        """Stop the AR server."""
        self._server.__exit__(None, None, None)

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed | None:
        """Return the reply that the server would give to the golden run's request."""
        if golden.passed is None:
            return None
        self._plan(lie)
        self._simulator.answer("POST", "/generate", json.dumps(golden.passed.request).encode())
        return _passed(self._exchange())

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the simulated server's reply."""
        self._plan(lie)
        return self.drive_against(self._server.url, dims, self._exchange)

    def drive_against(
        self, url: str, dims: Mapping[str, str], exchange: Callable[[], Exchange | None]
    ) -> Run:
        """Return what the stage did with the reply of any server.

        Args:
            url: The server's base URL.
            dims: Size of the request.
            exchange: Returns what was asked and answered, once the call is over.
        """
        reading = _Reading(dims, exchange)
        call = self._entry(dims, url)
        outcome = outcome_of(self._upstream, lambda: reading.output(call()))
        return Run(outcome, _passed(exchange()))

    def _plan(self, lie: Lie) -> None:
        self._simulator.plan = Plan(tuple(Injection(fault, at) for fault, at in lie.steps))
        self._simulator.forget()

    def _exchange(self) -> Exchange | None:
        exchanges = self._simulator.exchanges
        return exchanges[-1] if exchanges else None

    def _entry(self, dims: Mapping[str, str], url: str) -> Callable[[], "_Produced"]:
        entries = {"batch": self._batch, "grouped": self._grouped, "forward": self._forward}
        entry = entries[dims["entry"]]
        return lambda: entry(dims, url)

    def _batch(self, dims: Mapping[str, str], url: str) -> "_Produced":
        height, width = size_of(dims)
        prompts = list(PROMPTS[: int(dims["records"])])
        seeds = [seed_of(dims, 10 * index, 1) for index in range(len(prompts))]
        flat = [seed[0] if isinstance(seed, list) else seed for seed in seeds]
        return _Produced(
            *self._stage.generate_prior_tokens_batch(
                prompts=prompts,
                seeds=flat,
                height=height,
                width=width,
                server_args=server_args(url),
                **self._on_device,
            )
        )

    def _grouped(self, dims: Mapping[str, str], url: str) -> "_Produced":
        height, width = size_of(dims)
        outputs = int(dims["outputs"])
        batches = [
            request(PROMPTS[index], height, width, outputs, seed_of(dims, 10 * index, outputs))
            for index in range(int(dims["records"]) // outputs)
        ]
        done = self._stage.run_grouped_requests(batches, server_args(url))
        return _Produced.of_requests(done)

    def _forward(self, dims: Mapping[str, str], url: str) -> "_Produced":
        height, width = size_of(dims)
        outputs = int(dims["outputs"])
        one = request(PROMPTS[0], height, width, outputs, seed_of(dims, 0, outputs))
        return _Produced.of_requests([self._stage.forward(one, server_args(url))])


class _Produced:
    """The stage's output, one row of prior tokens and one usage record for each output."""

    def __init__(self, rows: Sequence[Any], usages: Sequence[Any]) -> None:
        self.rows = list(rows)
        self.usages = list(usages)

    @classmethod
    def of_requests(cls, requests: Sequence[Any]) -> "_Produced":
        rows = [row for one in requests for row in one.prior_token_id.split(1)]
        return cls(rows, [usage for one in requests for usage in one.extra["usage_by_output"]])


class _Reading:
    """Reads whose tokens came out, from the stamps, against whose should have."""

    def __init__(self, dims: Mapping[str, str], exchange: Callable[[], Exchange | None]) -> None:
        self._count = int(dims["records"])
        self._shape = prior_shape(prior_grids(*size_of(dims)))
        self._exchange = exchange

    def output(self, produced: _Produced) -> Output:
        exchange = self._exchange()
        reader = StampReader(exchange.sequences if exchange is not None else {})
        found = [
            span
            for index, row in enumerate(produced.rows[: self._count])
            for span in self._of_row(index, row, reader)
        ]
        facts = {"count of outputs": str(len(produced.rows))}
        for index, row in enumerate(produced.rows):
            facts[f"shape of output {index}"] = str(tuple(row.shape))
            facts[f"dtype of output {index}"] = str(row.dtype)
        for index, usage in enumerate(produced.usages):
            facts[f"usage of output {index}"] = json.dumps(usage, sort_keys=True)
        return Output(tuple(found), facts, [produced.rows, produced.usages])

    def _of_row(self, index: int, row: torch.Tensor, reader: StampReader) -> tuple[Any, ...]:
        shape = self._shape
        place, start = f"output {index}", shape.offset
        wants = [Whose(f"prompt {index}", start + i) for i in range(shape.height * shape.width)]
        has: list[Whose | None] = []
        if row.numel() == 4 * len(wants):
            doubled = row.reshape(2 * shape.height, 2 * shape.width)
            blocks = doubled[::2, ::2]
            again = blocks.repeat_interleave(2, 0).repeat_interleave(2, 1)
            if torch.equal(again, doubled):
                tokens = blocks.flatten().tolist()
                has = [_whose(o) for o in reader.read(tokens, Origin(index, start))]
        return spans(place, wants, has)


def _passed(exchange: Exchange | None) -> Passed | None:
    if exchange is None:
        return None
    return Passed(exchange.reply, exchange.request, StampReader(exchange.sequences))


def _whose(origin: Origin | None) -> Whose | None:
    if origin is None:
        return None
    named = f"prompt {origin.owner}" if isinstance(origin.owner, int) else origin.owner
    return Whose(named, origin.position)
