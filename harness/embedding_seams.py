"""Rows of the table of seams: what the language side does with rows that an encoder computed.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, listed_or, one_of, whole_number
from simulators.payload import PLACEHOLDERS, PRECOMPUTED
from simulators.placeholder_rows import (
    MOST_ITEMS,
    MOST_REQUESTS,
    MOST_TOKENS,
    asked_layout,
    sizes_misfit,
)

_ITEMS = Dim(f"a count of items, 1 to {MOST_ITEMS}", whole_number(1, MOST_ITEMS))
_REQUESTS = Dim(
    f"requests that share the items, 1 to {MOST_REQUESTS}", whole_number(1, MOST_REQUESTS), "1"
)
_SIZES = Dim(
    "alike or unlike: whether items have as many rows; or the rows of each: 2,4",
    listed_or(("alike", "unlike"), whole_number(1, MOST_TOKENS), MOST_ITEMS),
    "alike",
)
_KINDS = Dim("images, or mixed with videos", one_of("images", "mixed"), "images")
_WINDOW = Dim(
    "whole, or cut: the part of the prompts that is computed now", one_of("whole", "cut"), "whole"
)
_DTYPE = Dim(
    "of the language model: float32, bfloat16 or float16",
    one_of("float32", "bfloat16", "float16"),
    "float32",
)

_FEW = (
    "omission", "duplication", "reordering", "substitution", "placed-*-lost",
    "placed-*-doubled", "placed-moved", "placed-swapped", "placed-of-another",
    "offsets-later", "offsets-longer", "offsets-shorter", "offsets-shared", "offsets-none",
    "placeholder-*",
)  # fmt: skip
_TWICE = (
    (("placeholder-more-behind", (0,)), ("placed-last-doubled", (0,))),
    (("placeholder-last-lost", (0,)), ("placed-last-lost", (0,))),
    (("offsets-longer", (0,)), ("placed-last-doubled", (0,))),
    (("placeholder-last-lost", (0,)), ("placeholder-more-behind", (1,))),
    (("placed-last-lost", (0,)), ("placed-list", (1,))),
)

_LAYOUT = Dim(
    "own or model: whether the processor lays out the prompt itself, or as its model does",
    one_of("own", "model"),
)
#: What an encoder sends; where an item stands is then the processor's own business.
_SENT = (
    "omission", "duplication*", "reordering*", "substitution*", "placed-*-lost",
    "placed-*-doubled", "placed-two-more", "placed-emptied", "placed-one-for-another",
    "placed-reversed", "placed-nan", "placed-moved", "placed-swapped",
    "placed-of-another", "placed-all-*", "received-*",
)  # fmt: skip
#: Items that agree with their offsets, and not with what was received.
_CONSISTENT = (
    (("offsets-longer", (0,)), ("placed-last-doubled", (0,))),
    (("offsets-shorter", (1,)), ("placed-first-lost", (1,))),
    (("placed-list", (1,)), ("received-null", ())),
    (("placed-moved", (0, 1)), ("offsets-shorter", (0,))),
)


def _misfit(dims: Mapping[str, str]) -> str:
    """Return why a combination makes no sense; empty if it does."""
    if int(dims["records"]) % int(dims["requests"]):
        return f"requests={dims['requests']} does not divide records={dims['records']}"
    return _sizes_misfit(dims)


def _sizes_misfit(dims: Mapping[str, str]) -> str:
    items, requests = int(dims["records"]), int(dims.get("requests", "1"))
    return sizes_misfit(asked_layout(items, requests, dims["sizes"], dims["kinds"]))


EMBEDDING_SEAMS = (
    Seam(
        name="embedding-scatter",
        consumer="harness.consumers.embedding_scatter:EmbeddingScatter",
        forms=(PLACEHOLDERS,),
        modules=((Span(), "sglang.srt.managers.mm_utils"),),
        symbol="_embed_mm_inputs_with_split",
        dims={
            "records": _ITEMS,
            "requests": _REQUESTS,
            "sizes": _SIZES,
            "kinds": _KINDS,
            "window": _WINDOW,
            "dtype": _DTYPE,
        },
        spaces=(
            Space({"records": ("1",)}),
            Space({"records": ("2",), "sizes": ("alike", "unlike")}, composites=_TWICE),
            Space({"records": ("3",), "sizes": ("unlike",)}, every_place=False),
            Space({"records": ("2",), "requests": ("2",)}, faults=_FEW, composites=_TWICE),
            Space({"records": ("4",), "requests": ("2",), "sizes": ("unlike",)}, faults=_FEW),
            Space(
                {"records": ("4",), "requests": ("2",), "kinds": ("mixed",)},
                faults=_FEW,
                every_place=False,
            ),
            Space(
                {"records": ("2",), "sizes": ("unlike",), "window": ("cut",)},
                faults=_FEW,
            ),
            Space(
                {"records": ("2",), "dtype": ("bfloat16", "float16")},
                faults=("placed-*",),
                every_place=False,
            ),
        ),
        misfit=_misfit,
    ),
    Seam(
        name="encoder-precomputed-layout",
        consumer="harness.consumers.encoder_precomputed_layout:EncoderPrecomputedLayout",
        forms=(PRECOMPUTED,),
        modules=((Span(), "sglang.srt.multimodal.processors.base_processor"),),
        symbol="BaseMultimodalProcessor.get_validated_mm_data",
        dims={"records": _ITEMS, "sizes": _SIZES, "kinds": _KINDS, "entry": _LAYOUT},
        spaces=(
            Space({"records": ("1", "2"), "entry": ("model",)}),
            Space(
                {"records": ("3",), "sizes": ("unlike",), "entry": ("model",)},
                composites=_CONSISTENT,
            ),
            Space(
                {"records": ("4",), "kinds": ("mixed",), "entry": ("model",)},
                every_place=False,
            ),
            Space({"records": ("1", "2"), "entry": ("own",)}, faults=_SENT),
            Space({"records": ("3",), "sizes": ("unlike",), "entry": ("own",)}, faults=_SENT),
            Space(
                {"records": ("4",), "kinds": ("mixed",), "entry": ("own",)},
                faults=_SENT,
                every_place=False,
            ),
        ),
        misfit=_sizes_misfit,
    ),
)
