"""Rows of the table of seams: what LingBot and Krea-2 hand on inside one process.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, size, whole_number
from simulators.payload import CAMERA, CHUNKS, DEGREES, MASKS

_RUNTIME = "sglang.multimodal_gen.runtime"

_CHUNKS = Dim("a count of chunks, 1 to 16", whole_number(1, 16))
_SINK = Dim("tokens of the sink, 0 to 4", whole_number(0, 4), "0")
_RECENT = Dim(
    "none, or how many tokens before a chunk are seen",
    lambda value: value == "none" or whole_number(0, 64)(value),
    "none",
)
_HEADS = Dim("all or part", one_of("all", "part"), "all")

_CHUNKS_TWICE = (
    (("chunk-head-lost", (1,)), ("chunk-start-negative", (0,))),
    (("chunk-start-negative", (1,)), ("chunk-head-lost", (0,))),
    (("omission", (1,)), ("chunk-doubled", (1,))),
)

_PROMPTS = Dim("a count of prompts, 1 to 4", whole_number(1, 4))
_SHAPE = Dim("height x width in pixels, multiples of 16, as in 48x80", size(16))
_WORLD = Dim("ranks that share the sequence, 1 to 8", whole_number(1, 8), "1")
_TEXT = Dim("whole or ragged: whether prompts differ in length", one_of("whole", "ragged"))
_PROMPT = Dim("positive or negative prompts", one_of("positive", "negative"), "positive")


def _krea2_misfit(dims: Mapping[str, str]) -> str:
    if dims["text"] == "ragged" and int(dims["records"]) == 1:
        return "text=ragged needs two prompts or more"
    if dims["text"] == "ragged" and int(dims["world"]) > 1:
        return "text=ragged is what a shared sequence refuses: world must be 1"
    return ""


_BATCH = Dim("a count of batch rows, 1 to 8", whole_number(1, 8))
_CAMERA = Dim(
    "plain or ready: whether scale and shift come computed", one_of("plain", "ready"), "plain"
)

_CAMERA_TWICE = (
    (("cam-token-less", ()), ("pair-stale", ())),
    (("cam-lost", ()), ("pair-token-less", ())),
    (("cam-half", ()), ("pair-lost", ())),
)
#: What depends on how many rows the batch has.
_OF_BATCH = ("cam-batch-one", "cam-flat", "pair-batch-*", "pair-scale-alone", "pair-dimension-more")

#: What is wrong with the form of a mask, whether it has padding or not.
_FORMS = (
    "mask-lost", "mask-shorter", "mask-longer", "mask-flat", "mask-broadcast", "mask-list",
)  # fmt: skip
#: What the two kinds of prompts could treat otherwise.
_OF_NEGATIVE = ("mask-token-masked", "mask-lost")

_HEAD_COUNT = Dim("heads of the model, 1 to 64", whole_number(1, 64), "8")
_PICTURE = Dim("height x width in pixels, multiples of 16, as in 48x80", size(16), "48x80")
_PART = Dim(
    "model, stage, cache or attention: who is told",
    one_of("model", "stage", "cache", "attention"),
)


def _degrees_misfit(dims: Mapping[str, str]) -> str:
    if int(dims["heads"]) % int(dims["world"]):
        return f"world={dims['world']} does not divide heads={dims['heads']}"
    if dims["entry"] == "cache" and dims["world"] == "1":
        return "entry=cache is told that ranks share it: world must be 2 or more"
    return ""


#: A text and nothing end alike: each part is told one of the two.
_OF_MODEL = (
    "degree-ulysses-[!t]*", "degree-ring-[!t]*", "degree-ring-two", "degree-sp-*", "degree-flag-*",
)  # fmt: skip
_OF_STAGE = (
    "degree-ulysses-one", "degree-ulysses-half", "degree-ulysses-double", "degree-ulysses-more",
    "degree-ulysses-f*", "degree-ulysses-text", "degree-ring-two", "degree-ring-text",
    "degree-ring-half", "degree-ring-all", "degree-flag-lost", "heads-half", "heads-one-less",
    "heads-zero", "heads-float", "heads-text",
)  # fmt: skip
_OF_CACHE = (
    "degree-ulysses-one", "degree-ulysses-text", "degree-ring-two", "degree-ring-all",
    "degree-flag-lost", "heads-one-less",
)  # fmt: skip
_OF_ATTENTION = (
    "degree-ulysses-one", "degree-ulysses-zero", "degree-ulysses-negative", "degree-ulysses-half",
    "degree-ulysses-double", "degree-ulysses-more", "degree-ulysses-float", "degree-ulysses-text",
    "heads-one-more", "heads-negative", "heads-float", "heads-missing",
)  # fmt: skip

_RING_BEFORE_ULYSSES = (("degree-ring-two", ()), ("degree-ulysses-one", ()))
_RING_BEFORE_HEADS = (("degree-ring-two", ()), ("heads-one-less", ()))
_ULYSSES_BEFORE_HEADS = (("degree-ulysses-zero", ()), ("heads-one-less", ()))
_FLAG_BEFORE_RING = (("degree-flag-lost", ()), ("degree-ring-two", ()))
#: Degrees that agree with each other, and not with the ranks.
_OTHER_RANKS = (("degree-sp-double", ()), ("degree-ulysses-double", ()))

SHARDING_SEAMS = (
    Seam(
        name="lingbot-kv-cache",
        consumer="harness.consumers.lingbot_kv_cache:LingbotKvCache",
        forms=(CHUNKS,),
        modules=((Span(), f"{_RUNTIME}.layers.kvcache.causal_attention_cache"),),
        symbol="CausalSelfAttentionKVCache.update_and_get_attention_kv",
        dims={"records": _CHUNKS, "sink": _SINK, "recent": _RECENT, "heads": _HEADS},
        spaces=(
            Space(
                {"records": ("3",)},
                scopes=("records", "chunk", "cursor"),
                every_place=False,
                composites=_CHUNKS_TWICE,
            ),
            Space({"records": ("1",)}, faults=("chunk-start-skipped", "chunk-start-far")),
            Space({"records": ("5",)}, faults=("duplication-extra",), every_place=False),
            Space(
                {"records": ("5",), "sink": ("4",)},
                faults=("omission", "duplication-extra"),
            ),
            Space(
                {"records": ("3",), "heads": ("part",)},
                faults=("chunk-head-*",),
                every_place=False,
            ),
            Space(
                {"records": ("5",), "sink": ("4",), "recent": ("4",)},
                faults=("chunk-recent-zero",),
                every_place=False,
            ),
        ),
    ),
    Seam(
        name="lingbot-cam",
        consumer="harness.consumers.lingbot_cam:LingbotCam",
        forms=(CAMERA,),
        modules=((Span(), f"{_RUNTIME}.models.dits.lingbot_world"),),
        symbol="LingBotWorldCamConditioner.forward",
        dims={"records": _BATCH, "entry": _CAMERA},
        spaces=(
            Space({"records": ("2",)}, scopes=("camera",)),
            Space({"records": ("2",), "entry": ("ready",)}, composites=_CAMERA_TWICE),
            Space({"records": ("1", "3"), "entry": ("ready",)}, faults=_OF_BATCH),
        ),
    ),
    Seam(
        name="krea2-ragged",
        consumer="harness.consumers.krea2_ragged:Krea2Ragged",
        forms=(MASKS,),
        modules=((Span(), "sglang.multimodal_gen.configs.pipeline_configs.krea2"),),
        symbol="Krea2PipelineConfig._build_pos_and_mask",
        dims={
            "records": _PROMPTS,
            "shape": _SHAPE,
            "world": _WORLD,
            "text": _TEXT,
            "entry": _PROMPT,
        },
        spaces=(
            Space({"records": ("2",), "shape": ("48x80",), "text": ("ragged",)}, every_place=False),
            Space(
                {"records": ("2",), "shape": ("48x80",), "text": ("whole",), "world": ("2",)},
                scopes=("records", "items", "body"),
                every_place=False,
            ),
            Space(
                {"records": ("2",), "shape": ("48x80",), "text": ("whole",)},
                faults=(*_FORMS, "omission", "substitution-extra"),
                every_place=False,
            ),
            Space(
                {
                    "records": ("1",),
                    "shape": ("48x80", "64x64"),
                    "text": ("whole",),
                    "world": ("4",),
                },
                faults=("mask-token-masked", "side-half-token", "side-token-more", "side-zero"),
            ),
            Space(
                {
                    "records": ("2",),
                    "shape": ("48x80",),
                    "text": ("ragged",),
                    "entry": ("negative",),
                },
                faults=_OF_NEGATIVE,
            ),
            Space(
                {
                    "records": ("2",),
                    "shape": ("48x80",),
                    "text": ("whole",),
                    "world": ("2",),
                    "entry": ("negative",),
                },
                faults=_OF_NEGATIVE,
            ),
        ),
        misfit=_krea2_misfit,
    ),
    Seam(
        name="shard-degrees",
        consumer="harness.consumers.shard_degrees:ShardDegrees",
        forms=(DEGREES,),
        modules=((Span(), f"{_RUNTIME}.models.dits.lingbot_world"),),
        symbol="CausalLingBotWorldTransformer3DModel.forward",
        dims={"world": _WORLD, "heads": _HEAD_COUNT, "shape": _PICTURE, "entry": _PART},
        spaces=(
            Space(
                {"world": ("4",), "entry": ("model",)},
                faults=_OF_MODEL,
                composites=(_RING_BEFORE_ULYSSES, _FLAG_BEFORE_RING, _OTHER_RANKS),
            ),
            Space(
                {"world": ("2",), "shape": ("64x64",), "entry": ("model",)},
                faults=("degree-sp-half", "degree-sp-double"),
            ),
            Space(
                {"world": ("1",), "entry": ("model",)},
                faults=("degree-ring-two", "degree-sp-double"),
            ),
            Space(
                {"world": ("4",), "entry": ("stage",)},
                faults=_OF_STAGE,
                composites=(_RING_BEFORE_ULYSSES, _RING_BEFORE_HEADS),
            ),
            Space({"world": ("1",), "entry": ("stage",)}, faults=("degree-ulysses-double",)),
            Space(
                {"world": ("2",), "heads": ("6",), "entry": ("stage",)},
                faults=("degree-ulysses-more", "heads-half"),
            ),
            Space(
                {"world": ("4",), "entry": ("cache",)},
                faults=_OF_CACHE,
                composites=(_RING_BEFORE_ULYSSES, _ULYSSES_BEFORE_HEADS),
            ),
            Space(
                {"world": ("4",), "entry": ("attention",)},
                faults=_OF_ATTENTION,
            ),
            Space(
                {"world": ("2",), "heads": ("6",), "entry": ("attention",)},
                faults=("degree-ulysses-double",),
            ),
        ),
        misfit=_degrees_misfit,
    ),
)
