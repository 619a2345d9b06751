"""Rows of the table of seams: what an EPD server's preprocessor hands to its encoder, as a batch.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import ENCODE, MEDIA, PREPARED, PROCESSED

_SERVER = "sglang.srt.disaggregation.encoder.server"
_MOST = 8


def _is_layout(value: str) -> bool:
    counts = value.split(",")
    return all(count in "1234" and count for count in counts) and sum(map(int, counts)) <= _MOST


def _is_told(value: str) -> bool:
    return value == "all" or value in "0123"


_ITEMS = Dim("items of each request, 1 to 4, as in 1,2; at most 8 together", _is_layout)
_PICTURES = Dim(
    "unlike or alike: whether pictures differ in size", one_of("unlike", "alike"), "unlike"
)


_RECORDS = Dim("a count of items, 1 to 8", whole_number(1, 8))
_SENT = Dim("yes or no: whether hashes come with the request", one_of("yes", "no"), "yes")
_OF_HASHES = ("encode-hashes-*",)
#: What changes nothing where there is one hash.
_OF_SEVERAL_HASHES = ("encode-hashes-turned", "encode-hashes-alike")
#: The server was one module, and became several.
_SERVERS = (
    (Span(until="0.5.19"), "sglang.srt.disaggregation.encode_server"),
    (Span("0.5.19"), _SERVER),
)
_REQUESTS = Dim("a count of requests, 1 to 8", whole_number(1, 8))
_EACH = Dim("items of each request, 1 to 4", whole_number(1, 4))
_KEYED = Dim("yes or no: whether the preprocessor gives keys", one_of("yes", "no"), "no")
_ENTRY = Dim("batch, cached or keys", one_of("batch", "cached", "keys"), "batch")
#: Before this module there were no items that a preprocessor kept apart.
_KEPT_APART = "sglang.srt.multimodal.encoder_preprocessing"
_ITEMS_TWICE = (
    (("omission", (0,)), ("media-item-grids-short", ())),
    (("media-item-video", (1,)), ("duplication-extra", (0,))),
    (("media-item-short", (0,)), ("media-item-longer", (1,))),
)
_KEYS_TWICE = ((("media-item-key-foreign", (0,)), ("media-item-key-foreign", (1,))),)


def _batch_count(dims: Mapping[str, str]) -> int:
    return int(dims["requests"]) * int(dims["each"])


def _too_many(dims: Mapping[str, str]) -> str:
    count = _batch_count(dims)
    if dims["entry"] == "cached" and dims["requests"] != "1":
        return "the prefix cache has one request's rows: entry=cached needs requests=1"
    return f"a batch has at most {_MOST} items, and this one {count}" if count > _MOST else ""


_RANKS = Dim("2 or 4 ranks", one_of("2", "4"), "2")
_TOLD = Dim("all, or the one rank that the lie is told to", _is_told, "all", of_lie=True)
#: Of a group of ranks, beyond what the group itself may take.
_DEADLINE_S = 20.0


def _no_such_rank(dims: Mapping[str, str]) -> str:
    told, ranks = dims["told"], dims["ranks"]
    if told != "all" and int(told) >= int(ranks):
        return f"there is no rank {told} of {ranks}"
    return ""


def _requests(dims: Mapping[str, str]) -> int:
    return len(dims["items"].split(","))


_LAID_OUT_TWICE = (
    (("layout-raises-value", ()), ("layout-zero", (0,))),
    (("layout-untold", (0,)), ("layout-count-lost", (1,))),
    (("layout-one-more", (0,)), ("layout-count-lost", (1,))),
    (("layout-one-more", (0,)), ("layout-one-less", (1,))),
    (("layout-grid-twice", (0,)), ("layout-one-more", (1,))),
    (("layout-swapped", (0, 1)), ("reordering", (0, 1))),
    (("layout-counts-swapped", (0, 1)), ("layout-float", (0,))),
)
#: What no count can tell apart where pictures have one size.
_OF_ALIKE = (
    "omission", "duplication", "reordering*", "substitution", "layout-moved", "layout-swapped",
    "layout-features-*", "layout-grids-turned",
)  # fmt: skip

#: Of several ranks: each raises another error.
_APART = ("layout-raises-apart*",)
_FROM_ONE = ("layout-*", "omission", "duplication", "reordering", "substitution")

_OF_FOUR_RANKS = (
    "layout-raises-value", "layout-raises-key", "layout-zero", "layout-float", "layout-moved",
    "layout-count-more", "layout-features-foreign",
)  # fmt: skip

#: What a key is made of, or is given.
_OF_KEYS = (
    "omission", "duplication*", "reordering", "substitution*", "media-item-video",
    "media-item-short", "media-item-empty", "media-item-turned",
)  # fmt: skip
_OF_A_CACHE = ("substitution", "reordering", "media-item-turned", "media-item-key*")

#: Of features, where no hashes come: too few, none, too many, others.
_OF_FEATURES = tuple(
    ((f"features-{word}", ()),)
    for word in (
        "token-less", "first-less", "none", "longer", "shifted", "reversed", "foreign",
    )
)  # fmt: skip

ENCODER_BATCH_SEAMS = (
    Seam(
        name="encoder-hashes",
        consumer="harness.consumers.encoder_hashes:EncoderHashes",
        forms=(ENCODE, PROCESSED),
        modules=_SERVERS,
        symbol="MMEncoder._calculate_hashes_from_features",
        dims={"records": _RECORDS, "hashes": _SENT},
        spaces=(
            Space({"records": ("1",)}, faults=_OF_HASHES, without=_OF_SEVERAL_HASHES),
            Space({"records": ("2", "3", "8")}, faults=_OF_HASHES),
            Space(
                {"records": ("1", "2", "3"), "hashes": ("no",)},
                faults=("noop",),
                composites=_OF_FEATURES,
            ),
        ),
    ),
    Seam(
        name="encoder-item-grid",
        consumer="harness.consumers.encoder_item_grid:EncoderItemGrid",
        forms=(MEDIA,),
        modules=((Span(), _KEPT_APART),),
        symbol="get_encoder_preprocessed_items",
        dims={
            "requests": _REQUESTS,
            "each": _EACH,
            "pictures": _PICTURES,
            "keyed": _KEYED,
            "entry": _ENTRY,
        },
        spaces=(
            Space({"requests": ("1", "2"), "each": ("1", "2")}, without=("media-item-key*",)),
            Space(
                {"requests": ("3",), "each": ("1",), "pictures": ("alike",)},
                scopes=("records", "items", "grids"),
            ),
            Space({"requests": ("2",), "each": ("1",)}, faults=("noop",), composites=_ITEMS_TWICE),
            Space(
                {
                    "requests": ("1",),
                    "each": ("1", "2"),
                    "keyed": ("yes", "no"),
                    "entry": ("cached",),
                    "pictures": ("unlike", "alike"),
                },
                faults=_OF_A_CACHE,
                without=("media-item-key*",),
            ),
            Space(
                {
                    "requests": ("1",),
                    "each": ("1", "2"),
                    "keyed": ("yes",),
                    "entry": ("cached",),
                    "pictures": ("unlike", "alike"),
                },
                faults=("media-item-key*",),
                composites=_KEYS_TWICE,
            ),
            Space({"requests": ("1",), "each": ("2", "3"), "entry": ("keys",)}, faults=_OF_KEYS),
            Space(
                {"requests": ("1",), "each": ("2",), "entry": ("keys",), "keyed": ("yes",)},
                faults=("media-item-key*", "media-item-turned", "reordering"),
            ),
        ),
        count=_batch_count,
        misfit=_too_many,
    ),
    Seam(
        name="encoder-layout",
        consumer="harness.consumers.encoder_layout:EncoderLayout",
        forms=(PREPARED,),
        modules=((Span(), _SERVER),),
        symbol="MMEncoder._prepare_encode_context",
        dims={"items": _ITEMS, "pictures": _PICTURES},
        spaces=(
            Space({"items": ("1", "2")}, scopes=("records", "layout", "made", "errors")),
            Space({"items": ("1,2", "3,1")}, without=_APART, composites=_LAID_OUT_TWICE),
            Space({"items": ("2,2",)}, without=("layout-swapped", *_APART)),
            Space({"items": ("1,2,3",)}, without=_APART),
            Space({"items": ("1,3",), "pictures": ("alike",)}, faults=_OF_ALIKE),
            Space(
                {"items": ("1,1", "2,2"), "pictures": ("alike",)},
                faults=_OF_ALIKE,
                without=("layout-swapped",),
            ),
            Space(
                {"items": ("1,1,1,1",)},
                scopes=("records", "layout"),
                without=("layout-swapped",),
                every_place=False,
            ),
        ),
        count=_requests,
    ),
    Seam(
        name="encoder-tp-layout",
        consumer="harness.consumers.encoder_tp_layout:EncoderTpLayout",
        forms=(PREPARED,),
        modules=((Span(), _SERVER),),
        symbol="MMEncoder.batch_encode",
        dims={"items": _ITEMS, "pictures": _PICTURES, "ranks": _RANKS, "told": _TOLD},
        spaces=(
            Space({"items": ("1,2",)}, every_place=False),
            Space(
                {"items": ("1,2",), "told": ("0", "1")},
                faults=_FROM_ONE,
                without=_APART,
                every_place=False,
            ),
            Space(
                {"items": ("1,1",), "pictures": ("alike",), "told": ("0", "1")},
                faults=_OF_ALIKE,
                without=("layout-swapped",),
                every_place=False,
            ),
            Space(
                {"items": ("2,1",), "ranks": ("4",), "told": ("all", "0", "2")},
                faults=_OF_FOUR_RANKS,
                every_place=False,
            ),
        ),
        deadline_s=_DEADLINE_S,
        count=_requests,
        misfit=_no_such_rank,
    ),
)
