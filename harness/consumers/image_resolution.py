"""image-resolution: upstream's GLM-Image stages make tokens and a canvas of a size.

Driven: the AR stage, against an honest AR server, and behind it the stage before the denoiser,
with the size that the AR stage leaves in the request. Entries of the AR stage: `forward` takes a
user's size, `grouped` is `run_grouped_requests` with two requests of it, `prior` is
`generate_prior_tokens` itself. The denoiser needs as many tokens as its canvas has positions.

Left out: sides that are no whole numbers but could be, such as 64.0. What the model's processor
makes of one is not known here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from contracts.contract import Origin
from harness.consumers.ar_exchange import ArExchange
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_before import (
    CELLS_PER_POSITION,
    PIXELS_PER_CELL,
    build_before,
    canvas_request,
)
from harness.consumers.glm_image_stage import PROMPTS, request, server_args, size_of
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.picture_size import honest_size
from simulators.prior_grid import prior_grids
from simulators.stamp import StampReader

_POSITION = PIXELS_PER_CELL * CELLS_PER_POSITION


class Drawn(NamedTuple):
    """What the stages made of one request: its tokens, its canvas and the picture's size."""

    tokens: torch.Tensor
    #: Rows and columns of positions.
    canvas: tuple[int, int]
    #: Height and width of the picture that the user gets.
    picture: tuple[int, int]


class ImageResolution:
    """The consumer of image-resolution."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._ar = ArExchange(upstream, module, device)
        self._before = build_before(self._ar.module)

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the size as the stage would be told it."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stages made of the size."""
        passed = _passed(dims, lie)
        height, width = passed.payload["height"], passed.payload["width"]
        entries = {"forward": self._forward, "grouped": self._grouped, "prior": self._prior}
        entry = entries[dims["entry"]]
        self._ar.plan(Lie((), lie.rng))

        def call() -> Output:
            drawn = [self._drawn(done) for done in entry(height, width)]
            return _read(drawn, passed.payload["asked"], self._sequences())

        return Run(outcome_of(self._ar.upstream, call), passed)

    def _forward(self, height: Any, width: Any) -> list[Any]:
        one = request(PROMPTS[0], height, width, 1, 7)
        return [self._ar.stage.forward(one, server_args(self._ar.url))]

    def _grouped(self, height: Any, width: Any) -> list[Any]:
        two = [request(prompt, height, width, 1, 7) for prompt in PROMPTS[:2]]
        return list(self._ar.stage.run_grouped_requests(two, server_args(self._ar.url)))

    def _prior(self, height: Any, width: Any) -> list[Any]:
        one = request(PROMPTS[0], height, width, 1, 7)
        args = server_args(self._ar.url)
        tokens, *_ = self._ar.stage.generate_prior_tokens(PROMPTS[0], height, width, args)
        one.prior_token_id = tokens
        return [one]

    def _drawn(self, done: Any) -> Drawn:
        tokens = done.prior_token_id
        one = canvas_request(PROMPTS[0], done.height, done.width, 1, tokens)
        cells = self._before.forward(one, server_args("")).latents.shape[-2:]
        decoded = tuple(side * PIXELS_PER_CELL for side in cells)
        cut = (done.requested_height, done.requested_width)
        picture = decoded if None in cut else cut
        rows, columns = (side // CELLS_PER_POSITION for side in cells)
        return Drawn(tokens, (rows, columns), (picture[0], picture[1]))

    def _sequences(self) -> list[Sequence[int]]:
        exchanges = self._ar.simulator.exchanges
        return [
            exchange.sequences[item]
            for exchange in exchanges
            for item in range(len(exchange.prompts))
        ]


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    size = lie.told(honest_size(*size_of(dims))).records[0]
    return Passed(dict(size), {"user": dims["entry"] == "forward"})


def _read(
    drawn: Sequence[Drawn], asked: tuple[Any, Any], sequences: Sequence[Sequence[int]]
) -> Output:
    reader = StampReader(dict(enumerate(sequences)))
    found: list[Span] = []
    for index, one in enumerate(drawn):
        if one.tokens.numel() == one.canvas[0] * one.canvas[1]:
            found += _of_canvas(index, one, reader)
    facts = {
        "the count of tokens": _said(drawn, _tokens),
        "the picture": _said(drawn, lambda one: _picture(one, asked)),
    }
    return Output(tuple(found), facts, [one.tokens for one in drawn])


def _said(drawn: Sequence[Drawn], of_one: Callable[[Drawn], str]) -> str:
    return "; ".join(dict.fromkeys(map(of_one, drawn)))


def _tokens(one: Drawn) -> str:
    rows, columns = one.canvas
    if one.tokens.numel() == rows * columns:
        return "the canvas's"
    return f"{one.tokens.numel()} for a canvas of {rows * columns} ({rows}x{columns})"


def _picture(one: Drawn, asked: tuple[Any, Any]) -> str:
    if one.picture == asked and min(one.picture) > 0:
        return "as asked for"
    return "{}x{} for {}x{} asked for".format(*one.picture, *asked)


def _of_canvas(index: int, one: Drawn, reader: StampReader) -> tuple[Span, ...]:
    rows, columns = one.canvas
    (_, _, across), *previews = prior_grids(rows * _POSITION, columns * _POSITION)
    start = sum(height * width for _, height, width in previews)
    wants = [
        Whose(f"prompt {index}", start + row // 2 * across + column // 2)
        for row in range(rows)
        for column in range(columns)
    ]
    single = one.tokens.reshape(rows, columns)[::2, ::2].flatten().tolist()
    origins = reader.read(single, Origin(index, start))
    has = [
        _whose(origins[row // 2 * ((columns + 1) // 2) + column // 2])
        for row in range(rows)
        for column in range(columns)
    ]
    return spans(f"canvas {index}", wants, has)


def _whose(origin: Origin | None) -> Whose | None:
    return None if origin is None else Whose(f"prompt {origin.owner}", origin.position)
