"""The table of seams: where a newcomer starts. From a row every file is one hop.

A new seam is its contract, its consumer and one row here.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.embedding_seams import EMBEDDING_SEAMS
from harness.encoder_batch_seams import ENCODER_BATCH_SEAMS
from harness.encoder_count_seams import ENCODER_COUNT_SEAMS
from harness.encoder_link_seams import ENCODER_LINK_SEAMS
from harness.encoder_route_seams import ENCODER_ROUTE_SEAMS
from harness.encoder_seams import ENCODER_SEAMS
from harness.glm_image_rows import GLM_IMAGE, RECORDS_DIM, SEEDS_DIM, SHAPE_DIM
from harness.image_seams import IMAGE_SEAMS
from harness.kernel_cache_seams import CACHE_SEAMS
from harness.kernel_gdn_seams import KERNEL_GDN_SEAMS
from harness.kernel_modulation_seams import MODULATION_SEAMS
from harness.kernel_rope_seams import KERNEL_ROPE_SEAMS
from harness.kernel_seams import KERNEL_SEAMS
from harness.request_seams import REQUEST_SEAMS
from harness.seam import Dim, Seam, Space, one_of, whole_number
from harness.shard_seams import SHARD_SEAMS
from harness.sharding_seams import SHARDING_SEAMS
from simulators.payload import ANSWER, REPLY, ROWS

_ENTRY = Dim("grouped, batch or forward", one_of("grouped", "batch", "forward"), "grouped")
_SINGLE_ENTRY = Dim("prior or forward", one_of("prior", "forward"), "prior")
_OUTPUTS = Dim("outputs for each prompt, 1 to 64", whole_number(1, 64), "1")


def _ar_batch_misfit(dims: Mapping[str, str]) -> str:
    records, outputs, entry = int(dims["records"]), int(dims["outputs"]), dims["entry"]
    if records % outputs:
        return f"outputs={outputs} does not divide records={records}"
    if entry == "grouped" and records == outputs:
        return "entry=grouped needs two prompts or more: one prompt takes entry=forward or batch"
    if entry == "forward" and (records != outputs or records < 2):
        return "entry=forward is one prompt with several outputs: records and outputs are equal"
    return ""


_NULL_AND_SHORT = (
    (("item-null", (0,)), ("ids-short", (1,))),
    (("ids-short", (0,)), ("item-null", (1,))),
    (("omission", (0,)), ("reordering", (0, 1))),
    (("omission", (1,)), ("duplication-extra", (0,))),
    (("item-error", (1,)), ("skew-compensated", (0, 1))),
)

_OF_SEVERAL_OUTPUTS = (
    "noop", "omission", "duplication", "duplication-extra", "reordering", "merge",
    "merge-padded", "substitution", "body-error", "ids-short",
)  # fmt: skip

#: A batch is about its items; what is inside one is ar-tokens' business.
_WHOLE_ITEMS = ("records", "items", "body")

_REPLIES_ON_A_BAD_WIRE = (
    (("body-error", ()), ("status-500", ())),
    (("body-null", ()), ("status-202", ())),
    (("ids-short", (0,)), ("type-text", ())),
    (("ids-shifted", (0,)), ("status-201", ())),
)

_TABLE = (
    Seam(
        name="ar-batch",
        consumer="harness.consumers.ar_batch:ArBatch",
        forms=(REPLY,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens_batch",
        dims={
            "records": RECORDS_DIM,
            "shape": SHAPE_DIM,
            "entry": _ENTRY,
            "outputs": _OUTPUTS,
            "seeds": SEEDS_DIM,
        },
        spaces=(
            Space(
                {"records": ("2", "3", "4"), "shape": ("64x96",)},
                scopes=_WHOLE_ITEMS,
                composites=_NULL_AND_SHORT,
            ),
            Space(
                {"records": ("1", "3"), "shape": ("32x32", "96x64"), "entry": ("batch",)},
                scopes=_WHOLE_ITEMS,
                every_place=False,
            ),
            Space(
                {"records": ("8", "16"), "shape": ("64x64",)},
                scopes=_WHOLE_ITEMS,
                every_place=False,
            ),
            Space(
                {
                    "records": ("4",),
                    "shape": ("64x96",),
                    "outputs": ("2",),
                    "seeds": ("none", "int", "list"),
                },
                faults=_OF_SEVERAL_OUTPUTS,
                every_place=False,
            ),
            Space(
                {
                    "records": ("2", "4"),
                    "shape": ("64x96",),
                    "entry": ("forward",),
                    "outputs": ("2", "4"),
                    "seeds": ("none", "int", "list"),
                },
                faults=_OF_SEVERAL_OUTPUTS,
                every_place=False,
            ),
        ),
        misfit=_ar_batch_misfit,
    ),
    Seam(
        name="ar-single",
        consumer="harness.consumers.ar_single:ArSingle",
        forms=(REPLY,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens",
        dims={"shape": SHAPE_DIM, "entry": _SINGLE_ENTRY, "seeds": SEEDS_DIM},
        spaces=(
            Space(
                {"shape": ("64x96", "32x32"), "entry": ("prior", "forward")},
                scopes=_WHOLE_ITEMS,
            ),
            Space({"shape": ("1024x1024",), "seeds": ("none", "list")}, scopes=("body",)),
        ),
    ),
    Seam(
        name="ar-tokens",
        consumer="harness.consumers.ar_single:ArSingle",
        forms=(REPLY,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens",
        dims={"shape": SHAPE_DIM, "entry": _SINGLE_ENTRY, "seeds": SEEDS_DIM},
        spaces=(
            Space({"shape": ("64x96", "96x32", "256x256")}, scopes=("ids", "items")),
            Space({"shape": ("64x96",), "entry": ("forward",)}, scopes=("ids",)),
        ),
    ),
    Seam(
        name="ar-transport",
        consumer="harness.consumers.ar_transport:ArTransport",
        forms=(ANSWER, REPLY),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens",
        dims={"shape": SHAPE_DIM},
        spaces=(
            Space({"shape": ("64x96",)}, composites=_REPLIES_ON_A_BAD_WIRE),
            Space(
                {"shape": ("256x256",)},
                faults=("error-*", "status-*", "body-*", "length-*", "json-*", "reset-*"),
            ),
        ),
        deadline_s=4.0,
    ),
    Seam(
        name="ar-split",
        consumer="harness.consumers.ar_split:ArSplit",
        forms=(ROWS,),
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.iter_sequential_requests",
        dims={"records": RECORDS_DIM, "shape": SHAPE_DIM, "seeds": SEEDS_DIM},
        spaces=(
            Space({"records": ("1", "2", "3", "4"), "shape": ("64x96",)}),
            Space(
                {"records": ("8", "16"), "shape": ("32x32", "64x64"), "seeds": ("list",)},
                every_place=False,
            ),
        ),
        platform="npu",
    ),
    *REQUEST_SEAMS,
    *IMAGE_SEAMS,
    *SHARDING_SEAMS,
    *SHARD_SEAMS,
    *EMBEDDING_SEAMS,
    *ENCODER_SEAMS,
    *ENCODER_COUNT_SEAMS,
    *ENCODER_BATCH_SEAMS,
    *ENCODER_LINK_SEAMS,
    *ENCODER_ROUTE_SEAMS,
    *KERNEL_SEAMS,
    *KERNEL_GDN_SEAMS,
    *CACHE_SEAMS,
    *KERNEL_ROPE_SEAMS,
    *MODULATION_SEAMS,
)

#: Every seam, by name.
SEAMS = {seam.name: seam for seam in _TABLE}
