"""encoder-item-grid: upstream hands the items of a model's own preprocessor to the model.

Driven: `MMEncoder.batch_encode` with `entry=batch`; `MMEncoder.encode` with `entry=cached`, where
the prefix cache is on and has the rows of another request of as many items, encoded before; with
`entry=keys` the function that prepares a batch, up to the keys for the cache that servers share
(what follows it pins memory for a card). The output that keeps items apart is upstream's own
`EncoderPreprocessOutput`, of its own media items; the preprocessor behind it is upstream's too.

Provided, by name: see `harness.consumers.processing_encoder`. A key that the preprocessor does not
give is made of the item's features. The prefix cache is upstream's own.
"""

import asyncio
import importlib
from collections.abc import Mapping, Sequence
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
from harness.consumers.encoder_server import DTYPE, OLD_SERVER, SERVER, EncoderServer
from harness.consumers.processing_encoder import processing_encoder
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.encoder import RULES, WIDTH, honest_items, owner_of
from simulators.media_items import MediaItem, honest_media
from simulators.processed_media import FEATURES, GRIDS

#: Bytes that the prefix cache may hold.
_CACHE_BYTES = 1 << 20


class EncoderItemGrid:
    """The consumer of encoder-item-grid."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        server = SERVER if upstream.tree.file_of(SERVER) else OLD_SERVER
        self._server = EncoderServer(upstream, server, device)
        self._kept_apart = importlib.import_module(module).EncoderPreprocessOutput

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the items as they would go to the model."""
        return self._passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request, or the keys that it made."""
        passed, refusals = self._passed(dims, lie), dict[str, str]()
        items, grids = passed.payload["items"], passed.payload["grids"]
        layout = passed.request["items"]

        def call() -> Output:
            if dims["entry"] == "keys":
                return self._keys(self._encoder(items, grids), layout)
            cache = self._filled(dims) if dims["entry"] == "cached" else None
            encoder = self._encoder(items, grids, cache)
            answers = self._encoded(encoder, layout, cache is not None)
            return read_staged(self._server, encoder, answers, passed.request, refusals)

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)

    def _encoded(self, encoder: Any, layout: Sequence[int], alone: bool) -> Any:
        modality = self._server.module.Modality.IMAGE
        requests = [fields_of(index, items) for index, items in enumerate(layout)]
        if alone:
            return [ended(encoder.encode(modality=modality, **requests[0]))]
        return ended(encoder.batch_encode(requests, modality))

    def _encoder(self, items: Sequence[Mapping[str, Any]], grids: Any, cache: Any = None) -> Any:
        def processed() -> Any:
            fields = {FEATURES: torch.empty(0, WIDTH), GRIDS: torch.tensor(grids).reshape(-1, 3)}
            return self._kept_apart(fields, mm_items=[self._item(item) for item in items])

        return processing_encoder(self._server, processed, RULES.merge, cache)

    def _item(self, item: Mapping[str, Any]) -> Any:
        module = self._server.module
        modality = module.Modality[item["modality"].upper()]
        made = module.MultimodalDataItem(modality=modality, feature=item["features"])
        made.hash = item["key"]
        return made

    def _filled(self, dims: Mapping[str, str]) -> Any:
        """Return a prefix cache that has the rows of another request."""
        cache = self._server.module.MultiModalStaticCache(_CACHE_BYTES)
        honest = _honest(dims)
        items = [self._told(item) for item in honest.foreign]
        self._encoded(self._encoder(items, honest.beside["grids"], cache), [len(items)], True)
        return cache

    def _keys(self, encoder: Any, layout: Sequence[int]) -> Output:
        modality = self._server.module.Modality.IMAGE
        requests = [fields_of(index, items) for index, items in enumerate(layout)]
        if self._server.splits_preprocessor:
            prepared = encoder._prepare_encode_context(requests, modality, use_global_cache=True)
        else:
            asked = [name for request in requests for name in request["mm_items"]]
            prepared = encoder._prepare_global_cache_context(asked, modality, request_name(0))
        keys = asyncio.run(prepared).str_mm_hashes
        return Output(facts={f"key of item {i}": str(key) for i, key in enumerate(keys)})

    def _told(self, item: MediaItem) -> dict[str, Any]:
        features = item.features.to(self._server.device)
        return {"features": features, "modality": item.modality, "key": item.key}

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> Passed:
        honest = _honest(dims)
        payload = lie.told(honest)
        layout = [int(dims["each"])] * int(dims["requests"])
        told = {
            "items": [self._told(item) for item in payload.records],
            "grids": payload.beside["grids"],
        }
        pictures = honest_items(sum(layout), dims["pictures"]).records
        request = {
            "entry": dims["entry"],
            "counts": [item.count for item in pictures],
            "grids": [item.grid for item in pictures],
            "keys": [item.key for item in honest.records],
            "items": layout,
            "names": [request_name(index) for index in range(len(layout))],
            "merge_size": RULES.merge,
            "width": WIDTH,
            "dtype": str(DTYPE),
        }
        return Passed(told, request, owner_of)


def _honest(dims: Mapping[str, str]) -> Any:
    count = int(dims["requests"]) * int(dims["each"])
    return honest_media(count, dims["pictures"], dims["keyed"] == "yes")
