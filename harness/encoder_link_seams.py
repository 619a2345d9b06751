"""Rows of the table of seams: what passes between the encoder and whoever receives from it.

`harness.seams` is the table; from a row every file is one hop.
"""

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import ENCODE, PARTS, URLS

_DISAGGREGATION = "sglang.srt.disaggregation"
#: The receiver moved when the encoder became a package.
RECEIVER = (
    (Span(until="0.5.19"), f"{_DISAGGREGATION}.encode_receiver"),
    (Span("0.5.19"), f"{_DISAGGREGATION}.encoder.receiver"),
)

_PARTS_DIM = Dim("parts, 1 to 8", whole_number(1, 8))
_MODALITY = Dim("image, video, audio or mixed", one_of("image", "video", "audio", "mixed"), "image")
_DTYPE = Dim("float32, float16 or bfloat16", one_of("float32", "float16", "bfloat16"), "float32")
_PART_SCOPES = ("records", "parts")
_OF_A_MODALITY = (
    "part-grid-*", "part-grids-swapped", "part-modality-*", "part-embedding*", "part-row-*",
    "part-index-swapped", "omission", "substitution", "part-request-foreign",
)  # fmt: skip
_OF_A_DTYPE = ("part-dtype-other", "part-embedding-foreign", "part-rows-wider", "omission")
_PARTS_TWICE = (
    (("part-index-swapped", (0, 1)), ("part-embeddings-swapped", (0, 1))),
    (("part-row-lost", (0,)), ("part-row-doubled", (1,))),
    (("part-count-more", (1,)), ("part-index-text", (1,))),
    (("part-request-foreign", (1,)), ("part-count-more", (1,))),
    (("part-grids-swapped", (0, 1)), ("part-embeddings-swapped", (0, 1))),
)

ITEMS_DIM = Dim("items of one part, 1 to 8", whole_number(1, 8))
ONE_MODALITY = Dim("image, video or audio", one_of("image", "video", "audio"), "image")
HASHES = Dim("yes or no: whether the items' hashes are sent too", one_of("yes", "no"), "yes")
#: Faults that change nothing where there is one hash, or none.
OF_SEVERAL_HASHES = ("encode-hashes-turned", "encode-hashes-alike")
REQUESTS_TWICE = (
    (("encode-hashes-object", ()), ("encode-index-count", ())),
    (("encode-count-zero", ()), ("encode-index-negative", ())),
    (("encode-id-foreign", ()), ("substitution", (0,))),
    (("encode-hashes-short", ()), ("omission", (1,))),
    (("encode-modality-unknown", ()), ("encode-items-empty", ())),
)

_ENCODERS_DIM = Dim("encoders, 1 to 8", whole_number(1, 8))
_MODE = Dim("http or grpc", one_of("http", "grpc"))
_TOLD = Dim(
    "how it is told: by call, or by server, in its arguments and environment",
    one_of("call", "server"),
    "call",
)
_OF_A_MESSAGE = (
    "message-*", "omission", "duplication", "substitution", "part-shape-*", "part-index-*",
    "part-count-*", "parts-count-*", "part-repeated", "part-plain", "part-modality-*",
    "part-embedding-foreign", "part-embedding-none", "part-row-lost", "part-rows-wider",
    "part-grid-list", "part-grid-none", "part-dtype-other", "part-request-foreign",
)  # fmt: skip
_MESSAGES_TWICE = (
    (("message-dtype-alike", (0,)), ("message-rows-cut", (1,))),
    (("part-shape-turned", (0,)), ("message-rows-swapped", (0, 1))),
    (("message-error-foreign", (0,)), ("part-index-text", (1,))),
    (("message-head-junk", (1,)), ("message-error", (0,))),
)
_URLS_TWICE = (
    (("encoder-url-null", (1,)), ("encoder-url-other", (0,))),
    (("encoder-url-null", (0,)), ("encoder-url-other", (1,))),
    (("mode-unknown", ()), ("encoder-url-null", (0,))),
    (("mode-other", ()), ("encoder-url-secure", (1,))),
)

ENCODER_LINK_SEAMS = (
    Seam(
        name="encoder-parts",
        consumer="harness.consumers.encoder_parts:EncoderParts",
        forms=(PARTS,),
        modules=RECEIVER,
        symbol="MultiModalEmbeddingData.add",
        dims={"records": _PARTS_DIM, "modality": _MODALITY, "dtype": _DTYPE},
        spaces=(
            Space({"records": ("1", "2", "3")}, scopes=_PART_SCOPES),
            Space({"records": ("2",)}, faults=("noop",), composites=_PARTS_TWICE),
            Space({"records": ("4",)}, scopes=_PART_SCOPES, every_place=False),
            Space(
                {"records": ("2", "4"), "modality": ("video", "audio", "mixed")},
                faults=_OF_A_MODALITY,
                every_place=False,
            ),
            Space(
                {"records": ("1", "2"), "dtype": ("float16", "bfloat16")},
                faults=_OF_A_DTYPE,
                every_place=False,
            ),
        ),
    ),
    Seam(
        name="encoder-request",
        consumer="harness.consumers.encoder_request:EncoderRequest",
        forms=(ENCODE,),
        modules=((Span(), f"{_DISAGGREGATION}.encoder.runtime"),),
        symbol="validate_encode_request",
        dims={"records": ITEMS_DIM, "modality": ONE_MODALITY, "hashes": HASHES},
        spaces=(
            Space({"records": ("1",)}, without=OF_SEVERAL_HASHES),
            Space({"records": ("2",)}, composites=REQUESTS_TWICE),
            Space({"records": ("3",)}, scopes=("records", "items")),
            Space(
                {"records": ("2",), "modality": ("video", "audio")},
                faults=("encode-modality-*", "encode-item-*", "substitution"),
                every_place=False,
            ),
            Space(
                {"records": ("2",), "hashes": ("no",)},
                faults=("encode-index-*", "encode-count-*", "encode-items-*", "omission"),
                every_place=False,
            ),
        ),
    ),
    Seam(
        name="encoder-transport-mode",
        consumer="harness.consumers.encoder_transport_mode:EncoderTransportMode",
        forms=(URLS,),
        modules=RECEIVER,
        symbol="create_mm_receiver",
        dims={"records": _ENCODERS_DIM, "mode": _MODE, "told": _TOLD},
        spaces=(
            Space({"records": ("1", "3"), "mode": ("http", "grpc")}),
            Space({"records": ("2",), "mode": ("http", "grpc")}, composites=_URLS_TWICE),
            Space({"records": ("2",), "mode": ("http", "grpc"), "told": ("server",)}),
        ),
    ),
    Seam(
        name="encoder-zmq-frame",
        consumer="harness.consumers.encoder_zmq_frame:EncoderZmqFrame",
        forms=(PARTS,),
        modules=RECEIVER,
        symbol="MultiModalEmbeddingData.from_embedding_data",
        dims={"records": _PARTS_DIM, "modality": _MODALITY, "dtype": _DTYPE},
        spaces=(
            Space({"records": ("1", "2")}, faults=_OF_A_MESSAGE),
            Space({"records": ("2",)}, faults=("noop",), composites=_MESSAGES_TWICE),
            Space({"records": ("3",)}, scopes=("messages",)),
            Space(
                {"records": ("2",), "dtype": ("float16", "bfloat16")},
                faults=("message-*", "part-shape-*", "part-dtype-other"),
            ),
            Space(
                {"records": ("2",), "modality": ("video", "audio", "mixed")},
                faults=_OF_A_MESSAGE,
                without=("message-head-*", "part-count-*", "part-index-*"),
                every_place=False,
            ),
        ),
    ),
)
