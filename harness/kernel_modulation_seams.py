"""Rows of the table of seams: upstream's kernels that modulate hidden states.

`harness.seams` is the table; from a row every file is one hop. Triton's interpreter adds and
multiplies what its calibration trusts it with: float32 and float16, not bfloat16.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import Device
from harness.kernels.trust import lacks
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.modulated_rows import LAYOUTS, LEAST_WIDTH, MOST_REQUESTS, MOST_TOKENS
from simulators.payload import MODULATIONS

_DIFFUSION = "sglang.kernels.ops.diffusion"


def _three(dims: Mapping[str, str]) -> int:
    return 3


def _layout(what: str, default: str) -> Dim:
    meaning = f"by what there is a {what}: {', '.join(list(LAYOUTS)[:-1])} or frame"
    return Dim(meaning, one_of(*LAYOUTS), default)


def _misfit(dims: Mapping[str, str]) -> str:
    scale, shift = dims["scale"], dims["shift"]
    if int(dims["tokens"]) % int(dims["frames"]):
        return f"frames={dims['frames']} does not divide tokens={dims['tokens']}"
    if scale == "vector":
        return "scale=vector is refused by upstream"
    beside = ("token", "frame") if dims["gpu"] == "hip" else ("token",)
    if scale == "frame" and shift not in beside:
        return f"scale=frame gpu={dims['gpu']} takes shift={' or '.join(beside)}"
    if shift == "frame" and scale != "frame":
        return "shift=frame takes scale=frame gpu=hip"
    return ""


def _lacks_arithmetic(dims: Mapping[str, str], device: Device) -> str:
    dtype = dims["dtype"]
    return lacks(device, [f"{does} {dtype}" for does in ("move", "masked load", "add", "mul")])


_TWO_LIES = (
    (("mod-request-less", (1,)), ("mod-channel-less", (2,))),
    (("mod-rows-rolled", (1,)), ("mod-rows-rolled", (2,))),
    (("mod-frames-doubled", (1,)), ("mod-null", (2,))),
    (("mod-states-apart", (0,)), ("mod-frames-none", (1,))),
    (("mod-requests-swapped", (0,)), ("mod-requests-swapped", (1,))),
    (("mod-empty", (0,)), ("mod-null", (2,))),
)
_NO_FRAMES = tuple(layout for layout in LAYOUTS if layout not in ("vector", "frame"))

MODULATION_SEAMS = (
    Seam(
        name="kernel-scale-shift",
        consumer="harness.consumers.kernel_scale_shift:KernelScaleShift",
        forms=(MODULATIONS,),
        modules=(
            (Span(until="0.5.17"), "sglang.jit_kernel.diffusion.triton.scale_shift"),
            (Span("0.5.17", "0.5.19"), f"{_DIFFUSION}.triton.scale_shift"),
            (Span("0.5.19"), f"{_DIFFUSION}.modulate.scale_shift_triton"),
        ),
        symbol="fuse_scale_shift_kernel",
        dims={
            "requests": Dim("a count of requests, 1 to 6", whole_number(1, MOST_REQUESTS), "3"),
            "tokens": Dim("tokens of a request, 1 to 24", whole_number(1, MOST_TOKENS), "4"),
            "frames": Dim("frames that they fall into, 1 to 24", whole_number(1, MOST_TOKENS), "2"),
            "width": Dim("channels, 8 to 600", whole_number(LEAST_WIDTH, 600), "16"),
            "scale": _layout("scale", "frame"),
            "shift": _layout("shift", "token"),
            "constant": Dim("0 or 1: what is added to the scale", one_of("0", "1"), "1"),
            "entry": Dim("kernel or layer", one_of("kernel", "layer"), "kernel"),
            "gpu": Dim("cuda or hip: what the platform says", one_of("cuda", "hip"), "cuda"),
            "dtype": Dim(
                "float32, float16 or bfloat16",
                one_of("float32", "float16", "bfloat16"),
                "float32",
            ),
        },
        spaces=(
            Space({"requests": ("3",)}, composites=_TWO_LIES),
            Space(
                {
                    "requests": ("2",),
                    "tokens": ("6",),
                    "frames": ("3",),
                    "constant": ("0",),
                    "entry": ("layer",),
                },
                scopes=("frames", "tokens"),
            ),
            Space(
                {"gpu": ("hip",), "shift": ("frame",)},
                scopes=("frames", "tokens"),
                without=("mod-shift-by-frames",),
            ),
            Space(
                {"scale": ("row",), "shift": ("row",)},
                scopes=("form", "rows", "layout"),
                without=("mod-n*", "mod-zeroed", "mod-elsewhere", "mod-states-*"),
            ),
            Space(
                {"scale": ("token",), "shift": ("token",)},
                scopes=("tokens", "layout"),
                without=("mod-states-*",),
            ),
            Space(
                {"scale": ("single",), "shift": ("scalar",), "constant": ("0", "1")},
                scopes=("constant",),
            ),
            Space({"scale": _NO_FRAMES, "shift": ("row", "token", "vector")}, faults=("noop",)),
            Space({"scale": ("row",), "shift": _NO_FRAMES}, faults=("noop",)),
            Space(
                {
                    "requests": ("1", "2"),
                    "tokens": ("3",),
                    "frames": ("1", "3"),
                    "width": ("8", "600"),
                },
                faults=("noop",),
            ),
            Space(
                {"dtype": ("float16", "bfloat16"), "scale": ("frame",)},
                faults=("noop", "mod-requests-rolled", "mod-other-dtype"),
            ),
        ),
        count=_three,
        misfit=_misfit,
        lacks=_lacks_arithmetic,
        kernel=True,
    ),
)
