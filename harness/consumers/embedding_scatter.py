"""embedding-scatter: upstream's language side puts rows where the prompts have placeholders.

Driven: `_embed_mm_inputs_with_split`, which a model's forward calls with the items of all requests
and the ids of all prompts; through `embed_mm_inputs` and `get_embedding_and_mask` down to the
scatter. All items come with rows that an encoder computed before.

Provided, by name: the modalities, the items and what holds them, the flattening of nested lists,
the batch, the model (whose encoders are not called) with its table of text, the size of chunks, the
logger, that this is no NPU, and the assertion of counts, which is off by default.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any

import torch

from contracts.releases import Span as Releases
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import quiet_logger
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided
from simulators.placeholder_rows import (
    UNFILLED,
    VOCABULARY,
    WIDTH,
    PlaceholderReader,
    asked_layout,
    honest_placeholders,
    owner_name,
    text_table,
)

_SCHEDULE = "sglang.srt.managers.mm_schedule"


class Modality(Enum):
    """Stands for `Modality`."""

    IMAGE = auto()
    VIDEO = auto()
    AUDIO = auto()

    @staticmethod
    def all() -> list["Modality"]:
        """Return every modality, in upstream's order."""
        return list(Modality)


class EmbeddingScatter:
    """The consumer of embedding-scatter."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        moved = upstream.tree.file_of(_SCHEDULE) is not None
        real = (_SCHEDULE,) if moved else ()
        self._entry = upstream.load(Needs(module, real=real))
        provide(self._entry, Modality=Modality, flatten_nested_list=_flat)
        counting = upstream.load(Needs(_SCHEDULE)) if moved else self._entry
        told = Provided("settings", chunked_prefill_size=-1)
        provide(counting, _is_npu=False, logger=quiet_logger("mm"))
        if moved:
            provide(counting, maybe_assert_sum=lambda tensor, expected, message: None)
        # Read where a count is short, from the one or the other.
        before = upstream.tree.release in Releases(until="0.5.17")
        settings = "get_server_args" if before else "get_schedule"
        provide(counting, **{settings: lambda: told})

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the items and the prompts as they would come."""
        return _passed(dims, lie)[0]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which rows came to stand where."""
        passed, wanted = _passed(dims, lie)
        dtype = getattr(torch, dims["dtype"])

        def call() -> Output:
            embeds, _ = self._embed(passed, dtype)
            return _read(embeds, wanted, passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _embed(self, passed: Passed, dtype: torch.dtype) -> Any:
        prompts, windows = passed.payload["prompts"], passed.request["windows"]
        parts = [prompt[start:end] for prompt, (start, end) in zip(prompts, windows, strict=True)]
        table = text_table().to(self._device, dtype)
        held = [
            Provided("MultimodalInputs", mm_items=[
                self._item(item) for item in passed.payload["items"] if item["request"] == index
            ])
            for index in range(len(prompts))
        ]  # fmt: skip
        lengths = [len(part) for part in parts]
        return self._entry._embed_mm_inputs_with_split(
            held,
            [start for start, _ in windows],
            lengths,
            torch.tensor([token for part in parts for token in part], device=self._device),
            Provided("ForwardBatch", extend_seq_lens_cpu=lengths, mm_inputs=held),
            torch.nn.Embedding(VOCABULARY, WIDTH, _weight=table),
            multimodal_model=_model(),
        )

    def _item(self, item: Mapping[str, Any]) -> Provided:
        rows, own = item["rows"], Modality[item["modality"].upper()]

        def is_modality(modality: Modality) -> bool:
            return modality is own

        if isinstance(rows, torch.Tensor):
            rows = rows.to(self._device)
        return Provided(
            "MultimodalDataItem",
            offsets=item["offsets"],
            precomputed_embeddings=rows,
            pad_value=item["pad"],
            padding_values=lambda: (item["pad"],),
            is_modality=is_modality,
        )


def _flat(nested: Any) -> list[Any]:
    if not isinstance(nested, list):
        return [nested]
    return [one for part in nested for one in _flat(part)]


def _model() -> Provided:
    def unasked(items: Any) -> Any:
        raise NotImplementedError("the rows were computed before")

    return Provided("model", **{f"get_{one.name.lower()}_feature": unasked for one in Modality})


def _passed(dims: Mapping[str, str], lie: Lie) -> tuple[Passed, list[list[Whose]]]:
    items, requests = int(dims["records"]), int(dims["requests"])
    layout = asked_layout(items, requests, dims["sizes"], dims["kinds"])
    honest = honest_placeholders(layout)
    told = lie.told(honest)
    prompts = list(enumerate(honest.beside["prompts"]))
    windows = [_window(honest.records, index, dims["window"], prompt) for index, prompt in prompts]
    request = {
        "width": WIDTH,
        "vocabulary": VOCABULARY,
        "windows": windows,
        "owners": [owner_name(*layout.place(index)) for index in range(layout.items)],
    }
    passing = {"items": list(told.records), "prompts": told.beside["prompts"]}
    passed = Passed(passing, request, PlaceholderReader())
    return passed, [_wanted(honest.records, index, prompt) for index, prompt in prompts]


def _window(
    items: Sequence[Mapping[str, Any]], request: int, window: str, prompt: Sequence[int]
) -> tuple[int, int]:
    if window == "whole":
        return 0, len(prompt)
    own = [item["offsets"][0] for item in items if item["request"] == request]
    # From the second placeholder of the first run up to the last but one of the last.
    return own[0][0] + 1, own[-1][1]


def _wanted(items: Sequence[Mapping[str, Any]], request: int, prompt: Sequence[int]) -> list[Whose]:
    wanted = [Whose(owner_name(request, None), position) for position in range(len(prompt))]
    own = [item for item in items if item["request"] == request]
    for index, item in enumerate(own):
        first, last = item["offsets"][0]
        for position in range(first, last + 1):
            wanted[position] = Whose(owner_name(request, index), position - first)
    return wanted


def _read(embeds: torch.Tensor, wanted: Sequence[Sequence[Whose]], passed: Passed) -> Output:
    reader = passed.owner_of
    assert isinstance(reader, PlaceholderReader)
    origins = reader(embeds.tolist())
    has = [None if o is None else Whose(str(o.owner), o.position) for o in origins]
    filled = [NOTHING if one is not None and one.owner == UNFILLED else one for one in has]
    found: list[Span] = []
    for part, (start, end) in zip(wanted, passed.request["windows"], strict=True):
        wants, got, filled = part[start:end], filled[: end - start], filled[end - start :]
        for place in dict.fromkeys(one.owner for one in wants):
            own = [index for index, one in enumerate(wants) if one.owner == place]
            found += spans(place, [wants[i] for i in own], [got[i] for i in own], unit="rows")
    facts = {"the count of rows": str(len(embeds)), "the kind of rows": str(embeds.dtype)}
    return Output(tuple(found), facts, [embeds])
