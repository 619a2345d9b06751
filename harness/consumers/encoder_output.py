"""encoder-features and encoder-grid-dim: upstream cuts a processor's output for its items.

Driven: `MMEncoder.batch_encode` with upstream's own preprocessor behind it, from the requests to
what is staged for each. The preprocessor's look-up of grids and counts is real, as is the cut of
pixel features. The simulated model makes a row of each group of patches that it is given, so the
rows say which patches those were.

Provided, by name: what the image processor returns, its merge size, and what
`harness.consumers.encoder_server` lists.
"""

from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import (
    ended,
    fields_of,
    read_staged,
    request_name,
    with_refusals,
)
from harness.consumers.encoder_server import DTYPE, EncoderServer
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided, without
from simulators.encoder import RULES, WIDTH, honest_items, owner_of
from simulators.processed_media import honest_output, modelled_rows


class EncoderOutput:
    """The consumer of encoder-features and encoder-grid-dim."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the output as it would be cut."""
        return _passed(dims, lie, self._server.device)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request."""
        passed = _passed(dims, lie, self._server.device)
        server, refusals = self._server, dict[str, str]()
        modality = server.module.Modality.IMAGE
        requests = [fields_of(index, n) for index, n in enumerate(passed.request["items"])]

        def call() -> Output:
            encoder = self._encoder(passed.payload)
            answers = ended(encoder.batch_encode(requests, modality))
            return read_staged(server, encoder, answers, passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)

    def _encoder(self, payload: Mapping[str, Any]) -> Any:
        encoder = self._server.bare(_modelled)
        processor = without(Provided("the image processor"), ("merge_size",))
        if payload["merge_size"] is not None:
            processor = Provided("the image processor", merge_size=payload["merge_size"])

        async def process(items: Any, *rest: Any, **more: Any) -> Any:
            return dict(payload["fields"])

        if not self._server.splits_preprocessor:

            async def process_both(items: Any, asked: Any, log_metrics: bool = True) -> Any:
                return dict(payload["fields"]), _modelled

            encoder._process_mm_items, encoder.image_processor = process_both, processor
            return encoder
        preprocessor = object.__new__(self._server.module.EncoderPreprocessor)
        preprocessor.model_type, preprocessor._model_preprocessor = encoder.model_type, None
        preprocessor.image_processor = processor
        preprocessor._process_image_items = process
        encoder.preprocessor = preprocessor
        return encoder


def _modelled(items: Any) -> torch.Tensor:
    return modelled_rows(torch.cat([item.feature for item in items]))


def _passed(dims: Mapping[str, str], lie: Lie, device: torch.device) -> Passed:
    layout = [int(dims["each"])] * int(dims["requests"])
    payload = lie.told(honest_output(sum(layout), dims["pictures"]))
    items = honest_items(sum(layout), dims["pictures"]).records
    fields = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in payload.records[0].items()
    }
    told = {"fields": fields, "merge_size": payload.beside["merge_size"]}
    request = {
        "counts": [item.count for item in items],
        "grids": [item.grid for item in items],
        "items": layout,
        "names": [request_name(index) for index in range(len(layout))],
        "merge_size": RULES.merge,
        "width": WIDTH,
        "dtype": str(DTYPE),
    }
    return Passed(told, request, owner_of)
