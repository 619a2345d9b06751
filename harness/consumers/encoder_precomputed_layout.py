"""encoder-precomputed-layout: upstream's processor deals out the rows that an encoder sent.

Driven: `get_validated_mm_data`, with the processor's own way to lay out a prompt (`get_mm_data`,
for which grids tell how many positions an item has), or with a way that a model's processor has
in its place, as upstream lets it: it returns the items as the payload has them.

Provided, by name: the modalities, the item and the output of a processor, and what a processor
is told of its model: the ids of placeholders, and how many positions are merged into one.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from types import SimpleNamespace
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from simulators.placeholder_rows import (
    WIDTH,
    PlaceholderReader,
    asked_layout,
    honest_precomputed,
    owner_name,
    received_rows,
)

_START, _END, _IMAGE, _VIDEO, _AUDIO = -1, -2, -3, -4, -5


class Modality(Enum):
    """Stands for `Modality`."""

    IMAGE = auto()
    VIDEO = auto()
    AUDIO = auto()


@dataclass
class MultimodalDataItem:
    """Stands for `MultimodalDataItem`: the members that a processor sets."""

    modality: Modality
    offsets: Any = None
    precomputed_embeddings: Any = None


@dataclass
class MultimodalProcessorOutput:
    """Stands for `MultimodalProcessorOutput`: the members that a processor sets."""

    input_ids: list[int]
    mm_items: list[MultimodalDataItem] = field(default_factory=list)
    im_start_id: int | None = None
    im_end_id: int | None = None
    im_token_id: int | None = None
    video_token_id: int | None = None


class EncoderPrecomputedLayout:
    """The consumer of encoder-precomputed-layout."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        processors = upstream.load(Needs(module))
        provide(
            processors,
            Modality=Modality,
            MultimodalDataItem=MultimodalDataItem,
            MultimodalProcessorOutput=MultimodalProcessorOutput,
        )
        self._base = processors.BaseMultimodalProcessor

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the items and the rows as they would come."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which rows the accepted items have at which positions."""
        passed = _passed(dims, lie)
        received = {_key(name): self._there(rows) for name, rows in passed.payload["received"]}
        processor = self._processor(passed)

        def call() -> Output:
            prompt, grids = _asked(passed)
            output = processor.get_validated_mm_data(prompt, received, **grids)
            return _read(output, passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _there(self, rows: Any) -> Any:
        return rows.to(self._device) if isinstance(rows, torch.Tensor) else rows

    def _processor(self, passed: Passed) -> Any:
        told: dict[str, Any] = {
            "IM_START_TOKEN_ID": _START,
            "IM_END_TOKEN_ID": _END,
            "IM_TOKEN_ID": _IMAGE,
            "VIDEO_TOKEN_ID": _VIDEO,
            "audio_token_id": _AUDIO,
            "spatial_merge_size": 1,
            "process_mm_data_async": None,
        }
        if not passed.payload["dealt"]:
            items = [
                MultimodalDataItem(_key(i["modality"]), i["offsets"], self._there(i["rows"]))
                for i in passed.payload["items"]
            ]
            told["get_mm_data"] = lambda *args, **kwargs: SimpleNamespace(mm_items=items)
        # A model's processor, with no more of its own than this.
        return object.__new__(type("Processor", (self._base,), told))


def _key(name: str) -> Any:
    return name.removeprefix("text ") if name.startswith("text ") else Modality[name.upper()]


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    layout = asked_layout(int(dims["records"]), 1, dims["sizes"], dims["kinds"])
    honest = honest_precomputed(layout)
    told, dealt = lie.told(honest), dims["entry"] == "own"
    items, received = list(told.records), told.beside["received"]
    if dealt:
        received = _sent(honest.records, told.records, received)
        items = _dealt(honest.records, dict(received))
    request = {
        "places": [item["offsets"] for item in honest.records],
        "modalities": [item["modality"] for item in honest.records],
        "prompt": honest.beside["prompt"],
        "width": WIDTH,
        "owners": [owner_name(0, index) for index in range(layout.items)],
    }
    passing = {"items": items, "received": received, "dealt": dealt}
    return Passed(passing, request, PlaceholderReader())


def _sent(honest: Sequence[Any], items: Sequence[Any], received: Any) -> Any:
    """Return what an encoder sends: the rows of all items in one."""
    same = len(honest) == len(items) and all(map(operator.is_, honest, items))
    rows = [item["rows"] for item in items]
    if same or not all(isinstance(one, torch.Tensor) and one.dim() == 2 for one in rows):
        return received
    alike = len({one.shape[1] for one in rows}) == 1
    return received_rows(tuple(items)) if alike else received


def _dealt(honest: Sequence[Mapping[str, Any]], received: Mapping[str, Any]) -> list[Any]:
    consumed: dict[str, int] = {}
    items = []
    for item in honest:
        rows, start = received.get(item["modality"]), consumed.get(item["modality"], 0)
        end = start + len(item["rows"])
        consumed[item["modality"]] = end
        items.append({**item, "rows": None if rows is None else rows[start:end]})
    return items


def _asked(passed: Passed) -> tuple[list[int], Mapping[str, Any]]:
    """Return the prompt with one placeholder for each item, and the grids of them."""
    prompt = list(passed.request["prompt"])
    grids: dict[str, list[list[int]]] = {"image": [], "video": []}
    told = list(zip(passed.request["places"], passed.request["modalities"], strict=True))
    for [(first, last)], modality in reversed(told):
        prompt[first : last + 1] = [_IMAGE if modality == "image" else _VIDEO]
        grids[modality].insert(0, [1, last - first + 1, 1])
    named = (("img_grid_thw", "image"), ("video_grid_thw", "video"))
    return prompt, {name: torch.tensor(grids[one]) for name, one in named if grids[one]}


def _read(output: Any, passed: Passed) -> Output:
    reader = passed.owner_of
    assert isinstance(reader, PlaceholderReader)
    placed: dict[int, Whose | None] = {}
    facts = {}
    for index, item in enumerate(output.mm_items):
        rows = item.precomputed_embeddings
        facts[f"the modality of item {index}"] = str(item.modality)
        facts[f"the offsets of item {index}"] = "missing" if item.offsets is None else "there"
        positions = [p for first, last in item.offsets or () for p in range(first, last + 1)]
        origins = reader(rows.reshape(-1, rows.shape[-1]).tolist())
        has = [None if o is None else Whose(str(o.owner), o.position) for o in origins]
        placed |= dict(zip(positions, has, strict=False))
    found: list[Span] = []
    for [(first, last)], owner in zip(
        passed.request["places"], passed.request["owners"], strict=True
    ):
        wants = [Whose(owner, position) for position in range(last - first + 1)]
        got = [placed.get(place, NOTHING) for place in range(first, last + 1)]
        found += spans(owner, wants, got, unit="rows")
    return Output(tuple(found), facts, [item.precomputed_embeddings for item in output.mm_items])
