"""encoder-counts: upstream counts the tokens of media by the rule of their model and medium.

Driven: `MMEncoder.batch_encode` with upstream's own preprocessor behind it, from the requests to
what is staged for each. The look-up of grids and lengths and the count of tokens are real; before
0.5.19 they are the server's own. The simulated model makes rows of the media themselves.

Provided, by name: what `harness.consumers.counting_encoder` lists. A release that lacks a model's
own module does not count by its rule, and its cases are unavailable there.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import torch

from contracts.clauses.token_rules import KIMI
from harness.consumers.consumer import Lacking, Lie, Output, outcome_of
from harness.consumers.counting_encoder import counting_encoder
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
from simulators.counted_media import (
    KERNEL,
    MODELS,
    honest_media,
    made_rows,
    tokens_of,
    told_fields,
    told_of,
)
from simulators.encoder import WIDTH, owner_of
from simulators.payload import Payload

#: One frame, before rows and columns.
_FRAME = re.compile(r"(?<=\[)1, (?=\d+, \d+\])")
#: Modules of models that are younger than the server.
_MODULES = {"muse_spark": "sglang.srt.models.muse_spark_omni"}


class EncoderCounts:
    """The consumer of encoder-counts."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be told, and the rows that would be made."""
        return _passed(dims, lie, self._server.device)[1]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream staged for each request."""
        payload, passed = _passed(dims, lie, self._server.device)
        server, refusals = self._server, dict[str, str]()
        model, medium = dims["model"], dims["medium"]
        modality = server.module.Modality[medium.upper()]
        requests = [fields_of(index, n) for index, n in enumerate(passed.request["items"])]

        def call() -> Output:
            module = _MODULES.get(model)
            if module is not None and not self._upstream.tree.file_of(module):
                raise Lacking(f"this release has no model {model}")
            encoder = counting_encoder(server, payload, model, medium)
            answers = ended(encoder.batch_encode(requests, modality))
            output = read_staged(server, encoder, answers, passed.request, refusals)
            return _as_kimi_reads(output) if model in KIMI else output

        return Run(with_refusals(outcome_of(self._upstream, call), refusals), passed)


def _as_kimi_reads(output: Output) -> Output:
    """Return the output with one frame left out of grids: Kimi reads them with and without."""
    facts = {
        name: _FRAME.sub("", said) if name.startswith("grids of ") else said
        for name, said in (output.facts or {}).items()
    }
    return replace(output, facts=facts)


def _passed(dims: Mapping[str, str], lie: Lie, device: torch.device) -> tuple[Payload, Passed]:
    layout = [int(dims["each"])] * int(dims["requests"])
    kind = MODELS[dims["model"]]
    honest = honest_media(dims["model"], dims["medium"], sum(layout), dims["sizes"])
    payload = lie.told(honest)
    raws = [item.raw for item in honest.records]
    told = {
        "fields": told_fields(payload),
        "rows": made_rows(payload).to(device),
        "made": [tokens_of(raw, payload.beside["made_by"]) for raw in raws],
        **{name: payload.beside[name] for name in ("model", "merge_size", "kernel")},
    }
    request = {
        "model": dims["model"],
        "medium": dims["medium"],
        "merge_size": kind.rules.merge,
        "kernel": KERNEL,
        "told": [told_of(kind, raw) for raw in raws],
        "counts": [tokens_of(raw, kind.rules) for raw in raws],
        "items": layout,
        "names": [request_name(index) for index in range(len(layout))],
        "width": WIDTH,
        "dtype": str(DTYPE),
    }
    return payload, Passed(told, request, owner_of)
