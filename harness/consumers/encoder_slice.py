"""encoder-slice: upstream's encoder runs the items that no cache has, and cuts what it made.

Driven: `MMEncoder._encode_missing`, the one caller of `slice_embedding`, with all items or with
every second one missing from the global cache. In service it runs where that cache is on; before
0.5.19 also where several requests are encoded at once.

Provided, by name: see `harness.consumers.encoder_server`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.embedding_provenance import item_name, provenance
from harness.consumers.encoder_server import DTYPE, EncoderServer, Made, told_grids
from harness.outcome import Passed, Run, Span, Whose
from harness.stretches import Stretch, spans_between
from harness.upstream.loading import Upstream
from simulators.encoded_forms import returned_rows
from simulators.encoder import honest_items
from simulators.payload import Payload


class EncoderSlice:
    """The consumer of encoder-slice."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the rows and the counts as they would be cut."""
        return self._passed(dims, lie)[1]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return the embeddings that upstream cut."""
        payload, passed = self._passed(dims, lie)
        rows, chosen = passed.payload["rows"], passed.request["chosen"]
        layout, width = [len(payload.records)], passed.request["width"]
        made = Made(payload.records, layout, lambda: rows, width)
        encoder = self._server.encoder(made)

        def call() -> Output:
            cut = self._cut(encoder, made, chosen)
            return _read(cut, passed.request)

        return Run(outcome_of(self._upstream, call), passed)

    def _cut(self, encoder: Any, made: Made, chosen: Sequence[int]) -> list[torch.Tensor]:
        modality = self._server.module.Modality.IMAGE

        def feature(items: Any) -> Any:
            return made.rows()

        if self._server.splits_preprocessor:
            result = self._server.preprocessed(made)
            args = (result.mm_inputs["pixel_values"], result)
            return list(encoder._encode_missing(*args, list(chosen), modality, feature))
        grids = told_grids(made.items)
        inputs = self._server.inputs(grids)
        args = (inputs["pixel_values"], inputs)
        return list(encoder._encode_missing(*args, list(chosen), modality, feature, grids))

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> tuple[Payload, Passed]:
        count = int(dims["records"])
        width = int(dims["width"])
        honest = honest_items(count, dims["pictures"], width)
        payload = lie.told(honest)
        chosen = list(range(0, count, 1 if dims["missing"] == "all" else 2))
        rows = returned_rows(payload, chosen)
        if isinstance(rows, torch.Tensor):
            rows = rows.to(self._server.device)
        told = {"rows": rows, "counts": [item.count for item in payload.records]}
        request = {
            "counts": [item.count for item in honest.records],
            "chosen": chosen,
            "width": width,
            "dtype": str(DTYPE),
        }
        return payload, Passed(told, request, provenance(width))


def _read(cut: Sequence[torch.Tensor], request: Mapping[str, Any]) -> Output:
    found: list[Span] = []
    facts = {"count of embeddings": str(len(cut))}
    reader = provenance(request["width"])
    for item, embedding in zip(request["chosen"], cut, strict=False):
        place = item_name(item)
        has = reader.stretches(embedding, item_name)
        # Rows beyond its own are another's, and must be seen as such.
        count = max(request["counts"][item], sum(one.count for one in has))
        found += spans_between(place, [Stretch(Whose(place, 0), count)], has, "rows")
        facts[f"shape of {place}"] = str(tuple(embedding.shape))
        facts[f"dtype of {place}"] = str(embedding.dtype)
    return Output(tuple(found), facts, list(cut))
