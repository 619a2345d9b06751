"""encoder-stage: upstream's encoder encodes several requests at once and stages each one's part.

Driven: `MMEncoder.batch_encode`, the entry of every batch, from the requests to what is staged
for each of them and answered. Read: whose rows stand where in each request's embedding, what is
told of its size, and its grids.

Provided, by name: see `harness.consumers.encoder_server`.
"""

from collections.abc import Mapping

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import (
    ended,
    fields_of,
    made_of,
    passed_batch,
    read_staged,
    with_refusals,
)
from harness.consumers.encoder_server import EncoderServer
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.payload import Payload


class EncoderStage:
    """The consumer of encoder-stage."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the rows and the counts as they would be staged."""
        return self._passed(dims, lie)[1]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request."""
        payload, passed = self._passed(dims, lie)
        server, refusals = self._server, dict[str, str]()
        layout = passed.request["items"]
        requests = [fields_of(index, items) for index, items in enumerate(layout)]
        modality = server.module.Modality.IMAGE

        def call() -> Output:
            encoder = server.encoder(made_of(payload, passed))
            answers = ended(encoder.batch_encode(requests, modality))
            return read_staged(server, encoder, answers, passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> tuple[Payload, Passed]:
        layout = [int(dims["each"])] * int(dims["requests"])
        return passed_batch(layout, dims, lie, self._server.device)
