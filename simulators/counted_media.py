"""Pictures, clips and sounds as a preprocessor tells them, and the rows that a model makes of them.

A record is one medium and what is told of it: a grid of patches, or a length. Beside the records
stands what is told of all, and the rules by which the model makes rows of the media themselves.
Rows say whose they are; what is told does not change them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simulators.encoder import ALIKE, UNLIKE, stamped_rows
from simulators.encoder_rules import (
    Rules,
    grid_of_clip,
    grid_of_picture,
    tokens_of_clip,
    tokens_of_picture,
    tokens_of_sound,
)
from simulators.payload import TALLY, Payload

if TYPE_CHECKING:
    import torch

#: (height, width) of a picture in pixels, (frames, height, width) of a clip, or (length,) of a
#: sound in feature frames.
Raw = tuple[int, ...]

#: Names of the fields that hold grids and lengths, and of those that hold features.
TOLD_AS = {
    "image": "image_grid_thw",
    "video": "video_grid_thw",
    "audio": "audio_feature_lens_raw",
}
FEATURES_AS = {
    "image": "pixel_values",
    "video": "pixel_values_videos",
    "audio": "input_features",
}

#: Frames of clips: of an odd number the last one is repeated.
_FRAMES = (3, 6, 5, 4, 7, 2, 9, 8)
_ALIKE_FRAMES = 5
#: Feature frames of sounds, and those of sounds that are all alike.
_LENGTHS = (250, 99, 320, 101, 100, 198, 57, 403)
_ALIKE_LENGTH = 250


@dataclass(frozen=True)
class Model:
    """One kind of model: the media that it takes, and how it makes rows of them."""

    rules: Rules
    media: tuple[str, ...]
    #: The name under which its preprocessor tells the grids of pictures.
    image_grids: str = "image_grid_thw"
    #: Whether grids are told in tokens, after patches were merged.
    tells_tokens: bool = False
    #: How features are handed on: `joined` in a tensor, a `list` of sounds, or items kept `apart`.
    features: str = "joined"


#: By the type that a model's configuration says.
MODELS = {
    "qwen2_vl": Model(Rules(), ("image", "video")),
    "kimi_vl": Model(Rules(pools_time=True), ("image",), "image_grid_hws"),
    "kimi_k25": Model(Rules(pools_time=True), ("image",), "grid_thws"),
    "qwen2_audio": Model(Rules(), ("audio",)),
    "qwen3_omni_moe": Model(Rules(sound="windows"), ("image", "video", "audio")),
    "mimo_v2": Model(Rules(sound="kept"), ("video", "audio"), features="list"),
    "muse_spark": Model(
        Rules(sound="kept"), ("image", "video", "audio"), tells_tokens=True, features="apart"
    ),
    #: A model that no release names: it is counted by the rule for all others.
    "unknown": Model(Rules(), ("image", "video", "audio")),
}
#: Patches of a token's sides, as Kimi's configuration says them.
KERNEL = (2, 2)


class Counted(NamedTuple):
    """One medium, and what is told of it."""

    owner: int
    raw: Raw
    #: (frames, rows, columns), or (length,); None if nothing is told of it.
    told: tuple[Any, ...] | None


def sizes_of(medium: str, count: int, sizes: str) -> tuple[Raw, ...]:
    """Return the sizes of so many media, at most 8.

    Args:
        medium: image, video or audio.
        count: How many.
        sizes: `unlike`, `alike`, or each one's, parted by commas: 56x84 pixels, 3x56x84 of three
            frames, or 250 feature frames.

    Raises:
        ValueError: if not so many are given.
    """
    if sizes in ("unlike", "alike"):
        every = _UNLIKE[medium] if sizes == "unlike" else (_ALIKE[medium],) * count
        return every[:count]
    given = tuple(tuple(map(int, size.split("x"))) for size in sizes.split(","))
    if len(given) != count:
        raise ValueError(f"{len(given)} sizes for {count} media")
    return given


_UNLIKE: Mapping[str, tuple[Raw, ...]] = {
    "image": UNLIKE,
    "video": tuple((frames, *size) for frames, size in zip(_FRAMES, UNLIKE, strict=True)),
    "audio": tuple((length,) for length in _LENGTHS),
}
_ALIKE: Mapping[str, Raw] = {
    "image": ALIKE,
    "video": (_ALIKE_FRAMES, *ALIKE),
    "audio": (_ALIKE_LENGTH,),
}


def honest_media(model: str, medium: str, count: int, sizes: str = "unlike") -> Payload:
    """Return so many media of one kind, as the preprocessor of a model tells them.

    Args:
        model: One of `MODELS`.
        medium: image, video or audio.
        count: How many, at most 8.
        sizes: How large they are: see `sizes_of`.
    """
    kind = MODELS[model]
    records = tuple(
        Counted(owner, raw, told_of(kind, raw))
        for owner, raw in enumerate(sizes_of(medium, count, sizes))
    )
    name = kind.image_grids if medium == "image" else TOLD_AS[medium]
    beside = {
        "model": model,
        "made_by": kind.rules,
        "name": name,
        "stale": (),
        "form": "int64",
        "merge_size": kind.rules.merge,
        "kernel": KERNEL,
    }
    return Payload(TALLY, records, (), beside)


def told_of(model: Model, raw: Raw) -> tuple[int, ...]:
    """Return the grid or the length that the preprocessor of a model tells of a medium."""
    if len(raw) == 1:
        return raw
    times, rows, columns = grid_of(raw, model.rules)
    merge = model.rules.merge if model.tells_tokens else 1
    return times, rows // merge, columns // merge


def grid_of(raw: Raw, rules: Rules) -> tuple[int, int, int]:
    """Return the grid of patches of a picture or a clip."""
    if len(raw) == 2:
        return grid_of_picture((raw[0], raw[1]), rules)
    return grid_of_clip(raw[0], (raw[1], raw[2]), rules)


def tokens_of(raw: Raw, rules: Rules) -> int:
    """Return how many rows a model makes of a medium by its rules."""
    if len(raw) == 1:
        return tokens_of_sound(raw[0], rules)
    if len(raw) == 2:
        return tokens_of_picture((raw[0], raw[1]), rules)
    return tokens_of_clip(raw[0], (raw[1], raw[2]), rules)


def made_rows(payload: Payload) -> "torch.Tensor":
    """Return the rows that the model makes of all media, (tokens, width), float32."""
    import torch

    made_by = payload.beside["made_by"]
    return torch.cat(
        [stamped_rows(item.owner, tokens_of(item.raw, made_by)) for item in payload.records]
    )


def told_fields(payload: Payload) -> dict[str, Any]:
    """Return the fields of grids, (media, 3), or of lengths, (media,), as they are handed on."""
    told = [item.told for item in payload.records if item.told is not None]
    # Lengths of sounds are no rows of one.
    if all(len(item.raw) == 1 for item in payload.records) and all(len(one) == 1 for one in told):
        told = [one[0] for one in told]
    form, name = payload.beside["form"], payload.beside["name"]
    fields = {other: _handed(list(stale), "int64") for other, stale in payload.beside["stale"]}
    return fields if name is None else {**fields, name: _handed(told, form)}


def _handed(told: list[Any], form: str) -> Any:
    import torch

    if form == "list":
        return [list(one) if isinstance(one, tuple) else one for one in told]
    made = torch.tensor(told)
    return made if made.is_floating_point() else made.to(getattr(torch, form))
