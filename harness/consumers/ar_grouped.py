"""ar-grouped: upstream's GLM-Image stage makes the prior tokens of the scheduler's group.

Driven: `run_grouped_requests`, against an honest AR server. What it does not take as one batch it
gives to its base, which is upstream's own too, and runs each request through the whole stage.

Left out: a prompt that is no text. What the model's processor makes of one is not known here.
"""

from collections.abc import Mapping

from harness.consumers.consumer import Lie
from harness.consumers.glm_image_stage import server_args
from harness.consumers.grouped_requests import GroupOfRequests, group
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream


class ArGrouped:
    """The consumer of ar-grouped."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._group = GroupOfRequests(upstream, module, device)

    def close(self) -> None:
        """Stop the AR server."""
        self._group.ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the group as the stage would receive it."""
        return group(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage made of the group."""
        stage = self._group.ar.stage
        return self._group.run(
            dims, lie, lambda asked, url: stage.run_grouped_requests(asked, server_args(url))
        )
