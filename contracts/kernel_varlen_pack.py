"""kernel-varlen-pack: kept tokens are packed, their places turned round, and rows scattered back.

- Queries, keys and values are dense tensors of one shape, (sequences, tokens, heads, head size),
  and one dtype; they are the request's, and each row is its own.
- The indices are a tensor of 32- or 64-bit whole numbers, one-dimensional, side by side.
- Each is a position that there is, and none stands twice.
- Index i is the position of kept token i: else a row is another token's.
- Rows that are scattered back are (kept, heads, head size).

Three entries: `pack` (`fused_pack_qkv`), `inverse` (`build_inv_indices`) and `scatter`
(`build_inv_indices`, then `fused_scatter_to_padded`). The payload holds `indices` and, for `pack`,
`q`, `k` and `v`, for `scatter`, `packed`. The request says `entry`, `total` (positions), `kept`
(positions of the kept tokens), `shape` and `dtype` of the dense tensors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FILES = (
    (Span(until="0.5.17"), "0.5.16", "jit_kernel/diffusion/triton/varlen_pack_pad.py"),
    (Span("0.5.17", "0.5.19"), "0.5.18", "kernels/ops/diffusion/triton/varlen_pack_pad.py"),
    (Span("0.5.19"), "0.5.23", "kernels/ops/diffusion/layout/varlen_pack_pad_triton.py"),
)
_PARTS = ("q", "k", "v")
_DENSE_DIMENSIONS = 4
_PACKED_DIMENSIONS = 3
_TYPES = ("torch.int32", "torch.int64")


def _asserted(text: str, symbol: str = "fused_pack_qkv") -> tuple[Guard, ...]:
    return tuple(
        Guard("AssertionError", text, span, Source(release, file, symbol))
        for span, release, file in _FILES
    )


SHAPE_SHARED = Clause(
    "shape-shared", "The three have one shape.", guards=_asserted("Q/K/V must share shape")
)
DTYPE_SHARED = Clause(
    "dtype-shared", "The three have one dtype.", guards=_asserted("Q/K/V must share dtype")
)
DENSE = Clause(
    "dense",
    "They are (sequences, tokens, heads, head size).",
    guards=_asserted("Q/K/V must be [B, S, H, D]"),
)
INDEX_KIND = Clause(
    "index-kind",
    "The indices are a tensor of 32- or 64-bit whole numbers.",
    incidental=("AssertionError",),
)
INDEX_FLAT = Clause("index-flat", "The indices are one-dimensional.")
INDEX_TOGETHER = Clause("index-together", "The indices lie side by side.")
INDEX_WITHIN = Clause("index-within", "Each index is a position that there is.")
INDEX_ONCE = Clause("index-once", "No index stands twice.")
PACKED = Clause(
    "packed",
    "Rows that are scattered back are (kept, heads, head size).",
    guards=_asserted("out_unpad must be [total_valid, H, D]", "fused_scatter_to_padded"),
)
KEPT_ASKED = Clause("kept-asked", "Index i is the position of kept token i.")
FORM_ASKED = Clause("form-asked", "Shape and dtype of the dense tensors are the request's.")
ROW_IDENTITY = Clause("row-identity", "The row at a position is that position's.", identity=True)
_CLAUSES = (
    SHAPE_SHARED,
    DTYPE_SHARED,
    DENSE,
    INDEX_KIND,
    INDEX_FLAT,
    INDEX_TOGETHER,
    INDEX_WITHIN,
    INDEX_ONCE,
    PACKED,
    KEPT_ASKED,
    FORM_ASKED,
    ROW_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    packs = request["entry"] == "pack"
    if packs:
        yield from _walk_dense([payload[part] for part in _PARTS])
    yield from _walk_indices(payload["indices"], request)
    if request["entry"] == "scatter" and len(payload["packed"].shape) != _PACKED_DIMENSIONS:
        yield Violation(PACKED, "packed", "3 dimensions", str(len(payload["packed"].shape)))
    yield from _walk_kept(payload["indices"], request)
    if packs:
        yield from _walk_rows(payload, request, owner_of)


def _walk_dense(tensors: Sequence[Any]) -> Iterator[Violation]:
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if len(set(shapes)) > 1:
        yield Violation(SHAPE_SHARED, "$", str(shapes[0]), ", ".join(map(str, shapes[1:])))
    dtypes = [str(tensor.dtype) for tensor in tensors]
    if len(set(dtypes)) > 1:
        yield Violation(DTYPE_SHARED, "$", dtypes[0], ", ".join(dtypes[1:]))
    if len(shapes[0]) != _DENSE_DIMENSIONS:
        yield Violation(DENSE, "q", "4 dimensions", str(len(shapes[0])))


def _walk_indices(indices: Any, request: Mapping[str, Any]) -> Iterator[Violation]:
    packs = request["entry"] == "pack"
    if isinstance(indices, list):
        # It is asked for its dtype here, for its shape there.
        yield Violation(INDEX_KIND, "indices", "a tensor", "a list", incidental=("AttributeError",))
        yield from _walk_values(indices, request)
        return
    if str(indices.dtype) not in _TYPES:
        # Turned round, numbers of any kind are made whole ones.
        accident = ("AssertionError",) if packs else ()
        yield Violation(
            INDEX_KIND, "indices", "int32 or int64", str(indices.dtype), incidental=accident
        )
    if len(indices.shape) != 1:
        # Turned round, as many numbers as rows are put where there are more places.
        count = tuple(indices.shape)
        fits = packs or count[0] in (1, count[-1])
        said = str(count)
        accident = () if fits else ("RuntimeError",)
        yield Violation(INDEX_FLAT, "indices", "one dimension", said, incidental=accident)
    if not indices.is_contiguous():
        yield Violation(INDEX_TOGETHER, "indices", "a stride of 1", str(indices.stride()))
    if "bool" not in str(indices.dtype):
        yield from _walk_values(indices.flatten().tolist(), request)


def _walk_values(values: Sequence[Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    total, packs = request["total"], request["entry"] == "pack"
    for place, value in enumerate(values):
        if not 0 <= value < total:
            # Torch counts a negative one from the end.
            accident = () if packs or -total <= value < total else ("IndexError",)
            wanted = f"0 to {total - 1}"
            yield Violation(
                INDEX_WITHIN, f"indices[{place}]", wanted, str(value), incidental=accident
            )
    seen: set[Any] = set()
    for place, value in enumerate(values):
        if value in seen:
            yield Violation(INDEX_ONCE, f"indices[{place}]", "a position of its own", str(value))
        seen.add(value)


def _walk_kept(indices: Any, request: Mapping[str, Any]) -> Iterator[Violation]:
    values = indices if isinstance(indices, list) else indices.flatten().tolist()
    kept = list(request["kept"])
    if len(values) != len(kept):
        yield Violation(KEPT_ASKED, "indices", f"{len(kept)} positions", str(len(values)))
    for place, (value, want) in enumerate(zip(values, kept, strict=False)):
        if value != want:
            yield Violation(KEPT_ASKED, f"indices[{place}]", str(want), str(value))
            return


def _walk_rows(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    for part in _PARTS:
        form = f"{tuple(payload[part].shape)} {payload[part].dtype}"
        wanted = f"{tuple(request['shape'])} {request['dtype']}"
        if form != wanted:
            yield Violation(FORM_ASKED, part, wanted, form)
    if owner_of is None:
        yield Unchecked(ROW_IDENTITY, "whose rows they are can be told only by a stamp reader")
        return
    for part in _PARTS:
        if len(payload[part].shape) == _DENSE_DIMENSIONS:
            yield from _walk_part(part, payload[part], request["shape"], owner_of)


def _walk_part(
    part: str, tensor: Any, shape: Sequence[int], owner_of: OwnerOf
) -> Iterator[Violation]:
    sequences, tokens, heads, _ = shape
    for sequence in range(min(sequences, tensor.shape[0])):
        for head in range(min(heads, tensor.shape[2])):
            origins = owner_of(tensor[sequence, :, head].tolist())[:tokens]
            for token, origin in enumerate(origins):
                wanted = f"row {sequence * tokens + token} of {part} head {head}"
                said = f"row {origin.position} of {origin.owner}" if origin else "no known stamp"
                if said != wanted:
                    place = f"{part}[{sequence}, {token}, {head}]"
                    yield Violation(ROW_IDENTITY, place, wanted, said)
                    return


CONTRACT = Contract(
    "kernel-varlen-pack",
    "Kept tokens are packed, their places turned round, and rows scattered back.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
