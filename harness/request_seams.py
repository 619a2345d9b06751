"""Rows of the table of seams: what GLM-Image's stage asks of the AR server, and how it is read.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.glm_image_rows import GLM_IMAGE, SEEDS_DIM, SHAPE_DIM
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import GRIDS, REQUEST, SEEDS

_PROMPT = Dim("ids of the prompt, 1 to 4096", whole_number(1, 4096), "7")
_PROMPTS = Dim("a count of prompts, 1 to 64", whole_number(1, 64))
_OUTPUTS = Dim("outputs for each prompt, 1 to 64", whole_number(1, 64))
_ENTRY = Dim("forward or grouped", one_of("forward", "grouped"), "forward")

_GRIDS_TWICE = (
    (("reordering", (0, 1)), ("grid-transposed", (0,))),
    (("omission", (1,)), ("grid-larger", (0,))),
    (("duplication-extra", (0,)), ("grid-zero", (0,))),
)
_OF_SQUARE_GRIDS = (
    "omission", "duplication", "duplication-extra", "reordering", "substitution", "images-none",
    "images-foreign-*", "grid-larger", "grid-compensated", "grid-fraction", "grids-missing",
)  # fmt: skip

_SEEDS_TWICE = (
    (("omission", (0,)), ("seed-next", (1,))),
    (("reordering", (0, 1)), ("seed-null", (2,))),
    (("seed-word", (1,)), ("seed-null", (0,))),
    (("seed-null", (1,)), ("seed-beyond-int64", (0,))),
)
_OF_ONE_SEED = (
    "omission", "duplication-extra", "substitution", "substitution-extra", "seed-*",
    "seeds-object", "seeds-nested",
)  # fmt: skip
_OF_A_LIST = (
    "omission", "duplication", "duplication-extra", "reordering", "substitution", "body-null",
    "seed-null", "seed-true", "seed-next", "seeds-first",
)  # fmt: skip

_OF_A_PROMPT = (
    "prompt-*", "image-*", "params-unknown", "params-empty", "budget-*", "sampling-seed-*",
    "prompts-missing", "images-missing", "images-empty", "images-long", "params-missing",
    "text-beside", "body-*",
)  # fmt: skip
#: Of what is inside one row, a batch is tried with what its parse or its turn tells apart.
_OF_A_BATCH = (
    "prompt-empty", "prompt-null", "prompt-text", "prompt-number", "prompt-float", "prompt-nested",
    "prompt-true", "prompt-negative", "image-null", "image-none", "image-bare", "image-float",
    "params-unknown", "params-empty", "params-two-samples", "budget-negative",
    "sampling-seed-digits", "sampling-seed-beyond-int64", "prompts-*", "images-*", "params-missing",
    "params-none", "params-short", "params-long", "params-first", "params-swapped", "rid*",
    "texts-beside", "body-*",
)  # fmt: skip
_OF_A_LONG_BATCH = (
    "prompts-short", "prompts-swapped", "images-short", "images-long", "params-short",
    "params-swapped", "rids-*", "prompt-float", "budget-negative",
)  # fmt: skip
_ROWS_TWICE = (
    (("prompt-float", (1,)), ("prompt-true", (0,))),
    (("params-unknown", (0,)), ("budget-negative", (1,))),
    (("budget-negative", (1,)), ("sampling-seed-beyond-int64", (0,))),
    (("image-float", (0,)), ("params-unknown", (1,))),
    (("budget-negative", (0,)), ("params-short", ())),
)


def _count_of_seeds(dims: Mapping[str, str]) -> int:
    return {"none": 0, "int": 1}.get(dims["seeds"], int(dims["outputs"]))


REQUEST_SEAMS = (
    Seam(
        name="ar-grid",
        consumer="harness.consumers.ar_grid:ArGrid",
        forms=(GRIDS,),
        modules=((Span(), "sglang.srt.multimodal.processors.glm_image"),),
        symbol="GlmImageProcessor.process_mm_data_async",
        dims={"shape": SHAPE_DIM, "prompt": _PROMPT},
        spaces=(
            Space({"shape": ("64x96",)}, composites=_GRIDS_TWICE),
            Space({"shape": ("1024x1024",), "prompt": ("1", "300")}, faults=_OF_SQUARE_GRIDS),
            Space({"shape": ("96x32",), "prompt": ("31",)}, scopes=("records", "items")),
        ),
        count=lambda dims: 2,
    ),
    Seam(
        name="ar-seed",
        consumer="harness.consumers.ar_seed:ArSeed",
        forms=(SEEDS,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR._external_ar_sampling_params",
        dims={"outputs": _OUTPUTS, "seeds": SEEDS_DIM, "entry": _ENTRY},
        spaces=(
            Space({"outputs": ("3",), "seeds": ("list",)}, composites=_SEEDS_TWICE),
            Space({"outputs": ("1", "4"), "seeds": ("int",)}, faults=_OF_ONE_SEED),
            Space({"outputs": ("1",), "seeds": ("list",)}, faults=_OF_A_LIST),
            Space(
                {"outputs": ("2",), "seeds": ("list",), "entry": ("grouped",)},
                faults=_OF_A_LIST,
                every_place=False,
            ),
            Space(
                {"outputs": ("1", "2"), "seeds": ("none",), "entry": ("forward", "grouped")},
                faults=("noop",),
            ),
        ),
        count=_count_of_seeds,
    ),
    Seam(
        name="ar-request",
        consumer="harness.consumers.ar_request:ArRequest",
        forms=(REQUEST,),
        modules=((Span(), "sglang.srt.managers.io_struct"),),
        symbol="GenerateReqInput.normalize_batch_and_arguments",
        dims={"prompts": _PROMPTS, "shape": SHAPE_DIM},
        spaces=(
            Space({"prompts": ("1",), "shape": ("64x96",)}, faults=_OF_A_PROMPT),
            Space(
                {"prompts": ("2",), "shape": ("64x96",)},
                faults=_OF_A_BATCH,
                composites=_ROWS_TWICE,
            ),
            Space(
                {"prompts": ("5",), "shape": ("32x32",)},
                faults=_OF_A_LONG_BATCH,
                every_place=False,
            ),
        ),
        count=lambda dims: int(dims["prompts"]),
    ),
)
