"""The row of the table of seams for what an EPD server's preprocessor counts.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from harness.encoder_seams import SERVER
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.counted_media import MODELS
from simulators.payload import TALLY

#: Items of a batch, sides of a picture or a clip in pixels, frames of a clip, and length of a
#: sound, at most.
_MOST, _MOST_PIXELS, _MOST_FRAMES, _MOST_LENGTH = 8, 1024, 64, 3000
_MEDIA = ("image", "video", "audio")
#: How many numbers say the size of one medium.
_NUMBERS = {"image": 2, "video": 3, "audio": 1}


def _is_size(value: str) -> bool:
    parts = value.split("x")
    if not all(part.isdecimal() for part in parts):
        return False
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        return numbers[0] <= _MOST_LENGTH
    pixels = all(0 < side <= _MOST_PIXELS for side in numbers[-2:])
    return pixels and len(numbers) <= 3 and 0 < numbers[0] <= _MOST_PIXELS


def _is_sizes(value: str) -> bool:
    sizes = value.split(",")
    return value in ("unlike", "alike") or (len(sizes) <= _MOST and all(map(_is_size, sizes)))


_DIMS = {
    "model": Dim(f"{', '.join(MODELS)}: the type of the model", one_of(*MODELS), "qwen2_vl"),
    "medium": Dim("image, video or audio", one_of(*_MEDIA), "image"),
    "requests": Dim("a count of requests, 1 to 8", whole_number(1, 8)),
    "each": Dim("items of each request, 1 to 4", whole_number(1, 4)),
    "sizes": Dim(
        "unlike or alike: whether media differ in size; or each one's: 56x84 pixels, 3x56x84 of "
        "three frames, 250 feature frames of a sound, parted by commas",
        _is_sizes,
        "unlike",
    ),
}


def _count(dims: Mapping[str, str]) -> int:
    return int(dims["requests"]) * int(dims["each"])


def _misfit(dims: Mapping[str, str]) -> str:
    model, medium, sizes, count = dims["model"], dims["medium"], dims["sizes"], _count(dims)
    if medium not in MODELS[model].media:
        return f"model={model} takes {', '.join(MODELS[model].media)}, and no medium={medium}"
    if count > _MOST:
        return f"a batch has at most {_MOST} items, and this one {count}"
    if sizes.isalpha():
        return ""
    told = sizes.split(",")
    if len(told) != count:
        return f"sizes={sizes} are not {count}"
    if any(size.count("x") + 1 != _NUMBERS[medium] for size in told):
        return f"sizes={sizes} are no sizes of medium={medium}"
    frames = [int(size.partition("x")[0]) for size in told]
    if medium == "video" and max(frames) > _MOST_FRAMES:
        return f"a clip has at most {_MOST_FRAMES} frames"
    return ""


#: What says something of sounds, of clips, and of pictures.
_OF_SOUNDS = (
    "tally-untold", "tally-zero", "tally-last-more", "tally-last-less", "tally-last-half",
    "tally-swapped", "tally-hundred-moved", "tally-sides-more", "tally-sides-none", "tally-float",
    "tally-list", "tally-name-lost", "tally-name-other", "tally-made-class-token",
)  # fmt: skip
_OF_GRIDS = (
    "tally-untold", "tally-zero", "tally-frames-more", "tally-last-more", "tally-last-less",
    "tally-last-half", "tally-transposed", "tally-swapped", "tally-sides-*", "tally-float",
    "tally-list", "tally-name-lost", "tally-name-other", "tally-model-unknown", "tally-merge-*",
    "tally-made-unmerged", "tally-made-class-token", "tally-made-line-ends", "tally-made-ceil",
)  # fmt: skip
_OF_CLIPS = ("tally-made-pooled", "tally-made-frames-cut", *_OF_GRIDS)
#: Where the model's own name is among them, nothing changes.
_OF_NAMES = ("tally-name-hws", "tally-name-thws", "tally-name-image", "tally-stale-*")
_OF_KIMI = ("tally-kernel-one", *_OF_GRIDS)
_MOVED = ("tally-frames-moved", "tally-pooled-moved", "tally-last-moved")


def _sounds(model: str, *others: str) -> Space:
    return Space(
        {"model": (model,), "medium": ("audio",), "requests": ("2",), "each": ("1",)},
        faults=(*_OF_SOUNDS, *others),
    )


_RENAMED = (
    (("tally-name-image", ()), ("tally-stale-hws", ())),
    (("tally-name-image", ()), ("tally-stale-thws", ())),
    (("tally-name-hws", ()), ("tally-stale-thws", ())),
)
#: Lengths at which windows end, and those at which halves do.
_BORDERS = ("0", "1", "2", "3", "99", "100", "101", "199", "200", "201", "0,100", "1,99", "101,0")
#: The smallest media on which a model's rule and another one count differently, and others on which
#: both count alike.
_SMALLEST = (
    ("qwen2_vl", "image", ("1x1",), ("tally-made-unmerged", "tally-made-class-token")),
    ("qwen2_vl", "image", ("14x15", "14x14"), ("tally-made-half-up",)),
    ("qwen2_vl", "video", ("3x56x56", "2x56x56"), ("tally-made-pooled",)),
    ("qwen2_vl", "video", ("1x56x56", "2x56x56"), ("tally-made-frames-cut",)),
)
_TWO_CLIPS: dict[str, tuple[str, ...]] = {
    "medium": ("video",), "requests": ("2",), "each": ("1",), "sizes": ("alike",),
}  # fmt: skip
#: Rules of sounds that are taken for another's, at the borders.
_MADE = ("tally-made-halves", "tally-made-windows")

ENCODER_COUNT_SEAMS = (
    Seam(
        name="encoder-counts",
        consumer="harness.consumers.encoder_counts:EncoderCounts",
        forms=(TALLY,),
        modules=SERVER,
        symbol="MMEncoder.batch_encode",
        dims=_DIMS,
        spaces=(
            Space(
                {"requests": ("2",), "each": ("1",)},
                faults=(*_OF_GRIDS, *_OF_NAMES),
                without=("tally-name-image", "tally-stale-thw"),
            ),
            Space({"requests": ("1",), "each": ("2",)}, faults=("tally-swapped", "tally-last-*")),
            Space(
                {"model": ("kimi_vl", "kimi_k25"), "requests": ("2",), "each": ("1",)},
                faults=_OF_KIMI,
                without=("tally-model-unknown",),
            ),
            Space(
                {"model": ("kimi_vl",), "requests": ("2",), "each": ("1",)},
                faults=_OF_NAMES,
                without=("tally-name-hws", "tally-stale-hws"),
                composites=_RENAMED[:2],
            ),
            Space(
                {"model": ("kimi_k25",), "requests": ("2",), "each": ("1",)},
                faults=_OF_NAMES,
                without=("tally-name-thws", "tally-stale-thws"),
                composites=_RENAMED,
            ),
            Space({"medium": ("video",), "requests": ("2",), "each": ("1",)}, faults=_OF_CLIPS),
            *(
                Space(
                    {
                        "model": (model,),
                        "medium": (medium,),
                        "requests": ("1",),
                        "each": ("1",),
                        "sizes": sizes,
                    },
                    faults=faults,
                )
                for model, medium, sizes, faults in _SMALLEST
            ),
            Space(_TWO_CLIPS, faults=_MOVED),
            Space({**_TWO_CLIPS, "model": ("mimo_v2", "muse_spark")}, faults=_MOVED),
            Space(
                {"model": ("muse_spark",), "requests": ("2",), "each": ("1",)},
                faults=_OF_GRIDS,
                without=("tally-merge-unsaid",),
            ),
            Space(
                {"model": ("unknown",), "medium": _MEDIA, "requests": ("1", "3"), "each": ("1",)},
                faults=("tally-last-more", "tally-made-class-token"),
            ),
            Space(
                {
                    "model": ("unknown",),
                    "medium": ("image", "video"),
                    "requests": ("2",),
                    "each": ("1",),
                },
                faults=("tally-merge-one",),
            ),
            Space(
                {
                    "model": ("qwen3_omni_moe",),
                    "medium": ("image", "video"),
                    "requests": ("3",),
                    "each": ("1",),
                },
                faults=("noop", *_MOVED[:1], "tally-swapped"),
            ),
            _sounds("qwen2_audio", "tally-made-windows", "tally-model-unknown"),
            _sounds("qwen3_omni_moe", "tally-made-halves", "tally-model-unknown"),
            _sounds("mimo_v2", *_MADE, "tally-model-unknown"),
            _sounds("muse_spark", *_MADE, "tally-model-unknown"),
            Space(
                {
                    "model": ("qwen2_audio", "qwen3_omni_moe"),
                    "medium": ("audio",),
                    "requests": ("1", "2"),
                    "each": ("1",),
                    "sizes": _BORDERS,
                },
                faults=("noop",),
            ),
            Space(
                {
                    "model": ("qwen2_audio",),
                    "medium": ("audio",),
                    "requests": ("1",),
                    "each": ("1",),
                    "sizes": _BORDERS,
                },
                faults=("tally-made-windows",),
            ),
            Space(
                {
                    "model": ("qwen3_omni_moe",),
                    "medium": ("audio",),
                    "requests": ("1",),
                    "each": ("1",),
                    "sizes": _BORDERS,
                },
                faults=("tally-made-halves",),
            ),
            Space(
                {
                    "model": ("qwen2_audio", "qwen3_omni_moe"),
                    "medium": ("audio",),
                    "requests": ("2",),
                    "each": ("1",),
                    "sizes": ("alike",),
                },
                faults=("tally-hundred-moved",),
            ),
        ),
        count=_count,
        misfit=_misfit,
    ),
)
