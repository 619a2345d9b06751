"""ar-grid: the AR server's GLM-Image processor places the tokens to come, from the image data.

Driven: `process_mm_data_async` with a tokenized prompt, as the server calls it for the stage's
request. The server does not call it at all for image data that is null, empty or made of nulls:
then the tokens get a text's positions, and stand in no grid either. From 0.5.22 on a gate in front
refuses sizes that are no integers before they come here (`ar-request`).

Provided, by name: the result's class, the special tokens and the prompt. The processor is built
without its constructor, which wants a tokenizer; nothing else of its base is reached.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import size_of
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided
from simulators.grid_rows import honest_grids, image_data
from simulators.prior_grid import prior_grids

_BATCH = "sglang.srt.managers.schedule_batch"

#: Ids of the special tokens in GLM-Image's vocabulary.
#: Source: transformers 5.19.0, models/glm_image/configuration_glm_image.py, GlmImageConfig
_IMAGE, _IMAGE_START, _IMAGE_END = 167855, 16384, 16385


class Placed(NamedTuple):
    """Where one token stands, in the model's three dimensions."""

    time: int
    row: int
    column: int


class ProcessorOutput(Provided):
    """Stands for `MultimodalProcessorOutput`: what the processor is asked to return."""

    def __init__(self, **members: Any) -> None:
        super().__init__("MultimodalProcessorOutput", **members)


class ArGrid:
    """The consumer of ar-grid."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        provided = {_BATCH: {"MultimodalProcessorOutput": ProcessorOutput}}
        loaded = upstream.load(Needs(module, provided=provided))
        self._processor = object.__new__(loaded.GlmImageProcessor)
        self._processor.IMAGE_START_TOKEN_ID = _IMAGE_START
        self._processor.IMAGE_END_TOKEN_ID = _IMAGE_END
        self._processor.mm_tokens = Provided("mm_tokens", image_token_id=_IMAGE)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the image data as the processor would receive it."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return where the processor placed the tokens."""
        passed = _passed(dims, lie)
        prompt = _prompt(int(dims["prompt"]))

        def call() -> Output:
            reply = self._processor.process_mm_data_async(passed.payload, list(prompt), None)
            return _read(asyncio.run(reply), prompt, prior_grids(*size_of(dims)))

        return Run(outcome_of(self._upstream, call), passed)


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    size = size_of(dims)
    request = {"grids": prior_grids(*size), "prompt_tokens": int(dims["prompt"])}
    return Passed(image_data(lie.told(honest_grids(*size))), request)


def _prompt(count: int) -> list[int]:
    # Text, and last the token after which the image is written.
    return [*range(1000, 1000 + count - 1), _IMAGE_START]


def _read(output: Any, prompt: Sequence[int], grids: Sequence[Sequence[int]]) -> Output:
    positions = output.mrope_positions
    placed = [Placed(*column) for column in positions.t().tolist()]
    facts = {
        "count of positions": str(len(placed)),
        "dtype of the positions": str(positions.dtype),
        "delta of the positions": str(output.mrope_position_delta.tolist()),
        "count of items": str(len(output.mm_items)),
        "ids of the prompt": str(output.input_ids == list(prompt)),
    }
    return Output(tuple(_spans(placed, len(prompt), grids)), facts, vars(output))


def _spans(placed: Sequence[Placed], prompt: int, grids: Sequence[Sequence[int]]) -> list[Span]:
    text = [Whose("the text", place.time) if _is_text(place) else None for place in placed[:prompt]]
    found = [*_walked("the prompt", [Whose("the text", i) for i in range(prompt)], text)]
    cells = _cells(placed[prompt:], prompt)
    # The last grid is written first; a grid begins where the longer side of the one before ends.
    first, start = 0, prompt
    for index in reversed(range(len(grids))):
        _, rows, columns = grids[index]
        named = "the large grid" if index == 0 else "the preview"
        wants = [Whose(_grid(start - prompt, rows, columns), i) for i in range(rows * columns)]
        found += _walked(named, wants, _padded(cells[first : first + len(wants)], len(wants)))
        first, start = first + len(wants), start + max(rows, columns)
    end = [Whose(_grid(start - prompt, 1, 1), 0)]
    return [*found, *_walked("the end of the image", end, _padded(cells[first : first + 1], 1))]


def _walked(place: str, wants: Sequence[Whose], has: Sequence[Whose | None]) -> tuple[Span, ...]:
    return spans(place, wants, has, unit="places")


def _padded(has: Sequence[Whose | None], count: int) -> list[Whose | None]:
    return [*has, *[NOTHING] * (count - len(has))]


def _is_text(place: Placed) -> bool:
    return place.time == place.row == place.column


def _grid(start: int, rows: int, columns: int) -> str:
    return f"the {rows}x{columns} grid at +{start}"


def _cells(placed: Sequence[Placed], prompt: int) -> list[Whose | None]:
    """Return the grid and the cell in which each token stands, from the positions alone."""
    cells: list[Whose | None] = []
    while len(cells) < len(placed):
        time = placed[len(cells)].time
        run = 0
        while len(cells) + run < len(placed) and placed[len(cells) + run].time == time:
            run += 1
        grid = placed[len(cells) : len(cells) + run]
        rows = 1 + max(place.row for place in grid) - time
        columns = 1 + max(place.column for place in grid) - time
        name = _grid(time - prompt, rows, columns)
        cells += [Whose(name, (p.row - time) * columns + p.column - time) for p in grid]
    return cells
