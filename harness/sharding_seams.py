"""Rows of the table of seams: what LingBot and Krea-2 hand on inside one process.

`harness.seams` is the table; from a row every file is one hop.
"""

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import CHUNKS

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
)
