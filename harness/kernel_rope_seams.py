"""Rows of the table of seams: upstream's Triton kernel of rotary embeddings.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import Device
from harness.kernels.trust import lacks
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import ANGLES
from simulators.rotary_rows import LEAST_WIDTH

_DIFFUSION = "sglang.kernels.ops.diffusion"
_ENTRY = Dim("rows, pair or flashinfer", one_of("rows", "pair", "flashinfer"), "rows")
_FLAG = Dim("yes or no: whether the angles may be as wide as a head", one_of("yes", "no"), "no")
_CONFIG = Dim("which of the kernel's configurations, 0 to 4", whole_number(0, 4), "2")
_POSITIONS = Dim("none or given: the positions of the rows", one_of("none", "given"), "none")
_DTYPE = Dim("float32, float16 or bfloat16", one_of("float32", "float16", "bfloat16"), "float32")


def _even_width(value: str) -> bool:
    return whole_number(LEAST_WIDTH, 256)(value) and not int(value) % 2


def _positions_of(dims: Mapping[str, str]) -> int:
    return int(dims["tokens"])


def _misfit(dims: Mapping[str, str]) -> str:
    if dims["entry"] == "rows":
        return "entry=rows takes no positions" if dims["positions"] == "given" else ""
    if dims["interleaved"] == "yes" or dims["config"] != _CONFIG.default:
        return "interleaved and config are for entry=rows alone"
    return ""


def _lacks(dims: Mapping[str, str], device: Device) -> str:
    if dims["entry"] != "rows":
        return ""
    dtype = dims["dtype"]
    needs = [f"move {dtype}", f"masked load {dtype}", f"cast {dtype}", "mul float32", "fma float32"]
    return lacks(device, needs)


_TWO_LIES = (
    (("omission", (0,)), ("rope-q-tokens-rolled", ())),
    (("rope-swapped", ()), ("rope-backwards", ())),
    (("rope-deep", ()), ("rope-q-narrower", ())),
    (("rope-shifted", ()), ("rope-q-tokens-mirrored", ())),
)
_TWO_OF_PAIR = (
    (("rope-both-flat", ()), ("rope-deep", ())),
    (("rope-k-token-less", ()), ("rope-wider", ())),
    (("rope-deep", ()), ("rope-head-size-other", ())),
    (("rope-wider", ()), ("rope-head-size-other", ())),
    (("omission", (1,)), ("rope-k-stale", ())),
)
_TWO_OF_POSITIONS = (
    (("rope-positions-less", ()), ("rope-k-stale", ())),
    (("rope-shifted", ()), ("rope-positions-rolled", ())),
)
#: Both are of one shape where they are told as one tensor.
_OF_ONE_SHAPE = ("rope-sine-row-less", "rope-cosine-row-less")
#: Of angles with no rows there is no memory that a kernel could read.
_NO_MEMORY = ("truncation",)
#: What looks otherwise where there is more than one sequence.
_OF_A_BATCH = (
    "noop", "omission", "reordering", "substitution*", "rope-shifted", "rope-q-*",
)  # fmt: skip
#: What FlashInfer's own kernel would have to look at is not upstream's.
_FOR_FLASHINFER = (
    "noop", "reordering*", "substitution", "duplication-all", "rope-shifted", "rope-swapped",
    "rope-stale", "rope-wider", "rope-deep", "rope-list", "rope-elsewhere", "rope-sine-narrower",
    "rope-k-*", "rope-both-*", "rope-head-size-*",
)  # fmt: skip
_POSITIONS_FOR_FLASHINFER = (
    "noop", "rope-positions-less", "rope-positions-more", "rope-positions-first",
    "rope-positions-rolled", "rope-positions-alike", "rope-positions-row", "rope-positions-list",
    "rope-positions-null",
)  # fmt: skip

KERNEL_ROPE_SEAMS = (
    Seam(
        name="kernel-rotary",
        consumer="harness.consumers.kernel_rotary:KernelRotary",
        forms=(ANGLES,),
        modules=(
            (Span(until="0.5.17"), "sglang.jit_kernel.diffusion.triton.rotary"),
            (Span("0.5.17", "0.5.19"), f"{_DIFFUSION}.triton.rotary"),
            (Span("0.5.19"), f"{_DIFFUSION}.rope.rotary_triton"),
        ),
        symbol="apply_rotary_embedding",
        dims={
            "tokens": Dim("tokens of a sequence, 1 to 16", whole_number(1, 16)),
            "batch": Dim("a count of sequences, 1 to 4", whole_number(1, 4), "1"),
            "heads": Dim("a count of heads, 1 to 16", whole_number(1, 16), "2"),
            "width": Dim("columns of a head, an even number from 8 to 256", _even_width, "8"),
            "entry": _ENTRY,
            "interleaved": _FLAG,
            "positions": _POSITIONS,
            "config": _CONFIG,
            "dtype": _DTYPE,
        },
        spaces=(
            Space(
                {"tokens": ("3",)},
                scopes=("records", "angle", "angles", "q"),
                without=_NO_MEMORY,
                composites=_TWO_LIES,
            ),
            Space({"tokens": ("3",), "batch": ("2",)}, faults=_OF_A_BATCH, every_place=False),
            Space(
                {"tokens": ("3",), "interleaved": ("no", "yes")},
                scopes=("told",),
                without=("rope-elsewhere",),
            ),
            Space(
                {
                    "tokens": ("2",),
                    "heads": ("3", "9"),
                    "width": ("8", "66"),
                    "config": ("0", "1", "2", "3", "4"),
                },
                faults=("noop",),
            ),
            Space({"tokens": ("1", "5"), "width": ("130",), "heads": ("1",)}, faults=("noop",)),
            Space(
                {
                    "tokens": ("2",),
                    "batch": ("3",),
                    "dtype": ("float16", "bfloat16"),
                    "interleaved": ("no", "yes"),
                },
                faults=("noop", "rope-q-other-dtype", "rope-full", "rope-float64"),
            ),
            Space(
                {"tokens": ("4",), "entry": ("pair",)},
                without=("rope-positions-*", *_OF_ONE_SHAPE, "rope-q-*"),
                every_place=False,
                composites=_TWO_OF_PAIR,
            ),
            Space({"tokens": ("4",), "entry": ("pair",)}, faults=("omission", "truncation")),
            Space(
                {"tokens": ("3",), "batch": ("2",), "entry": ("pair",), "positions": ("given",)},
                faults=("noop", "omission", "truncation", "rope-positions-*"),
                composites=_TWO_OF_POSITIONS,
            ),
            Space(
                {"tokens": ("3",), "batch": ("2",), "entry": ("flashinfer",)},
                faults=_FOR_FLASHINFER,
                every_place=False,
            ),
            Space(
                {
                    "tokens": ("3",),
                    "batch": ("1", "2"),
                    "entry": ("flashinfer",),
                    "positions": ("given",),
                },
                faults=_POSITIONS_FOR_FLASHINFER,
                composites=_TWO_OF_POSITIONS,
            ),
            Space(
                {
                    "tokens": ("5",),
                    "heads": ("3",),
                    "entry": ("pair", "flashinfer"),
                    "dtype": ("float16", "bfloat16"),
                },
                faults=("noop", "rope-k-head-less"),
            ),
        ),
        count=_positions_of,
        misfit=_misfit,
        lacks=_lacks,
        kernel=True,
    ),
)
