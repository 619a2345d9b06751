"""kernel-pack-qkv: queries, keys and values are packed into one tensor for an exchange of heads.

- The three are tensors of one shape, (rows, heads, head size), on the kernel's device, all of one
  device and dtype, and the columns of a head lie side by side.
- The number of ranks is a whole number, positive, and divides the heads.
- Memory that is brought for the output has its shape, device and dtype, and has no gaps.
- Shape, dtype and number of ranks are the request's, and each row is its own: row r of head h of
  each part goes to rank h // (heads / ranks), whoever counted them.

The payload holds `q`, `k`, `v`, `world_size` and `out` (None where none is brought); the request
`shape`, `dtype`, `world_size`, `device_types` (where the kernel runs) and `takes_out`.

0.5.17 checks nothing, and takes no `out`: what is brought there is left out. 0.5.23 names the
device of `q`, whichever of the three is elsewhere.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_OLD_FILE = "kernels/ops/diffusion/triton/ulysses_qkv.py"
_FILE = "kernels/ops/diffusion/layout/ulysses_qkv_triton.py"
_FUNCTION = "pack_qkv_destination_major"
_PARTS = ("q", "k", "v")
#: Dimensions of each of the three.
_DIMENSIONS = 3


def _guard(text: str, span: Span, source: Source) -> Guard:
    return Guard("ValueError", text, span, source)


_OLD_SPAN = Span("0.5.18", "0.5.19")
_OLD = Source("0.5.18", _OLD_FILE, _FUNCTION)
_NEW = Source("0.5.23", _FILE, _FUNCTION)


def _refused(text: str) -> tuple[Guard, ...]:
    return _guard(text, _OLD_SPAN, _OLD), _guard(text, Span("0.5.19"), _NEW)


SAME_SHAPE = Clause(
    "same-shape",
    "The three have one shape, (rows, heads, head size).",
    guards=_refused("q, k, and v must have the same 3D shape"),
)
ON_DEVICE = Clause(
    "on-device",
    "The three are on a device that the kernel runs on.",
    # Torch's, of a tensor that has no data.
    incidental=("NotImplementedError",),
    guards=(
        _guard("q, k, and v must be CUDA tensors", _OLD_SPAN, _OLD),
        _guard(
            "q, k, and v must be CUDA tensors",
            Span("0.5.19", "0.5.23"),
            Source("0.5.22", _FILE, _FUNCTION),
        ),
        _guard("q, k, and v must be on one of {types}, got {got}", Span("0.5.23"), _NEW),
    ),
)
ALIKE = Clause(
    "alike",
    "The three have one device and one dtype.",
    guards=_refused("q, k, and v must have the same device and dtype"),
)
COLUMNS_TOGETHER = Clause(
    "columns-together",
    "The columns of a head lie side by side.",
    guards=_refused("q, k, and v must be contiguous in head_size"),
)
WORLD_WHOLE = Clause(
    "world-whole", "The number of ranks is a whole number.", incidental=("TypeError",)
)
WORLD_DIVIDES = Clause(
    "world-divides",
    "The number of ranks is positive and divides the heads.",
    guards=_refused("world_size must be positive and divide global_heads"),
)
OUT_FITS = Clause(
    "out-fits",
    "What is brought for the output has its shape, device and dtype, without gaps.",
    guards=_refused("out must be a contiguous tensor with the expected shape, device, and dtype"),
)
SHAPE_ASKED = Clause("shape-asked", "The shape is the request's.")
DTYPE_ASKED = Clause("dtype-asked", "The dtype is the request's.")
WORLD_ASKED = Clause("world-asked", "The number of ranks is the request's.")
ROW_IDENTITY = Clause("row-identity", "Row r of head h of a part is that part's.", identity=True)
_CLAUSES = (
    SAME_SHAPE,
    ON_DEVICE,
    ALIKE,
    COLUMNS_TOGETHER,
    WORLD_WHOLE,
    WORLD_DIVIDES,
    OUT_FITS,
    SHAPE_ASKED,
    DTYPE_ASKED,
    WORLD_ASKED,
    ROW_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    tensors = {name: payload[name] for name in _PARTS}
    yield from _walk_form(tensors, request)
    yield from _walk_world(payload["world_size"], tensors["q"])
    yield from _walk_out(payload, request)
    yield from _walk_asked(tensors, payload["world_size"], request)
    yield from _walk_rows(tensors, request, owner_of)


def _walk_form(tensors: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    first = tensors["q"]
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if len(set(shapes.values())) > 1 or len(shapes["q"]) != _DIMENSIONS:
        # Where nothing is checked, only the first one is unpacked.
        accident = ("ValueError",) if len(shapes["q"]) != _DIMENSIONS else ()
        said = ", ".join(map(str, shapes.values()))
        yield Violation(SAME_SHAPE, "$", "one 3D shape", said, incidental=accident)
    types = tuple(request["device_types"])
    places = {name: tensor.device.type for name, tensor in tensors.items()}
    if any(place not in types for place in places.values()):
        fields = {"types": types, "got": first.device.type}
        yield Violation(ON_DEVICE, "$", str(types), str(places), fields)
    kinds = {(tensor.device, tensor.dtype) for tensor in tensors.values()}
    if len(kinds) > 1:
        said = ", ".join(f"{tensor.device} {tensor.dtype}" for tensor in tensors.values())
        yield Violation(ALIKE, "$", f"{first.device} {first.dtype} of each", said)
    for name, tensor in tensors.items():
        if tensor.stride(-1) != 1:
            yield Violation(COLUMNS_TOGETHER, name, "a stride of 1", str(tensor.stride(-1)))


def _walk_world(world: Any, first: Any) -> Iterator[Violation]:
    if not isinstance(world, int):
        yield Violation(WORLD_WHOLE, "world_size", "an int", type(world).__name__)
        return
    heads = first.shape[1] if len(first.shape) > 1 else 0
    if world < 1 or heads % world:
        accident = "ZeroDivisionError" if world == 0 else "RuntimeError" if world < 0 else ""
        incidental = (accident,) if accident else ()
        wanted = f"a divisor of {heads}"
        yield Violation(WORLD_DIVIDES, "world_size", wanted, str(world), incidental=incidental)


def _walk_out(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    out, first, world = payload["out"], payload["q"], payload["world_size"]
    is_whole = len(first.shape) == _DIMENSIONS and isinstance(world, int) and world > 0
    if out is None or not request["takes_out"] or not is_whole:
        return
    rows, heads, width = first.shape
    wanted = (world, rows, heads // world, 3 * width)
    fits = (tuple(out.shape), out.dtype, out.device) == (wanted, first.dtype, first.device)
    if not fits or not out.is_contiguous():
        said = f"{tuple(out.shape)} {out.dtype} {out.device}"
        gaps = "" if out.is_contiguous() else ", with gaps"
        yield Violation(OUT_FITS, "out", f"{wanted} {first.dtype}", said + gaps)


def _walk_asked(
    tensors: Mapping[str, Any], world: Any, request: Mapping[str, Any]
) -> Iterator[Violation]:
    shape = tuple(request["shape"])
    for name, tensor in tensors.items():
        if tuple(tensor.shape) != shape:
            yield Violation(SHAPE_ASKED, name, str(shape), str(tuple(tensor.shape)))
        if str(tensor.dtype) != request["dtype"]:
            yield Violation(DTYPE_ASKED, name, request["dtype"], str(tensor.dtype))
    if isinstance(world, int) and world != request["world_size"]:
        yield Violation(WORLD_ASKED, "world_size", str(request["world_size"]), str(world))


def _walk_rows(
    tensors: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if owner_of is None:
        yield Unchecked(ROW_IDENTITY, "whose rows they are can be told only by a stamp reader")
        return
    for name, tensor in tensors.items():
        if len(tensor.shape) == _DIMENSIONS and not tensor.is_meta:
            yield from _walk_part(name, tensor, request, owner_of)


def _walk_part(
    name: str, tensor: Any, request: Mapping[str, Any], owner_of: OwnerOf
) -> Iterator[Violation]:
    rows, heads, _ = request["shape"]
    for head in range(min(heads, tensor.shape[1])):
        origins = owner_of(tensor[:, head].tolist())[:rows]
        for row, origin in enumerate(origins):
            wanted = f"row {row} of {name} head {head}"
            said = f"row {origin.position} of {origin.owner}" if origin else "no known stamp"
            if said != wanted:
                yield Violation(ROW_IDENTITY, f"{name}[{row}, {head}]", wanted, said)
                return


CONTRACT = Contract(
    "kernel-pack-qkv",
    "Queries, keys and values are packed into one tensor for an exchange of heads.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
