"""Rows of the table of seams: upstream's kernels that put cached frames before new ones.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import Device
from harness.kernels.trust import lacks
from harness.seam import Dim, Seam, Space, one_of, size, whole_number
from simulators.payload import CHUNKED

_OPS = "sglang.kernels.ops.diffusion"
_DTYPES = ("float32", "float16", "bfloat16", "int32", "int8")
_ENTRIES = ("pad", "caller", "keep")
_MOST = 4


def _margin(value: str) -> bool:
    sides = value.split("x")
    return len(sides) == 2 and all(side.isdecimal() and int(side) <= _MOST for side in sides)


def _cached(dims: Mapping[str, str]) -> int:
    return int(dims["cached"])


def _misfit(dims: Mapping[str, str]) -> str:
    cached, front = int(dims["cached"]), int(dims["front"])
    if cached > front:
        return f"front={front} holds no cached={cached} frames"
    if not cached and dims["entry"] == "pad":
        return "entry=pad takes cached frames, one or more"
    if int(dims["shape"].split("x")[1]) < _MOST:
        return "a row of less than 4 columns does not tell whose it is"
    return ""


def _lacks_moves(dims: Mapping[str, str], device: Device) -> str:
    dtype = dims["dtype"]
    needs = [f"move {dtype}", f"masked load {dtype}"]
    if dtype in ("float16", "bfloat16"):
        needs.append(f"cast {dtype}")
    return lacks(device, [*needs, "int32 wrap int32"])


_TWO_LIES = (
    (("chunk-cache-channels-last", ()), ("chunk-pad-tuple", ())),
    (("chunk-cache-longer", ()), ("chunk-pad-front-more", ())),
    (("omission", (0,)), ("chunk-pad-front-less", ())),
    (("chunk-cache-none", ()), ("chunk-pad-front-none", ())),
    (("chunk-new-foreign", ()), ("chunk-cache-batch-mirrored", ())),
    (("chunk-cache-other-dtype", ()), ("chunk-new-other-dtype", ())),
    (("reordering", (0, 1)), ("chunk-cache-channels-mirrored", ())),
)

#: Faults that need other sizes, and gigabytes of memory that no one touches.
_FAR = ("chunk-new-far*", "chunk-new-of-long-video")

CACHE_SEAMS = (
    Seam(
        name="kernel-causal-pad",
        consumer="harness.consumers.kernel_causal_pad:KernelCausalPad",
        forms=(CHUNKED,),
        modules=(
            (Span(until="0.5.17"), "sglang.jit_kernel.diffusion.triton.causal_conv3d_pad"),
            (Span("0.5.17", "0.5.19"), f"{_OPS}.triton.causal_conv3d_pad"),
            (Span("0.5.19"), f"{_OPS}.layout.causal_conv3d_cat_pad_triton"),
        ),
        symbol="fused_causal_conv3d_cat_pad",
        dims={
            "cached": Dim("cached frames, 0 to 4", whole_number(0, _MOST), "2"),
            "frames": Dim("new frames, 1 to 4", whole_number(1, _MOST), "2"),
            "entry": Dim("pad, caller or keep", one_of(*_ENTRIES), "pad"),
            "batch": Dim("rows of the batch, 1 to 4", whole_number(1, _MOST), "2"),
            "channels": Dim("a count of channels, 1 to 8", whole_number(1, 8), "2"),
            "shape": Dim("rows x columns of a frame, up to 32", size(1), "3x4"),
            "pad": Dim("padding of rows x columns, 0 to 4", _margin, "1x1"),
            "front": Dim("frames of padding in front, 0 to 4", whole_number(0, _MOST), "2"),
            "dtype": Dim("a dtype of torch", one_of(*_DTYPES), "float32"),
        },
        spaces=(
            Space(
                {"entry": _ENTRIES},
                without=("chunk-new-far*", "chunk-new-of-long-video"),
                composites=_TWO_LIES,
            ),
            Space(
                {
                    "entry": ("keep",),
                    "batch": ("2", "3"),
                    "channels": ("1",),
                    "pad": ("0x0",),
                    "dtype": ("int8",),
                },
                faults=("chunk-new-far-apart",),
            ),
            Space(
                {"entry": ("keep",), "channels": ("1",), "pad": ("0x0",), "dtype": ("int8",)},
                faults=("chunk-new-farther-apart",),
            ),
            Space(
                {
                    "entry": ("keep",),
                    "batch": ("1",),
                    "channels": ("2", "3"),
                    "frames": ("1", "4"),
                    "dtype": ("int8",),
                },
                faults=("chunk-new-of-long-video",),
            ),
            Space(
                {"entry": _ENTRIES, "cached": ("1",), "frames": ("1",), "pad": ("2x0",)},
                faults=("noop", "substitution", "chunk-cache-stale", "chunk-new-again"),
            ),
            Space(
                {"entry": ("caller", "keep"), "cached": ("0",), "frames": ("1", "3")},
                faults=("noop", "chunk-new-stale", "chunk-pad-front-none"),
            ),
            Space(
                {"entry": _ENTRIES, "dtype": ("float16", "bfloat16", "int32"), "pad": ("0x2",)},
                faults=("noop", "chunk-cache-other-dtype"),
            ),
            Space(
                {
                    "entry": _ENTRIES,
                    "shape": ("1x5", "8x9"),
                    "channels": ("3",),
                    "pad": ("0x0", "1x1"),
                    "front": ("3",),
                },
                faults=("noop",),
            ),
        ),
        count=_cached,
        misfit=_misfit,
        lacks=_lacks_moves,
        kernel=True,
    ),
)
