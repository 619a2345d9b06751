"""krea2-ragged: upstream's Krea-2 configuration makes positions and a mask of masks and a size.

Driven: `prepare_pos_cond_kwargs`, and `prepare_neg_cond_kwargs` with the same things for the
negative prompts; on every rank of the sequence, one after the other. Provided, by name: how many
ranks there are and which one is asked; the patch size and the scale factor, which belong to the
model; and the request.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided
from simulators.text_masks import TOKENS, MaskReader, assembled_masks, honest_masks

_PATCH, _SCALE = 2, 8
_PIXELS = _PATCH * _SCALE


class Krea2Ragged:
    """The consumer of krea2-ragged."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        krea2 = upstream.load(Needs(module))
        self._world, self._rank = 1, 0
        provide(
            krea2,
            get_sp_world_size=lambda: self._world,
            get_sp_parallel_rank=lambda: self._rank,
        )
        self._config = object.__new__(krea2.Krea2PipelineConfig)
        arch = Provided("Krea2ArchConfig", patch=_PATCH)
        self._config.dit_config = Provided("Krea2DitConfig", arch_config=arch)
        self._config.vae_config = Provided("VAEConfig", get_vae_scale_factor=lambda: _SCALE)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the mask and the size as they would be told."""
        return _passed(dims, lie, self._device)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which positions and which mask each rank got."""
        passed = _passed(dims, lie, self._device)
        batch = _batch(passed, negative=dims["entry"] == "negative")
        name = "neg" if dims["entry"] == "negative" else "pos"
        entry = getattr(self._config, f"prepare_{name}_cond_kwargs")
        self._world = passed.request["world"]

        def call() -> Output:
            made = []
            for rank in range(self._world):
                self._rank = rank
                made.append(entry(batch, self._device, None, torch.float32))
            return _read(made, passed)

        return Run(outcome_of(self._upstream, call), passed)


def _passed(dims: Mapping[str, str], lie: Lie, device: torch.device) -> Passed:
    count, ragged = int(dims["records"]), dims["text"] == "ragged"
    height, width = (int(side) for side in dims["shape"].split("x"))
    payload = lie.told(honest_masks(count, ragged, (height, width)))
    mask = assembled_masks(payload)
    if isinstance(mask, torch.Tensor):
        mask = mask.to(device)
    request = {
        "prompts": count,
        "tokens": TOKENS,
        "size": (height, width),
        "world": int(dims["world"]),
    }
    told = {"mask": mask, "size": payload.beside["size"]}
    return Passed(told, request, MaskReader(count, ragged))


def _batch(passed: Passed, negative: bool) -> Provided:
    height, width = passed.payload["size"]
    embeds = [torch.zeros(passed.request["prompts"], TOKENS, 1, 1)]
    masks = None if passed.payload["mask"] is None else [passed.payload["mask"]]
    prefix = "negative_" if negative else ""
    fields = {f"{prefix}prompt_embeds": embeds, f"{prefix}prompt_embeds_mask": masks}
    return Provided("Req", height=height, width=width, **fields)


def _read(made: Sequence[Mapping[str, Any]], passed: Passed) -> Output:
    world = passed.request["world"]
    facts: dict[str, str] = {}
    found: list[Span] = []
    for rank, one in enumerate(made):
        of_rank = f" of rank {rank}" if world > 1 else ""
        positions, mask = one["pos"], one["mask"]
        place = f"the picture{of_rank}"
        found += _of_picture(place, positions, rank, passed.request)
        facts[f"the size of {place}"] = f"{positions.shape[1] - TOKENS} tokens"
        text, first = positions[:, :TOKENS], positions[:1]
        facts[f"the text{of_rank}"] = "moved" if text.any() else "at the origin"
        alike = torch.equal(positions, first.expand_as(positions))
        facts[f"the prompts{of_rank}"] = f"{len(positions)}, {'alike' if alike else 'unlike'}"
        found += _of_mask(of_rank, mask, positions.shape[1], passed, facts)
    return Output(tuple(found), facts, [[one["pos"], one["mask"]] for one in made])


def _of_picture(
    place: str, positions: torch.Tensor, rank: int, request: Mapping[str, Any]
) -> tuple[Span, ...]:
    rows, columns = (side // _PIXELS for side in request["size"])
    cells = list(range(rows * columns))
    # Ranks share alike: the last cell stands again where cells are missing for that.
    cells += [cells[-1]] * (-len(cells) % request["world"])
    share = len(cells) // request["world"]
    wants = [Whose("the picture", c) for c in cells[rank * share : (rank + 1) * share]]
    has: list[Whose | None] = []
    for frame, row, column in positions[0, TOKENS:].tolist():
        inside = frame == 0 and 0 <= row < rows and 0 <= column < columns
        cell = int(row) * columns + int(column)
        has.append(Whose("the picture", cell) if inside else None)
    # Another number of positions is told by their number; where each stands is then no question.
    return spans(place, wants, has, unit="positions") if len(has) in (0, share) else ()


def _of_mask(
    of_rank: str, mask: torch.Tensor | None, length: int, passed: Passed, facts: dict[str, str]
) -> list[Span]:
    prompts = passed.request["prompts"]
    if mask is None:
        # No mask: every token is attended to.
        mask = torch.ones(prompts, length, dtype=torch.bool)
    facts[f"the length of the mask{of_rank}"] = _length(mask, length)
    facts[f"the kind of the mask{of_rank}"] = str(mask.dtype)
    picture = mask[:, mask.shape[1] - (length - TOKENS) :]
    facts[f"the mask of the picture{of_rank}"] = "open" if picture.all() else "closed"
    found: list[Span] = []
    for index in range(prompts):
        row = mask[index, : mask.shape[1] - (length - TOKENS)].tolist()
        place = f"the mask of prompt {index}{of_rank}"
        facts[f"the tokens of {place}"] = f"{sum(row)}"
        found += _of_row(place, index, row, passed)
    return found


def _length(mask: torch.Tensor, length: int) -> str:
    got = mask.shape[1]
    return "the sequence's" if got == length else f"{got} for {length} tokens"


def _of_row(place: str, index: int, row: Sequence[bool], passed: Passed) -> tuple[Span, ...]:
    reader = passed.owner_of
    assert isinstance(reader, MaskReader)
    origins = reader(row)
    wants = [Whose(f"prompt {index}", position) for position in range(reader.length(index))]
    has: list[Whose | None]
    if None in origins:
        # Nobody's mask: the tokens that it lets through are the prompt's own all the same.
        own = enumerate(row[: len(wants)])
        has = [wants[t] if through else NOTHING for t, through in own]
    else:
        has = [Whose(_named(o.owner, index), o.position) for o in origins if o is not None]
        wants = wants[: len(has) or None]
    return spans(place, wants, has)


def _named(owner: int | str, index: int) -> str:
    if isinstance(owner, int):
        return f"prompt {owner}"
    return f"prompt {index}" if owner == "every prompt" else owner
