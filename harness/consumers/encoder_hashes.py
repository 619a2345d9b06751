"""encoder-hashes: upstream gives a request's media the keys of the cache that servers share.

Driven: the function that prepares a batch, `MMEncoder._prepare_encode_context`, or before 0.5.19
`MMEncoder._prepare_global_cache_context`, for one request, up to the keys; what its entry goes on
to pins memory for a card. Read: whose key each item gets. A key is known by the hash that came with
the item, or by what upstream itself makes of the item's honest features.

Provided, by name: see `harness.consumers.processing_encoder`. A key that does not come with a
request is made of the item's features.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_server import EncoderServer
from harness.consumers.processing_encoder import processing_encoder
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.encode_request import REQUEST, encode_request, hashes, honest_encode
from simulators.encoder import RULES, honest_items, owner_of
from simulators.processed_media import FEATURES, honest_output

#: What the older guard tells of the model and the modality.
_MODEL, _MODALITY = "qwen2_vl", "IMAGE"


class EncoderHashes:
    """The consumer of encoder-hashes."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the hashes and the features as keys would be made of them."""
        return self._passed(dims, lie)[2]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return whose key each item gets."""
        fields, asked, passed = self._passed(dims, lie)
        count = int(dims["records"])
        told = hashes(count)

        def call() -> Output:
            honest = self._fields(dict(honest_output(count).records[0]))
            known = [told, self._keys(honest, {**asked, "hashes": None})]
            return Output(facts=_named(self._keys(fields, asked), known))

        return Run(outcome_of(self._upstream, call), passed)

    def _keys(self, fields: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
        encoder = processing_encoder(self._server, lambda: dict(fields), RULES.merge)
        modality = self._server.module.Modality.IMAGE
        if self._server.splits_preprocessor:
            prepared = encoder._prepare_encode_context([asked], modality, use_global_cache=True)
        else:
            prepared = encoder._prepare_global_cache_context(
                asked["mm_items"], modality, asked["req_id"], asked.get("hashes")
            )
        return list(asyncio.run(prepared).str_mm_hashes)

    def _fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        device = self._server.device
        return {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in fields.items()
        }

    def _passed(
        self, dims: Mapping[str, str], lie: Lie
    ) -> tuple[dict[str, Any], dict[str, Any], Passed]:
        count = int(dims["records"])
        asked = dict(
            encode_request(lie.told(honest_encode(count, "image", dims["hashes"] == "yes")))
        )
        fields = self._fields(lie.told(honest_output(count)).records[0])
        told = {"hashes": asked.get("hashes"), "features": fields[FEATURES]}
        request = {
            "name": REQUEST,
            "model": _MODEL,
            "modality": _MODALITY,
            "hashes": hashes(count),
            "counts": [item.count for item in honest_items(count).records],
            "merge_size": RULES.merge,
        }
        return fields, asked, Passed(told, request, owner_of)


def _named(keys: Sequence[str], known: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return whose each key is, in words; of a key that nobody has, who shares it."""
    owners = {key: f"item {owner}'s" for one in known for owner, key in enumerate(one)}
    return {
        f"key of item {index}": owners.get(key, f"nobody's, as that of item {keys.index(key)}")
        for index, key in enumerate(keys)
    }
