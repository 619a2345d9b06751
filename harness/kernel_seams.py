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
from simulators.payload import INDICES, TENSORS

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

_ENTRY = Dim("pack, inverse or scatter", one_of("pack", "inverse", "scatter"), "pack")
_INDEX = Dim("int32 or int64: the type of indices", one_of("int32", "int64"), "int64")
_MOST_SEQUENCES, _MOST_TOKENS = 8, 16


def _lengths(value: str) -> bool:
    lengths = value.split(",")
    return 1 < len(lengths) <= _MOST_SEQUENCES and all(
        length.isdecimal() and int(length) <= _MOST_TOKENS for length in lengths
    )


_LENGTHS = Dim("kept tokens of each of 2 to 8 sequences, 0 to 16: 3,2", _lengths)


def _kept(dims: Mapping[str, str]) -> int:
    return sum(int(length) for length in dims["lengths"].split(","))


#: Faults of the positions, wherever they are used.
_OF_POSITIONS = ("records", "index", "indices", "told")

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
    Seam(
        name="kernel-varlen-pack",
        consumer="harness.consumers.kernel_varlen_pack:KernelVarlenPack",
        forms=(INDICES,),
        modules=(
            (Span(until="0.5.17"), "sglang.jit_kernel.diffusion.triton.varlen_pack_pad"),
            (Span("0.5.17", "0.5.19"), f"{_DIFFUSION}.triton.varlen_pack_pad"),
            (Span("0.5.19"), f"{_DIFFUSION}.layout.varlen_pack_pad_triton"),
        ),
        symbol="fused_pack_qkv",
        dims={
            "lengths": _LENGTHS,
            "entry": _ENTRY,
            "heads": Dim("a count of heads, 1 to 200", whole_number(1, MOST), "2"),
            "width": Dim("columns of a head, 4 to 256", whole_number(LEAST_WIDTH, 256), "8"),
            "dtype": _DTYPE,
            "index": _INDEX,
        },
        spaces=(
            Space({"lengths": ("3,2",)}, scopes=_OF_POSITIONS),
            Space({"lengths": ("4,2",)}, scopes=("told", "dense", "nowhere")),
            Space({"lengths": ("2,0,5",), "index": ("int32",)}, scopes=("index", "indices")),
            Space({"lengths": ("3,2",), "entry": ("inverse",)}, scopes=_OF_POSITIONS),
            Space({"lengths": ("4,2",), "entry": ("inverse",)}, scopes=("told", "indices")),
            Space(
                {"lengths": ("3,2",), "entry": ("scatter",)},
                scopes=("packed", "indices"),
            ),
            Space(
                {
                    "lengths": ("1,1", "7,3,9", "0,4"),
                    "heads": ("1", "3"),
                    "width": ("4", "13"),
                    "dtype": ("float16", "bfloat16", "int32"),
                },
                faults=("noop",),
            ),
        ),
        count=_kept,
        lacks=_lacks_moves,
        kernel=True,
    ),
)
