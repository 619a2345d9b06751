"""Rows of the table of seams: GLM-Image's prior tokens as rows, its groups, sizes and pictures.

`harness.seams` is the table; from a row every file is one hop.
"""

from contracts.releases import Span
from harness.glm_image_rows import GLM_IMAGE, SHAPE_DIM
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import FRAMES, GROUP, RESULTS, ROWS, SIZE

_DISAGGREGATION = "sglang.multimodal_gen.runtime.disaggregation"


def _is_margin(value: str) -> bool:
    sides = value.split("x")
    return len(sides) == 2 and all(side.isdecimal() and int(side) < 32 for side in sides)


_OUTPUTS = Dim("a count of outputs, 1 to 64", whole_number(1, 64))
_REQUESTS = Dim("a count of requests, 1 to 64", whole_number(1, 64))
_MARGIN = Dim("rows x columns that are cut off, each below 32, as in 4x6", _is_margin)
_OUTPUTS_EACH = Dim("outputs for each request, 1 to 64", whole_number(1, 64), "1")
_SIZE_ENTRY = Dim("forward, grouped or prior", one_of("forward", "grouped", "prior"), "forward")
_EXPANDED_SEEDS = Dim("int or list", one_of("int", "list"), "int")

#: All that is about rows; usage records do not pass the stage before the denoiser.
_ROWS_ALONE = (
    "omission", "truncation", "collapse", "duplication", "duplication-*", "reordering",
    "reordering-*", "substitution", "substitution-*", "rows-*", "body-*",
)  # fmt: skip

_OF_ONE_RESULT = (
    "omission", "substitution", "result-error*", "result-nothing", "result-id-unknown",
    "result-scalar", "ar-failed",
)  # fmt: skip

_RESULTS_TWICE = (
    (("result-picture-lost", (0,)), ("result-error", (1,))),
    (("result-error-beside", (0,)), ("result-picture-lost", (0,))),
)

_REQUESTS_TWICE = (
    (("request-transposed", (0,)), ("request-more-outputs", (1,))),
    (("request-unaligned", (0,)), ("request-picture", (1,))),
    (("request-wider", (1,)), ("request-picture", (2,))),
    (("group-unaligned", ()), ("request-picture", (1,))),
)

_GROUPS = (
    Space({"records": ("3",), "shape": ("64x96",)}, composites=_REQUESTS_TWICE),
    Space({"records": ("1",), "shape": ("64x96",)}, scopes=("request", "group")),
    Space(
        {"records": ("2",), "shape": ("32x64",), "outputs": ("2",)},
        scopes=("request", "group"),
    ),
)

IMAGE_SEAMS = (
    Seam(
        name="ar-row-broadcast",
        consumer="harness.consumers.ar_row_broadcast:ArRowBroadcast",
        forms=(ROWS,),
        modules=((Span(), GLM_IMAGE),),
        symbol="_repeat_to_batch",
        dims={"records": _OUTPUTS, "shape": SHAPE_DIM},
        spaces=(
            Space({"records": ("1", "3"), "shape": ("64x96",)}, faults=_ROWS_ALONE),
            Space({"records": ("8",), "shape": ("32x32",)}, faults=_ROWS_ALONE, every_place=False),
        ),
    ),
    Seam(
        name="ar-distributed-split",
        consumer="harness.consumers.ar_distributed_split:ArDistributedSplit",
        forms=(ROWS,),
        modules=((Span(), f"{_DISAGGREGATION}.scheduler_mixin"),),
        symbol="_expand_glm_distributed_outputs",
        dims={"records": _OUTPUTS, "shape": SHAPE_DIM, "seeds": _EXPANDED_SEEDS},
        spaces=(
            Space({"records": ("1", "3"), "shape": ("64x96",)}),
            Space({"records": ("8",), "shape": ("64x64",), "seeds": ("list",)}, every_place=False),
        ),
        platform="npu",
    ),
    Seam(
        name="ar-distributed-output",
        consumer="harness.consumers.ar_distributed_output:ArDistributedOutput",
        forms=(RESULTS,),
        modules=((Span(), f"{_DISAGGREGATION}.orchestrator"),),
        symbol="_GlmDistributedModeState",
        dims={"records": _REQUESTS, "outputs": _OUTPUTS},
        spaces=(
            Space({"records": ("3",), "outputs": ("2",)}, composites=_RESULTS_TWICE),
            Space({"records": ("1",), "outputs": ("1",)}, faults=_OF_ONE_RESULT),
        ),
    ),
    Seam(
        name="image-crop",
        consumer="harness.consumers.image_crop:ImageCrop",
        forms=(FRAMES,),
        modules=((Span(), GLM_IMAGE),),
        symbol="center_crop_glm_image_output",
        dims={"records": _OUTPUTS, "shape": SHAPE_DIM, "margin": _MARGIN},
        spaces=(
            Space({"records": ("2",), "shape": ("64x96",), "margin": ("4x6",)}),
            Space(
                {"records": ("1",), "shape": ("64x96",), "margin": ("3x31", "0x0")},
                scopes=("target", "body"),
            ),
        ),
    ),
    Seam(
        name="ar-grouped",
        consumer="harness.consumers.ar_grouped:ArGrouped",
        forms=(GROUP,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.run_grouped_requests",
        dims={"records": _REQUESTS, "shape": SHAPE_DIM, "outputs": _OUTPUTS_EACH},
        spaces=_GROUPS,
    ),
    Seam(
        name="ar-grouped-shapes",
        consumer="harness.consumers.ar_grouped_shapes:ArGroupedShapes",
        forms=(GROUP,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_and_assign_prior_tokens",
        dims={"records": _REQUESTS, "shape": SHAPE_DIM, "outputs": _OUTPUTS_EACH},
        spaces=_GROUPS,
    ),
    Seam(
        name="image-resolution",
        consumer="harness.consumers.image_resolution:ImageResolution",
        forms=(SIZE,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens",
        dims={"shape": SHAPE_DIM, "entry": _SIZE_ENTRY},
        spaces=(
            Space({"shape": ("64x96",), "entry": ("forward", "grouped", "prior")}),
            Space(
                {"shape": ("512x512",), "entry": ("forward", "grouped", "prior")},
                faults=("canvas-twelve-less", "canvas-half-token"),
            ),
        ),
        count=lambda dims: 1,
    ),
)
