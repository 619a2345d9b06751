"""encoder-parts: upstream's receiver joins the parts of an encoder's embedding.

Driven, with one part after the other until all are there, as the receiver's loops do:
`_aggregate_embedding_part`, or where a release has none the two calls that it is made of, and
then `get_embedding` and `get_mm_extra_meta`. The id of a part has been reduced to its request's,
as those loops do first. A request whose parts never come waits; its time-out is not waited for.
"""

from collections.abc import Mapping
from typing import Any

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_receiver import (
    load_with_modality,
    part_of,
    passed_parts,
    read_embeddings,
)
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.embedding_parts import honest_parts
from simulators.payload import Payload

_MODEL = "qwen2_5_vl"


class EncoderParts:
    """The consumer of encoder-parts."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        self._receiver = load_with_modality(upstream, module)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the parts as they would arrive."""
        return passed_parts(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the parts became."""
        honest = _honest(dims)
        passed = passed_parts(lie.told(honest), dims)

        def call() -> Output:
            joined = None
            for record in passed.payload:
                if joined is not None and joined.ready:
                    break
                joined = self._add(joined, part_of(self._receiver, record, record["request"]))
            if joined is None or not joined.ready:
                return read_embeddings(None, {}, passed, honest)
            embeddings = joined.get_embedding(is_concat=True)
            return read_embeddings(embeddings, joined.get_mm_extra_meta(), passed, honest)

        return Run(outcome_of(self._upstream, call), passed)

    def _add(self, joined: Any, part: Any) -> Any:
        together = getattr(self._receiver, "_aggregate_embedding_part", None)
        if together is not None:
            return together(joined, part, _MODEL)
        if joined is None:
            kind = self._receiver.MultiModalEmbeddingData
            return kind.from_embedding_data(part, model_type=_MODEL)
        joined.add(part)
        return joined


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_parts(int(dims["records"]), dims["modality"], dims["dtype"])
