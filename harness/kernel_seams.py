"""Rows of the table of seams: upstream's Triton kernels.

`harness.seams` is the table; from a row every file is one hop. A kernel of a machine without a
card runs in Triton's interpreter: what the calibration does not trust it with, a row says by
`lacks`, and what only a part of its cases comes to, its consumer bars.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import Device
from harness.kernels.trust import lacks
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.kernel_rows import LEAST_WIDTH, MOST
from simulators.payload import TENSORS

_DIFFUSION = "sglang.kernels.ops.diffusion"

_ROWS = Dim("a count of rows, 0 to 200", whole_number(0, MOST))
_HEADS = Dim("a count of heads, 1 to 200", whole_number(1, MOST), "8")
_WIDTH = Dim("columns of a head, 4 to 256", whole_number(LEAST_WIDTH, 256), "16")
_WORLD = Dim("ranks that share the heads, 1 to 200", whole_number(1, MOST), "2")
_DTYPE = Dim(
    "float32, float16, bfloat16 or int32",
    one_of("float32", "float16", "bfloat16", "int32"),
    "float32",
)
_OUT = Dim("none or given: memory for the output", one_of("none", "given"), "none")


def _three(dims: Mapping[str, str]) -> int:
    return 3


def _world_misfit(dims: Mapping[str, str]) -> str:
    heads, world = int(dims["heads"]), int(dims["world"])
    return f"world={world} does not divide heads={heads}" if heads % world else ""


def _lacks_moves(dims: Mapping[str, str], device: Device) -> str:
    dtype = dims["dtype"]
    return lacks(device, [f"move {dtype}", f"masked load {dtype}"])


_TWO_LIES = (
    (("qkv-other-dtype", (0,)), ("qkv-row-less", (1,))),
    (("world-one-more", ()), ("qkv-columns-apart", (2,))),
    (("qkv-rows-apart", (0,)), ("qkv-heads-apart", (1,))),
    (("qkv-rows-rolled", (0,)), ("qkv-rows-rolled", (1,))),
    (("reordering", (1, 2)), ("world-zero", ())),
)

KERNEL_SEAMS = (
    Seam(
        name="kernel-pack-qkv",
        consumer="harness.consumers.kernel_pack_qkv:KernelPackQkv",
        forms=(TENSORS,),
        modules=(
            (Span(until="0.5.19"), f"{_DIFFUSION}.triton.ulysses_qkv"),
            (Span("0.5.19"), f"{_DIFFUSION}.layout.ulysses_qkv_triton"),
        ),
        symbol="pack_qkv_destination_major",
        dims={
            "rows": _ROWS,
            "heads": _HEADS,
            "width": _WIDTH,
            "world": _WORLD,
            "dtype": _DTYPE,
            "out": _OUT,
        },
        spaces=(
            Space({"rows": ("6",)}, without=("out-*",), composites=_TWO_LIES),
            Space({"rows": ("6",), "out": ("given",)}, scopes=("out",)),
            Space(
                {"rows": ("1", "5", "13"), "width": ("5", "64"), "world": ("1", "4", "8")},
                faults=("noop",),
            ),
            Space(
                {"rows": ("5",), "dtype": ("float16", "bfloat16", "int32"), "width": ("7",)},
                faults=("noop", "qkv-other-dtype", "qkv-rows-rolled", "qkv-rows-apart"),
                every_place=False,
            ),
        ),
        count=_three,
        misfit=_world_misfit,
        lacks=_lacks_moves,
        kernel=True,
    ),
)
