"""A group of requests for GLM-Image's AR stage: made from descriptions, and read back.

What each request should get is told from its own description alone: one row for each output it
wants, of its own prompt's tokens, over the grid of its own size. Whose tokens it got is read from
the stamps of all that the AR server was asked for, in one exchange or in several.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import PIL.Image
import torch

from contracts.clauses.picture_size import aligned
from contracts.clauses.prior_tokens import prior_shape
from contracts.contract import Origin
from harness.consumers.ar_exchange import ArExchange
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import PROMPTS, prompt_ids, request, size_of
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from simulators.ar_server import Exchange
from simulators.prior_grid import prior_grids
from simulators.request_group import honest_group
from simulators.stamp import StampReader

#: Runs the stage with requests, against an AR server's URL.
Entry = Callable[[list[Any], str], Sequence[Any]]


class Wanted(NamedTuple):
    """One output that a request of the group wants."""

    request: int
    output: int
    prompt: str
    height: int
    width: int

    @property
    def place(self) -> str:
        """The output in words."""
        return f"request {self.request}" + (f", output {self.output}" if self.output else "")


class GroupOfRequests:
    """The stage and an honest AR server, ready for one group after another."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self.ar = ArExchange(upstream, module, device)
        # Stands for a picture file; the grids of a request with one are never used.
        provide(self.ar.module, load_image=lambda path: PIL.Image.new("RGB", (64, 64)))

    def run(self, dims: Mapping[str, str], lie: Lie, entry: Entry) -> Run:
        """Return what an entry of the stage made of a group under a lie."""
        passed = group(dims, lie)
        self.ar.plan(Lie((), lie.rng))

        def call() -> Output:
            asked = _requests(passed.payload)
            done = entry(asked, self.ar.url)
            return _read(passed.payload, done, self.ar.simulator.exchanges)

        return Run(outcome_of(self.ar.upstream, call), passed)


def group(dims: Mapping[str, str], lie: Lie) -> Passed:
    """Return the group of a case, under its lie."""
    count, outputs = int(dims["records"]), int(dims["outputs"])
    honest = honest_group(list(PROMPTS[: 2 * count]), *size_of(dims), outputs)
    return Passed(list(lie.told(honest).records), {})


def _requests(described: Sequence[Mapping[str, Any]]) -> list[Any]:
    # One that stands in the group twice is one object, as the scheduler would hold it.
    made: dict[int, Any] = {}
    for one in described:
        if id(one) not in made:
            parts = (one["prompt"], one["height"], one["width"], one["outputs"], one["seed"])
            made[id(one)] = request(*parts)
            made[id(one)].image_path = one["image"]
    return [made[id(one)] for one in described]


def _read(
    described: Sequence[Mapping[str, Any]], done: Sequence[Any], exchanges: Sequence[Exchange]
) -> Output:
    wanted = _wanted(described)
    reader = StampReader(_sequences(wanted, exchanges))
    sizes = dict.fromkeys((one.height, one.width) for one in wanted)
    found: list[Span] = []
    odd: list[str] = []
    for index, one in enumerate(wanted):
        rows = done[one.request].prior_token_id if one.request < len(done) else None
        row = rows[one.output] if rows is not None and one.output < len(rows) else None
        got = _size_of_row(row, one, list(sizes))
        if row is not None and got != (one.height, one.width):
            odd.append(_odd(one, got))
        else:
            found += _of_row(index, one, wanted, row, reader)
    return Output(tuple(found), _facts(described, done, odd), [r.prior_token_id for r in done])


def _facts(
    described: Sequence[Mapping[str, Any]], done: Sequence[Any], odd: Sequence[str]
) -> dict[str, str]:
    pairs = list(zip(described, done, strict=False))
    unseen = [f"request {i}" for i, (one, _) in enumerate(pairs) if one["image"] is not None]
    uneven = [
        f"request {i} has {_count(made)} for {_outputs(one)}"
        for i, (one, made) in enumerate(pairs)
        if _count(made) != _outputs(one)
    ]
    return {
        "every request's answer": "there" if len(done) == len(described) else "missing",
        "the size of every picture": "; ".join(odd) or "as asked",
        "the count of rows": "; ".join(uneven) or "as wanted",
        "every request's picture": f"left out of {', '.join(unseen)}" if unseen else "regarded",
    }


def _outputs(one: Mapping[str, Any]) -> int:
    # A request that wants none, or does not say, gets one.
    return max(1, one["outputs"] or 1)


def _count(made: Any) -> int:
    return 0 if made.prior_token_id is None else len(made.prior_token_id)


def _wanted(described: Sequence[Mapping[str, Any]]) -> list[Wanted]:
    return [
        Wanted(i, k, one["prompt"], *aligned(one["height"] or 0, one["width"] or 0))
        for i, one in enumerate(described)
        for k in range(_outputs(one))
    ]


def _sequences(
    wanted: Sequence[Wanted], exchanges: Sequence[Exchange]
) -> dict[int | str, tuple[int, ...]]:
    """Return what the server made for each wanted output, told by the prompt it was asked for."""
    known: dict[int | str, tuple[int, ...]] = {}
    for exchange in exchanges:
        ids = exchange.request["input_ids"]
        prompts = ids if isinstance(ids[0], list) else [ids]
        made = exchange.sequences
        for item, prompt in enumerate(prompts):
            owner = next(
                (
                    index
                    for index, one in enumerate(wanted)
                    if index not in known and prompt_ids(one.prompt) == prompt
                ),
                f"nobody's item {item}",
            )
            known[owner] = made[item]
    return known


def _size_of_row(
    row: torch.Tensor | None, one: Wanted, sizes: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the size of picture whose grid a row fills, the wanted one if that will do."""
    own = (one.height, one.width)
    fits = (size for size in [own, *sizes] if row is not None and _grid(row, size) is not None)
    return next(fits, None)


def _grid(row: torch.Tensor, size: tuple[int, int]) -> torch.Tensor | None:
    rows, columns = size[0] // 16, size[1] // 16
    if row.numel() != rows * columns:
        return None
    doubled = row.reshape(rows, columns)
    single = doubled[::2, ::2]
    same = torch.equal(single.repeat_interleave(2, 0).repeat_interleave(2, 1), doubled)
    return single if same else None


def _odd(one: Wanted, got: tuple[int, int] | None) -> str:
    named = "{}x{}".format(*got) if got is not None else "no such picture"
    return f"{one.place} has tokens for {named} and asks for {one.height}x{one.width}"


def _of_row(
    index: int,
    one: Wanted,
    wanted: Sequence[Wanted],
    row: torch.Tensor | None,
    reader: StampReader,
) -> tuple[Span, ...]:
    shape = prior_shape(prior_grids(one.height, one.width))
    start, count = shape.offset, shape.height * shape.width
    wants = [Whose(one.place, start + i) for i in range(count)]
    has: list[Whose | None] = []
    grid = _grid(row, (one.height, one.width)) if row is not None else None
    if grid is not None:
        for origin in reader.read(grid.flatten().tolist(), Origin(index, start)):
            has.append(_whose(origin, wanted))
    return spans(one.place, wants, has)


def _whose(origin: Origin | None, wanted: Sequence[Wanted]) -> Whose | None:
    if origin is None:
        return None
    owner = origin.owner
    named = wanted[owner].place if isinstance(owner, int) else owner
    return Whose(named, origin.position)
