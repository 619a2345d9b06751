"""Rows of the table of seams: what preprocessor and encoder of an EPD server hand on.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, either, listed_or, one_of, size, whole_number
from simulators.encoder import MOST_TOKENS, WIDTH
from simulators.payload import EMBEDDINGS, PROCESSED

_DISAGGREGATION = "sglang.srt.disaggregation"
#: The server was one module, and became several.
SERVER = (
    (Span(until="0.5.19"), f"{_DISAGGREGATION}.encode_server"),
    (Span("0.5.19"), f"{_DISAGGREGATION}.encoder.server"),
)

_ITEMS = Dim("a count of items, 1 to 8", whole_number(1, 8))
#: Items of a batch, at most.
_MOST = 8
_PICTURES = Dim(
    "unlike or alike: whether pictures differ in size; or each one's tokens: 2,4; or its pixels, "
    "height x width: 23x3,70x80",
    listed_or(("unlike", "alike"), either(whole_number(1, MOST_TOKENS), size(1)), _MOST),
    "unlike",
)
_MISSING = Dim("all or half: which items no cache has", one_of("all", "half"), "all")
_ENTRY = Dim(
    "forward or cached: whether a prefix cache has the rows", one_of("forward", "cached"), "forward"
)
_REQUESTS = Dim("a count of requests, 1 to 8", whole_number(1, 8))
#: No wider than a large model's hidden size: with many tokens, what a card has to do.
_WIDTH = Dim("columns of an embedding, 8 to 16384", whole_number(WIDTH, 16384), str(WIDTH))
_EACH = Dim("items of each request, 1 to 4", whole_number(1, 4))


def _sizes_misfit(dims: Mapping[str, str], count: int) -> str:
    told = dims["pictures"]
    if told.isalpha() or told.count(",") + 1 == count:
        return ""
    return f"pictures={told} are not {count}"


def _items_misfit(dims: Mapping[str, str]) -> str:
    return _sizes_misfit(dims, int(dims["records"]))


def _batch_count(dims: Mapping[str, str]) -> int:
    return int(dims["requests"]) * int(dims["each"])


def _batch_misfit(dims: Mapping[str, str]) -> str:
    count = _batch_count(dims)
    if count > _MOST:
        return f"a batch has at most {_MOST} items, and this one {count}"
    return _sizes_misfit(dims, count)


#: What pictures of one size are needed for: no count can tell them apart.
_OF_ALIKE = (
    "omission", "duplication", "reordering*", "substitution", "embedding-stale",
    "embeddings-swapped", "embeddings-doubled", "embeddings-padded", "embedding-middle-lost",
)  # fmt: skip
_ROWS_AND_COUNTS = (
    (("embedding-last-lost", (0,)), ("embedding-last-twice", (1,))),
    (("embedding-last-lost", (1,)), ("count-one-less", (0,))),
    (("count-float", (0,)), ("embedding-lost", (1,))),
    (("embeddings-narrower", ()), ("count-one-more", (0,))),
    (("embeddings-float16", ()), ("embeddings-swapped", (0, 1))),
)

#: Rules that differ only on pictures with a side below one token.
_OF_TINY = ("*-small-side",)
_TINY = Space({"records": ("1",), "pictures": ("23x3", "3x22")}, faults=_OF_TINY)

_FEATURES_AND_GRIDS = (
    (("features-token-less", ()), ("patch-grids-line-less", ())),
    (("features-null", ()), ("patch-grids-one-less", ())),
    (("features-lost", ()), ("patch-grids-one-more", ())),
    (("features-shifted", ()), ("patch-grids-swapped", ())),
)


def _one_output(dims: Mapping[str, str]) -> int:
    return 1


#: What a cache can hold, once it went bad: one tensor of rows.
_OF_CACHED = (
    "embedding-last-lost", "embedding-lost", "embedding-last-twice", "embedding-reversed",
    "embedding-nan", "embedding-stale", "embeddings-swapped", "embeddings-doubled",
    "embeddings-narrower", "embeddings-float16", "count-one-more", "counts-moved",
)  # fmt: skip

ENCODER_SEAMS = (
    Seam(
        name="encoder-slice",
        consumer="harness.consumers.encoder_slice:EncoderSlice",
        forms=(EMBEDDINGS,),
        modules=SERVER,
        symbol="MMEncoder.slice_embedding",
        dims={
            "records": _ITEMS,
            "pictures": _PICTURES,
            "missing": _MISSING,
            "width": _WIDTH,
        },
        spaces=(
            Space({"records": ("3",)}, without=_OF_TINY, composites=_ROWS_AND_COUNTS),
            Space(
                {"records": ("1",)},
                scopes=("items", "form", "rules"),
                without=("counts-on-first", "embeddings-padded", *_OF_TINY),
            ),
            _TINY,
            Space({"records": ("2", "4"), "pictures": ("alike",)}, faults=_OF_ALIKE),
            Space(
                {"records": ("5",), "missing": ("half",)},
                scopes=("records", "items", "two"),
                every_place=False,
            ),
            Space({"records": ("8",)}, scopes=("items", "two"), every_place=False),
        ),
        misfit=_items_misfit,
    ),
    Seam(
        name="encoder-validate",
        consumer="harness.consumers.encoder_validate:EncoderValidate",
        forms=(EMBEDDINGS,),
        modules=SERVER,
        symbol="MMEncoder.encode",
        dims={"records": _ITEMS, "pictures": _PICTURES, "entry": _ENTRY, "width": _WIDTH},
        spaces=(
            Space({"records": ("1", "2")}, without=_OF_TINY, composites=_ROWS_AND_COUNTS),
            Space(
                {"records": ("3",)},
                scopes=("items", "two", "rules", "form"),
                without=_OF_TINY,
                every_place=False,
            ),
            _TINY,
            Space({"records": ("2",), "pictures": ("alike",)}, faults=_OF_ALIKE),
            Space({"records": ("1", "2"), "entry": ("cached",)}, faults=_OF_CACHED),
        ),
        misfit=_items_misfit,
    ),
    Seam(
        name="encoder-stage",
        consumer="harness.consumers.encoder_stage:EncoderStage",
        forms=(EMBEDDINGS,),
        modules=SERVER,
        symbol="MMEncoder.batch_encode",
        dims={"requests": _REQUESTS, "each": _EACH, "pictures": _PICTURES, "width": _WIDTH},
        spaces=(
            Space(
                {"requests": ("2",), "each": ("1",)}, without=_OF_TINY, composites=_ROWS_AND_COUNTS
            ),
            Space({"requests": ("2",), "each": ("2",)}, without=_OF_TINY, every_place=False),
            Space(
                {"requests": ("3",), "each": ("1",)},
                scopes=("records", "items", "two", "rules"),
                without=_OF_TINY,
                every_place=False,
            ),
            Space(
                {"requests": ("2", "3"), "each": ("1",), "pictures": ("alike",)}, faults=_OF_ALIKE
            ),
            Space({"requests": ("2",), "each": ("2",), "pictures": ("alike",)}, faults=_OF_ALIKE),
        ),
        count=_batch_count,
        misfit=_batch_misfit,
    ),
    Seam(
        name="encoder-features",
        consumer="harness.consumers.encoder_output:EncoderOutput",
        forms=(PROCESSED,),
        modules=SERVER,
        symbol="_get_mm_feature",
        dims={"requests": _REQUESTS, "each": _EACH, "pictures": _PICTURES},
        spaces=(
            Space({"requests": ("1", "2"), "each": ("2",)}, scopes=("features",)),
            Space(
                {"requests": ("3",), "each": ("1",)},
                scopes=("features",),
                composites=_FEATURES_AND_GRIDS,
            ),
            Space(
                {"requests": ("2",), "each": ("1",), "pictures": ("alike",)}, scopes=("features",)
            ),
            Space({"requests": ("2",), "each": ("1",)}, faults=("patch-grids-lost",)),
        ),
        count=_one_output,
        misfit=_batch_misfit,
    ),
    Seam(
        name="encoder-grid-dim",
        consumer="harness.consumers.encoder_output:EncoderOutput",
        forms=(PROCESSED,),
        modules=SERVER,
        symbol="_get_mm_feature",
        dims={"requests": _REQUESTS, "each": _EACH, "pictures": _PICTURES},
        spaces=(
            Space({"requests": ("1", "2"), "each": ("2",)}, scopes=("grids",)),
            Space(
                {"requests": ("3",), "each": ("1",)},
                scopes=("grids",),
                composites=_FEATURES_AND_GRIDS,
            ),
            Space({"requests": ("2",), "each": ("1",)}, faults=("features-lost",)),
        ),
        count=_one_output,
        misfit=_batch_misfit,
    ),
)
