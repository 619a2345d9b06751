"""Rows of the table of seams: what passes between the encoder and whoever receives from it.

`harness.seams` is the table; from a row every file is one hop.
"""

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import PARTS

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
)
