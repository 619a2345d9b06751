"""encoder-validate: upstream's encoder encodes one request, without the global cache.

Driven: `MMEncoder.encode`, from the request to what is staged for it and answered. From 0.5.19 on
it is a batch of one; before, nothing cuts the rows, and nothing compares them with a grid. With
`entry=cached` the prefix cache is on and has the rows of the request, made by an honest encode
before; then the lie stands in the cache, as if an entry had gone bad.

Provided, by name: see `harness.consumers.encoder_server`. The prefix cache is upstream's own.
"""

from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoded_requests import (
    Answer,
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

#: Bytes that the prefix cache may hold.
_CACHE_BYTES = 1 << 20


class EncoderValidate:
    """The consumer of encoder-validate."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the rows and the counts as they would be compared."""
        return self._passed(dims, lie)[1]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for the request."""
        payload, passed = self._passed(dims, lie)
        server, refusals = self._server, dict[str, str]()

        def call() -> Output:
            cache = self._filled(dims, passed) if dims["entry"] == "cached" else None
            encoder = server.encoder(made_of(payload, passed), cache)
            answer = self._encode(encoder, passed)
            return read_staged(server, encoder, [answer], passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)

    def _encode(self, encoder: Any, passed: Passed) -> Answer:
        asked = fields_of(0, passed.request["items"][0])
        answer: Answer = ended(encoder.encode(modality=self._server.module.Modality.IMAGE, **asked))
        return answer

    def _filled(self, dims: Mapping[str, str], passed: Passed) -> Any:
        """Return a prefix cache with the request's rows, in place of the honest ones."""
        cache = self._server.module.MultiModalStaticCache(_CACHE_BYTES)
        rows, width = passed.payload["rows"], passed.request["width"]
        honest_payload, honest = self._passed(dims, Lie((), None))  # type: ignore[arg-type]
        self._encode(self._server.encoder(made_of(honest_payload, honest), cache), honest)
        if isinstance(rows, torch.Tensor):
            # As it is stored: flat, and on the CPU.
            flat = rows.cpu().reshape(-1, rows.shape[-1] if rows.dim() > 1 else width)
            for entry in cache.mm_cache.values():
                entry.embedding = flat
        return cache

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> tuple[Payload, Passed]:
        layout = [int(dims["records"])]
        return passed_batch(layout, dims, lie, self._server.device)
