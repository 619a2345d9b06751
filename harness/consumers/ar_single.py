"""ar-single: upstream's GLM-Image stage asks a simulated AR server for one item.

Entries: `prior` is `generate_prior_tokens`, `forward` is `forward` with one prompt and one output.
"""

import inspect
from collections.abc import Mapping

from harness.consumers.ar_exchange import ArExchange, Produced, passed
from harness.consumers.consumer import Lie
from harness.consumers.glm_image_stage import PROMPTS, request, seed_of, server_args, size_of
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream


class ArSingle:
    """The consumer of ar-single."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._ar = ArExchange(upstream, module, device)
        parameters = inspect.signature(self._ar.stage.generate_prior_tokens).parameters
        self._takes_seed = "seed" in parameters

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed | None:
        """Return the reply that the server would give to the golden run's request."""
        return passed(self._ar.ask(lie, golden.passed.request)) if golden.passed else None

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with the simulated server's reply."""
        entry = self._prior if dims.get("entry", "prior") == "prior" else self._forward
        return self._ar.drive(lie, dims, lambda url: entry(dims, url))

    def _prior(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        seed = seed_of(dims, 0, 1)
        first = {"seed": seed[0] if isinstance(seed, list) else seed}
        rows, _, *usage = self._ar.stage.generate_prior_tokens(
            PROMPTS[0], height, width, server_args(url), **(first if self._takes_seed else {})
        )
        return Produced([rows], usage)

    def _forward(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        one = request(PROMPTS[0], height, width, 1, seed_of(dims, 0, 1))
        done = self._ar.stage.forward(one, server_args(url))
        # Before 0.5.18 the stage keeps no usage.
        return Produced([done.prior_token_id], done.extra.get("usage_by_output", []))
