"""encoder-layout: upstream lays a preprocessor's batch out over its requests, and encodes it.

Driven: `MMEncoder.batch_encode`, the entry of every batch, or `MMEncoder.encode` where there is one
request, from the requests to what is staged for each and answered. The layout is told by the
preprocessor; before 0.5.19 the encoder counted the items itself.

Provided, by name: see `harness.consumers.prepared_batch`.
"""

from collections.abc import Mapping
from typing import Any

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import (
    Answer,
    ended,
    fields_of,
    read_staged,
    with_refusals,
)
from harness.consumers.encoder_server import EncoderServer
from harness.consumers.prepared_batch import (
    asked_of,
    layout_of,
    part_of,
    passed_prepared,
    prepared_encoder,
    with_status,
)
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.prepared_requests import honest_requests
from simulators.processed_media import modelled_rows


class EncoderLayout:
    """The consumer of encoder-layout."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the batch as it would be laid out."""
        return self._passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request."""
        passed, refusals = self._passed(dims, lie), dict[str, str]()

        def call() -> Output:
            encoder = prepared_encoder(self._server, passed.payload, modelled_rows)
            answers = with_status(self._answers(encoder, passed.request["items"]))
            return read_staged(self._server, encoder, answers, passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> Passed:
        layout, pictures = layout_of(dims), dims["pictures"]
        part = part_of(lie.told(honest_requests(layout, pictures)), self._server.device)
        return passed_prepared(part, asked_of(layout, pictures))

    def _answers(self, encoder: Any, layout: list[int]) -> list[Answer]:
        modality = self._server.module.Modality.IMAGE
        requests = [fields_of(index, items) for index, items in enumerate(layout)]
        if len(requests) == 1:
            return [ended(encoder.encode(modality=modality, **requests[0]))]
        return list(ended(encoder.batch_encode(requests, modality)))
