"""ar-grouped-shapes: upstream's GLM-Image stage makes the prior tokens of the head's group.

Driven: `generate_and_assign_prior_tokens`, as the distributed head calls it, against an honest AR
server. In service the head puts only requests of one size, of text alone, into a group.
"""

from collections.abc import Mapping

from harness.consumers.consumer import Lie
from harness.consumers.glm_image_stage import server_args
from harness.consumers.grouped_requests import GroupOfRequests, group
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream


class ArGroupedShapes:
    """The consumer of ar-grouped-shapes."""

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
        ar = self._group.ar
        return self._group.run(
            dims,
            lie,
            lambda asked, url: ar.stage.generate_and_assign_prior_tokens(
                asked, server_args(url), device=ar.device
            ),
        )
