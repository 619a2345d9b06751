"""kernel-scale-shift: a scale and a shift are applied to hidden states.

What comes out is x * (constant + scale) + shift.

- All three are tensors; hidden states and scale are on the card, and the former without gaps.
- Hidden states are (requests, tokens, channels). Where there are none, nothing else is looked at.
- A scale by frames is (requests, frames, 1, channels): frames divide the tokens, each has one row,
  and each request its own. The shift beside it is by tokens: as many elements as hidden states. On
  AMD's cards it may be by frames too: it is spread over the tokens of each.
- Any other scale is one number or has two or three dimensions, and spreads over the hidden states.
  So does its shift, which may be one row of channels too: as a scale that is refused.
- Two zeros, each one number, come with a constant of 1: upstream then copies the hidden states.
- Shapes, dtypes, constant and rows are the request's: each token gets its own.

The payload holds `x`, `scale`, `shift` and `constant`. The request says `shapes` of the three,
`dtype`, `constant`, `device` (the card), `gpu` (cuda or hip) and `rows`: of each of the three,
whose its rows are, in their order.

Two of upstream's checks are asserts without words, and count as accidents: that of the device, and
that of gaps. Neither looks at the shift. A shift on another device is not in the tables: what
becomes of it is up to the launcher, and the interpreter has none.

Nor are two things that only a card would show. Rows and columns are multiplied in 32 bits, so that
from 2**31 elements on the place is another one. And to find two zeros, the numbers are copied to
the host without waiting for the copy.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FILES = (
    (Span(until="0.5.17"), "0.5.16", "jit_kernel/diffusion/triton/scale_shift.py"),
    (Span("0.5.17", "0.5.19"), "0.5.18", "kernels/ops/diffusion/triton/scale_shift.py"),
    (Span("0.5.19"), "0.5.23", "kernels/ops/diffusion/modulate/scale_shift_triton.py"),
)
_PARTS = ("x", "scale", "shift")
#: Dimensions of hidden states, and of a scale or shift by frames.
_STATES, _FRAMES = 3, 4


def _guards(error: str, text: str) -> tuple[Guard, ...]:
    return tuple(
        Guard(error, text, span, Source(release, file, "fuse_scale_shift_kernel"))
        for span, release, file in _FILES
    )


TENSORS = Clause("tensors", "All three are tensors.", incidental=("AttributeError",))
ON_CARD = Clause(
    "on-card", "Hidden states and scale are on the card.", incidental=("AssertionError",)
)
WITHOUT_GAPS = Clause("without-gaps", "Hidden states have no gaps.", incidental=("AssertionError",))
STATES_FORM = Clause(
    "states-form",
    "Hidden states are (requests, tokens, channels).",
    incidental=("ValueError",),
)
FRAMES_SOME = Clause(
    "frames-some",
    "A scale by frames has one frame or more.",
    incidental=("ZeroDivisionError",),
)
FRAMES_DIVIDE = Clause(
    "frames-divide",
    "The frames of a scale divide the tokens.",
    guards=_guards("AssertionError", "seq_len must be divisible by num_frames for 4D scale/shift"),
)
FRAMES_WIDTH = Clause(
    "frames-width",
    "The elements of a scale by frames are rows as wide as the hidden states.",
    incidental=("RuntimeError",),
)
FRAMES_ONCE = Clause("frames-once", "Each frame of a scale has one row.")
FRAMES_ENOUGH = Clause("frames-enough", "A scale by frames has rows for each request.")
SHIFT_BY_TOKENS = Clause(
    "shift-by-tokens",
    "Beside a scale by frames, the shift has a row for each token.",
    incidental=("RuntimeError",),
)
SCALE_FORM = Clause(
    "scale-form",
    "A scale is one number, or has two, three or four dimensions.",
    guards=_guards("ValueError", "scale must be 0D/1D(1)/2D/3D or 4D"),
)
SPREADS = Clause(
    "spreads",
    "A scale and a shift spread over the hidden states.",
    incidental=("RuntimeError",),
)
ZEROS_WITH_ONE = Clause("zeros-with-one", "Two zeros, each one number, come with a constant of 1.")
SHAPE_ASKED = Clause("shape-asked", "Each shape is the request's.")
DTYPE_ASKED = Clause("dtype-asked", "Each dtype is the request's.")
CONSTANT_ASKED = Clause("constant-asked", "The constant is the request's.")
STATES_IDENTITY = Clause("states-identity", "Row i of the hidden states is row i's.", identity=True)
SCALE_IDENTITY = Clause("scale-identity", "Row i of the scale is row i's.", identity=True)
SHIFT_IDENTITY = Clause("shift-identity", "Row i of the shift is row i's.", identity=True)
_IDENTITIES = dict(zip(_PARTS, (STATES_IDENTITY, SCALE_IDENTITY, SHIFT_IDENTITY), strict=True))
_CLAUSES = (
    TENSORS,
    ON_CARD,
    WITHOUT_GAPS,
    STATES_FORM,
    FRAMES_SOME,
    FRAMES_DIVIDE,
    FRAMES_WIDTH,
    FRAMES_ONCE,
    SHIFT_BY_TOKENS,
    FRAMES_ENOUGH,
    SCALE_FORM,
    SPREADS,
    ZEROS_WITH_ONE,
    SHAPE_ASKED,
    DTYPE_ASKED,
    CONSTANT_ASKED,
    *_IDENTITIES.values(),
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    yield from _walk_launch(payload, request)
    for part in _PARTS:
        tensor, shape = payload[part], tuple(request["shapes"][part])
        if not _is_tensor(tensor):
            continue
        if tuple(tensor.shape) != shape:
            yield Violation(SHAPE_ASKED, part, str(shape), str(tuple(tensor.shape)))
        if str(tensor.dtype) != request["dtype"]:
            yield Violation(DTYPE_ASKED, part, request["dtype"], str(tensor.dtype))
    if payload["constant"] != request["constant"]:
        wanted, told = str(request["constant"]), str(payload["constant"])
        yield Violation(CONSTANT_ASKED, "constant", wanted, told)
    for part in _PARTS:
        if owner_of is None:
            yield Unchecked(_IDENTITIES[part], "whose it is can be told only by a stamp reader")
        elif _is_tensor(payload[part]) and not payload[part].is_meta:
            yield from _walk_rows(part, payload[part], request, owner_of)


def _is_tensor(told: Any) -> bool:
    return hasattr(told, "stride")


def _no_tensor(part: str, told: Any) -> Violation:
    return Violation(TENSORS, part, "a tensor", type(told).__name__)


def _walk_launch(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what upstream meets up to the launch of a kernel, and what the kernel meets."""
    x, scale, shift = (payload[part] for part in _PARTS)
    untold = [_no_tensor(p, payload[p]) for p in _PARTS[:2] if not _is_tensor(payload[p])]
    if untold:
        yield from untold
        return
    for part in _PARTS[:2]:
        if payload[part].device.type != request["device"]:
            said = payload[part].device.type
            yield Violation(ON_CARD, part, request["device"], said)
    if not x.is_contiguous():
        yield Violation(WITHOUT_GAPS, "x", "no gaps", f"strides {tuple(x.stride())}")
    if x.dim() != _STATES:
        yield Violation(STATES_FORM, "x", f"{_STATES} dimensions", str(x.dim()))
        return
    if x.numel() == 0:
        return
    if scale.dim() == _FRAMES:
        yield from _walk_frames(x, scale, shift, request["gpu"])
    else:
        yield from _walk_spread(tuple(x.shape), scale, shift)
        if _is_tensor(shift):
            yield from _walk_zeros(scale, shift, payload["constant"])


def _walk_frames(x: Any, scale: Any, shift: Any, gpu: str) -> Iterator[Violation]:
    (requests, tokens, channels), frames = tuple(x.shape), scale.shape[1]
    if not frames:
        yield Violation(FRAMES_SOME, "scale", "a frame", "none")
        return
    if tokens % frames:
        yield Violation(FRAMES_DIVIDE, "scale", f"a divisor of {tokens}", str(frames))
        return
    if scale.numel() % channels:
        said = f"{scale.numel()} elements"
        yield Violation(FRAMES_WIDTH, "scale", f"a multiple of {channels}", said)
    elif scale.shape[2] != 1:
        yield Violation(FRAMES_ONCE, "scale", "1 row", str(scale.shape[2]))
    if not _is_tensor(shift):
        yield _no_tensor("shift", shift)
    elif gpu == "hip" and shift.dim() == _FRAMES:
        whole = (requests, frames, tokens // frames, channels)
        if not _spreads(tuple(shift.shape), whole):
            yield Violation(SHIFT_BY_TOKENS, "shift", f"over {whole}", str(tuple(shift.shape)))
    elif shift.numel() != x.numel():
        yield Violation(SHIFT_BY_TOKENS, "shift", str(x.numel()), f"{shift.numel()} elements")
    rows = scale.numel() // channels
    if rows < requests * frames:
        yield Violation(FRAMES_ENOUGH, "scale", f"{requests * frames} rows", str(rows))


def _walk_spread(whole: tuple[int, ...], scale: Any, shift: Any) -> Iterator[Violation]:
    shape = tuple(scale.shape)
    if len(shape) > _FRAMES or (len(shape) == 1 and shape != (1,)):
        yield Violation(SCALE_FORM, "scale", "0, 2, 3 or 4 dimensions, or one number", str(shape))
        return
    # A shift is asked for its dimensions before the scale is spread.
    if not _is_tensor(shift):
        yield _no_tensor("shift", shift)
        return
    for part, told in (("scale", shape), ("shift", tuple(shift.shape))):
        # By requests: one row for all tokens of each.
        by_row = (told[0], 1, told[1]) if len(told) == len(whole) - 1 else told
        if not _spreads(by_row, whole):
            yield Violation(SPREADS, part, f"over {whole}", str(told))


def _spreads(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Return whether a tensor can be expanded, by torch's rules."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(count in (1, size) for count, size in pairs)


def _walk_zeros(scale: Any, shift: Any, constant: float) -> Iterator[Violation]:
    numbers = (scale, shift)
    if any(tensor.dim() > 1 or tensor.numel() != 1 for tensor in numbers):
        return
    if constant != 1 and not any(tensor.item() for tensor in numbers):
        yield Violation(ZEROS_WITH_ONE, "constant", "1", str(constant))


def _walk_rows(
    part: str, tensor: Any, request: Mapping[str, Any], owner_of: OwnerOf
) -> Iterator[Violation]:
    wanted = request["rows"][part]
    if tuple(tensor.shape) != tuple(request["shapes"][part]):
        return
    origins = owner_of(tensor.reshape(len(wanted), -1).tolist())
    for place, (origin, whose) in enumerate(zip(origins, wanted, strict=True)):
        if origin is None or (origin.owner, origin.position) != tuple(whose):
            said = f"row {origin.position} of {origin.owner}" if origin else "no known stamp"
            where = f"{part}[{place}]"
            yield Violation(_IDENTITIES[part], where, f"row {whose[1]} of {whose[0]}", said)
            return


CONTRACT = Contract(
    "kernel-scale-shift",
    "A scale and a shift are applied to hidden states.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
