"""ar-batch: upstream's GLM-Image stage asks a simulated AR server for several items at once.

Entries: `grouped` is `run_grouped_requests` with several requests, `forward` is `forward` with
one prompt and several outputs, `batch` is `generate_prior_tokens_batch` itself.
"""

import inspect
from collections.abc import Callable, Mapping

from harness.consumers.ar_exchange import ArExchange, Call, Produced, Seen, passed
from harness.consumers.consumer import Lie
from harness.consumers.glm_image_stage import PROMPTS, request, seed_of, server_args, size_of
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream


class ArBatch:
    """The consumer of ar-batch."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._ar = ArExchange(upstream, module, device)
        method = self._ar.stage.generate_prior_tokens_batch
        takes_device = "device" in inspect.signature(method).parameters
        self._on_device = {"device": self._ar.device} if takes_device else {}

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed | None:
        """Return the reply that the server would give to the golden run's request."""
        return passed(self._ar.ask(lie, golden.passed.request)) if golden.passed else None

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the simulated server's reply."""
        return self._ar.drive(lie, dims, self._call(dims))

    def drive_against(
        self, url: str, dims: Mapping[str, str], exchange: Callable[[], Seen | None]
    ) -> Run:
        """Return what the stage did with the reply of a server that is not ours."""
        return self._ar.drive_against(url, dims, self._call(dims), exchange)

    def _call(self, dims: Mapping[str, str]) -> Call:
        entries = {"batch": self._batch, "grouped": self._grouped, "forward": self._forward}
        entry = entries[dims["entry"]]
        return lambda url: entry(dims, url)

    def _batch(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        prompts = list(PROMPTS[: int(dims["records"])])
        seeds = [seed_of(dims, 10 * index, 1) for index in range(len(prompts))]
        rows, usages = self._ar.stage.generate_prior_tokens_batch(
            prompts=prompts,
            seeds=[seed[0] if isinstance(seed, list) else seed for seed in seeds],
            height=height,
            width=width,
            server_args=server_args(url),
            **self._on_device,
        )
        return Produced(rows, usages)

    def _grouped(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        outputs = int(dims["outputs"])
        batches = [
            request(PROMPTS[index], height, width, outputs, seed_of(dims, 10 * index, outputs))
            for index in range(int(dims["records"]) // outputs)
        ]
        return Produced.of_requests(self._ar.stage.run_grouped_requests(batches, server_args(url)))

    def _forward(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        outputs = int(dims["outputs"])
        one = request(PROMPTS[0], height, width, outputs, seed_of(dims, 0, outputs))
        return Produced.of_requests([self._ar.stage.forward(one, server_args(url))])
