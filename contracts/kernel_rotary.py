"""kernel-rotary: the angles of positions turn queries and keys, neighbouring columns as a pair.

- Queries are (tokens, heads, head size), or with a batch before it whose rows and tokens can be
  taken as one without a copy; the head size is even, and the columns of a head lie side by side.
- Cosines and sines are tensors of two dimensions: a row for each token of a sequence, half as
  wide as a head; or as wide, each number twice, where the caller says that they are interleaved.
- Row t of the angles is position t's, and queries and keys are the request's, row by row.
- Where queries and keys are turned as a pair they are of four dimensions and share all but the
  heads; the angles are one tensor, cosines before sines, on their device, whose width is even and
  no more than the head size; a head size that is told is theirs.
- Positions that are told are one-dimensional, one for each row, and rows of the angles.

Three entries: `rows` (`_apply_rotary_emb`, which launches `apply_rotary_embedding`'s kernel),
`pair` (`apply_flashinfer_rope_qk_inplace` without FlashInfer) and `flashinfer` (the same with it).
The payload holds `q` and, for `rows`, `cos` and `sin`; for the others `k`, `cache`, `head_size` and
`positions` (None where they are not told). The request says `entry`, `shape` (batch, tokens, heads,
head size), `dtype` and `interleaved`.

LingBot's attention turns a pair wherever queries and keys are of one shape and the platform is
CUDA, else it launches the kernel. FlashInfer turns queries and keys in place. Without it upstream
says that it falls back to Triton, and turns with torch instead: nothing looks at positions there,
and angles that are too few are dealt out anew to all tokens, if they go round. The kernel's
function looks at nothing but the head size: angles that are too few, of three dimensions or of
another width are read from wherever their strides lead. `_apply_rotary_emb` also documents (tokens,
head size), which ends by accident.

Not tried: angles of no rows, for there is no memory that the kernel could read; and offsets of rows
from 2**31 elements on, which 32-bit numbers do not hold: they take a card and gigabytes of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.turned_pair import (
    ANGLES_ENOUGH,
    ANGLES_WIDTH,
    PAIR_CLAUSES,
    walk_pair,
)
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FILES = (
    (Span(until="0.5.17"), "0.5.16", "jit_kernel/diffusion/triton/rotary.py"),
    (Span("0.5.17", "0.5.19"), "0.5.18", "kernels/ops/diffusion/triton/rotary.py"),
    (Span("0.5.19"), "0.5.23", "kernels/ops/diffusion/rope/rotary_triton.py"),
)
#: Dimensions of queries: with a batch, and without one.
_WITH_BATCH, _WITHOUT = 4, 3
#: Dimensions of the angles.
_FLAT = 2


ROW_DIMENSIONS = Clause(
    "row-dimensions",
    "Queries are (tokens, heads, head size), or with a batch before it.",
    incidental=("ValueError",),
)
HEAD_SIZE_EVEN = Clause(
    "head-size-even",
    "The head size is even.",
    guards=tuple(
        Guard(
            "AssertionError",
            "head_size must be divisible by 2",
            span,
            Source(release, file, "apply_rotary_embedding"),
        )
        for span, release, file in _FILES
    ),
)
BATCH_JOINED = Clause(
    "batch-joined",
    "Sequences and their tokens can be taken as one without a copy.",
    incidental=("RuntimeError",),
)
COLUMNS_TOGETHER = Clause("columns-together", "The columns of a head lie side by side.")
ANGLES_KIND = Clause(
    "angles-kind", "Cosines and sines are tensors.", incidental=("AttributeError",)
)
ANGLES_DEVICE = Clause(
    "angles-device",
    "Cosines and sines are on the device of the rows.",
    # Torch's, of a tensor that has no data, in the interpreter; Triton's own on a card.
    incidental=("NotImplementedError", "ValueError"),
)
ANGLES_FLAT = Clause("angles-flat", "Cosines and sines are two-dimensional.")
FORM_ASKED = Clause("form-asked", "Shape and dtype of the rows are the request's.")
ANGLE_IDENTITY = Clause("angle-identity", "Angle t is that of position t.", identity=True)
ROW_IDENTITY = Clause("row-identity", "Each row is that of its token.", identity=True)
_CLAUSES = (
    ROW_DIMENSIONS,
    HEAD_SIZE_EVEN,
    BATCH_JOINED,
    COLUMNS_TOGETHER,
    ANGLES_KIND,
    ANGLES_DEVICE,
    ANGLES_FLAT,
    *PAIR_CLAUSES,
    ANGLES_WIDTH,
    ANGLES_ENOUGH,
    FORM_ASKED,
    ANGLE_IDENTITY,
    ROW_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if request["entry"] == "rows":
        yield from _walk_one(payload["q"])
        yield from _walk_angles(payload, request)
    else:
        yield from walk_pair(payload, request)
    yield from _walk_asked(payload, request)
    if owner_of is None:
        for clause in (ANGLE_IDENTITY, ROW_IDENTITY):
            yield Unchecked(clause, "whose they are can be told only by a stamp reader")
        return
    yield from _walk_identity(payload, request, owner_of)


def _walk_one(rows: Any) -> Iterator[Violation]:
    shape = tuple(rows.shape)
    if len(shape) not in (_WITH_BATCH, _WITHOUT):
        yield Violation(ROW_DIMENSIONS, "q", "3 or 4 dimensions", str(shape))
    if shape[-1] % 2:
        yield Violation(HEAD_SIZE_EVEN, "q", "an even head size", str(shape[-1]))
    if len(shape) == _WITH_BATCH and min(shape[:2]) > 1:
        joined = shape[1] * rows.stride(1)
        if rows.stride(0) != joined:
            yield Violation(BATCH_JOINED, "q", f"a stride of {joined}", str(rows.stride(0)))
    if rows.stride(-1) != 1:
        yield Violation(COLUMNS_TOGETHER, "q", "a stride of 1", str(rows.stride(-1)))


def _walk_angles(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    size, tokens = payload["q"].shape[-1], _tokens(payload["q"])
    # The cosines alone say how wide both are.
    cosines = getattr(payload["cos"], "shape", ())
    width = size if request["interleaved"] and tuple(cosines[-1:]) == (size,) else size // 2
    for name in ("cos", "sin"):
        angles = payload[name]
        if isinstance(angles, list):
            yield Violation(ANGLES_KIND, name, "a tensor", "a list")
            continue
        if angles.device != payload["q"].device:
            wanted = str(payload["q"].device)
            yield Violation(ANGLES_DEVICE, name, wanted, str(angles.device))
        shape = tuple(angles.shape)
        if len(shape) != _FLAT:
            yield Violation(ANGLES_FLAT, name, "2 dimensions", str(shape))
        if shape[-1] != width:
            yield Violation(ANGLES_WIDTH, name, str(width), str(shape[-1]))
        if len(shape) == _FLAT and shape[0] < tokens:
            yield Violation(ANGLES_ENOUGH, name, f"{tokens} or more", str(shape[0]))


def _tokens(rows: Any) -> int:
    return int(rows.shape[-_WITHOUT]) if len(rows.shape) >= _WITHOUT else 0


def _walk_asked(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    batch, tokens, heads, size = request["shape"]
    shapes = {(batch, tokens, heads, size), (batch * tokens, heads, size)}
    for part in _parts(request):
        form = f"{tuple(payload[part].shape)} {payload[part].dtype}"
        if tuple(payload[part].shape) not in shapes or str(payload[part].dtype) != request["dtype"]:
            wanted = f"{tuple(request['shape'])} {request['dtype']}"
            yield Violation(FORM_ASKED, part, wanted, form)


def _parts(request: Mapping[str, Any]) -> Sequence[str]:
    return ("q",) if request["entry"] == "rows" else ("q", "k")


def _walk_identity(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf
) -> Iterator[Violation]:
    batch, tokens, heads, _ = request["shape"]
    angles = _angles(payload, request)
    for position, origin in enumerate(owner_of(angles)[:tokens]):
        wanted = f"angle {position} of the request"
        said = f"angle {origin.position} of {origin.owner}" if origin else "no known stamp"
        if said != wanted:
            yield Violation(ANGLE_IDENTITY, f"angles[{position}]", wanted, said)
            break
    for part in _parts(request):
        told = payload[part]
        if len(told.shape) not in (_WITH_BATCH, _WITHOUT) or told.is_meta:
            continue
        flat = told.flatten(0, -_WITHOUT)
        for head in range(min(heads, flat.shape[1])):
            origins = owner_of(flat[:, head].tolist())[: batch * tokens]
            for row, origin in enumerate(origins):
                wanted = f"row {row} of {part} head {head}"
                said = f"row {origin.position} of {origin.owner}" if origin else "no known stamp"
                if said != wanted:
                    yield Violation(ROW_IDENTITY, f"{part}[{row}, {head}]", wanted, said)
                    break


def _angles(payload: Mapping[str, Any], request: Mapping[str, Any]) -> list[list[float]]:
    """Return the angles that can be read, each as its cosines and behind them its sines."""
    if request["entry"] != "rows":
        cache = payload["cache"]
        is_readable = not isinstance(cache, list) and len(cache.shape) == _FLAT
        return list(cache.tolist()) if is_readable and not cache.is_meta else []
    size = payload["q"].shape[-1]
    lanes = []
    for angles in (payload["cos"], payload["sin"]):
        if isinstance(angles, list) or len(angles.shape) != _FLAT or angles.is_meta:
            return []
        step = 2 if request["interleaved"] and angles.shape[-1] == size else 1
        lanes.append(angles[:, ::step].tolist())
    return [cos + sin for cos, sin in zip(*lanes, strict=False)]


CONTRACT = Contract(
    "kernel-rotary",
    "The angles of positions turn queries and keys, neighbouring columns as a pair.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
