"""ar-request: SGLang's server reads the /generate request that the diffusion stage sends.

The request is recorded from upstream's real stage; a release whose stage asks one by one has its
single requests put together as later stages do. Driven, in the order of the server: the check of
`input_ids` that FastAPI's parse makes, the contract gate where the release has one,
`GenerateReqInput` with `normalize_batch_and_arguments`, and for each prompt in its turn the item
access and the reading of its sampling parameters, without a tokenizer.

Not driven: the rest of FastAPI's parse, which refuses other wrong types before all this, and what
comes behind it: tokenizing, the image processor (`ar-grid`) and the limits of a model.

Provided, by name: the mode that hidden states are captured in, and the size of the vocabulary.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from contracts.contract import Origin
from harness.consumers.ar_exchange import ArExchange
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import PROMPTS, server_args, size_of
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.loading import Needs, Upstream
from simulators.generate_request import COLUMNS, honest_request, request_body

#: Modules that upstream's request is made of, leaves first; a release may lack some.
_REAL = (
    "sglang.srt.utils.msgspec_utils",
    "sglang.srt.utils.field_validators",
    "sglang.srt.utils.weight_versions",
    "sglang.srt.utils.msgpack_utils",
    "sglang.srt.beam_search.types",
    "sglang.srt.managers.embed_types",
    "sglang.srt.managers.kv_hints",
    "sglang.srt.sampling.watermarking.core",
    "sglang.srt.sampling.sampling_params",
    "sglang.srt.sampling.sampling_mask",
    "sglang.srt.lora.lora_registry",
    "sglang.srt.managers.schedule_batch",
)
_STAGE = "sglang.multimodal_gen.runtime.pipelines_core.stages.model_specific_stages.glm_image"
_FORWARD = "sglang.srt.model_executor.forward_batch_info"
_GATE = "sglang.srt.entrypoints.api_contract"
_SCHEMA = "sglang.api.v1.api_types"
#: Source: transformers 5.19.0, models/glm_image/configuration_glm_image.py, GlmImageTextConfig
_VOCABULARY = 168064
_FIRST_SEED = 100


class CaptureHiddenMode(enum.IntEnum):
    """How hidden states are captured: not at all, the last ones, all."""

    NULL = 0
    LAST = 1
    FULL = 2


class ArRequest:
    """The consumer of ar-request."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        there = tuple(name for name in _REAL if upstream.tree.file_of(name))
        provided = {_FORWARD: {"CaptureHiddenMode": CaptureHiddenMode}}
        self._io = upstream.load(Needs(module, real=there, provided=provided))
        self._known = {field.name for field in dataclasses.fields(self._io.GenerateReqInput)}
        self._gate = self._loaded_gate()
        self._ar = ArExchange(upstream, _STAGE, device)
        self._recorded: dict[tuple[str, str], Any] = {}

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the request as the server would receive it."""
        return self._passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the server made of the request."""
        passed = self._passed(dims, lie)
        items = len(honest_request(passed.request).records)

        def call() -> Output:
            return _read(list(self._items(passed.payload)), passed.request, items)

        return Run(outcome_of(self._upstream, call), passed)

    def _loaded_gate(self) -> Any:
        if self._upstream.tree.file_of(_GATE) is None:
            return None
        return self._upstream.load(Needs(_GATE, real=(_SCHEMA,)))

    def _items(self, body: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        ids = self._io.validate_optional_list_i64_1d_2d(body.get("input_ids"))
        if self._gate is not None and self._gate.generate_contract_error(body) is not None:
            # The gate answers with the text of an error; here the error itself is wanted.
            self._gate.GenerateRequest.from_json_value(body)
        fields = {key: value for key, value in body.items() if key in self._known}
        request = self._io.GenerateReqInput(**fields | {"input_ids": ids})
        request.normalize_batch_and_arguments()
        count = 1 if request.is_single else request.batch_size
        for index in range(count):
            item = request if request.is_single else request[index]
            params = self._io.SamplingParams(**item.sampling_params)
            params.normalize(None)
            params.verify(_VOCABULARY)
            yield item, params

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> Passed:
        meant = self._meant(dims)
        rows = [row["input_ids"] for row in honest_request(meant).records]

        def owner_of(given: Sequence[Any]) -> list[Origin | None]:
            found = (_index(row, rows, at) for at, row in enumerate(given))
            return [None if owner is None else Origin(owner, 0) for owner in found]

        return Passed(request_body(lie.told(honest_request(meant))), meant, owner_of)

    def _meant(self, dims: Mapping[str, str]) -> Any:
        key = dims["prompts"], dims["shape"]
        if key not in self._recorded:
            count = int(dims["prompts"])
            batch = getattr(self._ar.stage, "generate_prior_tokens_batch", None)
            size = size_of(dims)
            if dims["prompts"] == "1" or batch is None:
                ones = [self._one(prompt, size) for prompt in PROMPTS[:count]]
                joined = {column: [one[column] for one in ones] for column in COLUMNS}
                self._recorded[key] = ones[0] if count == 1 else joined
            else:
                seeds = [_FIRST_SEED + 10 * index for index in range(count)]
                args = (list(PROMPTS[:count]), seeds, *size, server_args(self._ar.url))
                self._recorded[key] = self._sent(lambda: batch(*args))
        return self._recorded[key]

    def _one(self, prompt: str, size: tuple[int, int]) -> Any:
        args = (prompt, *size, server_args(self._ar.url))
        return self._sent(lambda: self._ar.stage.generate_prior_tokens(*args))

    def _sent(self, call: Callable[[], Any]) -> Any:
        self._ar.plan(Lie((), Random(0)))
        call()
        seen = self._ar.exchange()
        assert seen is not None
        return seen.request


def _index(value: Any, known: Sequence[Any], own: int) -> int | None:
    if own < len(known) and known[own] == value:
        return own
    return next((i for i, one in enumerate(known) if one == value), None)


def _read(items: Sequence[tuple[Any, Any]], meant: Any, count: int) -> Output:
    rows = honest_request(meant).records
    known = {column: [row[column] for row in rows] for column in COLUMNS}
    found: list[Span] = []
    for index in range(count):
        has = _columns(items[index][0]) if index < len(items) else {}
        for column, unit in (("input_ids", "ids"), ("image_data", "grids"),
                             ("sampling_params", "parameters")):  # fmt: skip
            whose = _whose(has.get(column), known[column], index)
            wants = [Whose(f"prompt {index}", 0)]
            found += spans(f"row {index} of {column}", wants, [whose], unit)
    facts = {"count of items": str(len(items))}
    for index, (item, params) in enumerate(items):
        facts[f"text of item {index}"] = repr(item.text)
        facts[f"ids that item {index} may have"] = repr(params.max_new_tokens)
    return Output(tuple(found), facts, [_columns(item) for item, _ in items])


def _columns(item: Any) -> dict[str, Any]:
    images = item.image_data
    if images is not None and not isinstance(images, list):
        images = [images]  # As the server does before it looks at them.
    return {
        "input_ids": item.input_ids, "image_data": images, "sampling_params": item.sampling_params,
    }  # fmt: skip


def _whose(value: Any, known: Sequence[Any], index: int) -> Whose | None:
    if not value:
        return NOTHING
    owner = _index(value, known, index)
    return None if owner is None else Whose(f"prompt {owner}", 0)
