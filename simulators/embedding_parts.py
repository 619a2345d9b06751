"""Honest parts of an encoder's embedding: stamped rows, in the order in which they arrive.

A record is one part: `kind` (what the object is), `request` (whose id it carries), `suffix` (the
index at the end of the id of a part), `num_parts`, `part_idx`, `modality` (a name; `as_text`: sent
as that text), `grid`, `embedding`, `shape` (None: the embedding's own), `dtype` (None: its own),
`error`, and what happens to the message that carries it: see `simulators.part_messages`.

Part p holds one item, or two where p is odd. A grid is of two by two cells a row, (items, 3); of
audio it is the lengths of features, (items,), with two frames a row.
"""

from typing import TYPE_CHECKING, Any

from contracts.clauses.embedding_part import CELLS, FRAMES, PART, PLURAL, rows_of
from simulators.part_rows import RowReader, stamped_rows
from simulators.payload import PARTS, Payload

if TYPE_CHECKING:
    import torch

REQUEST, OTHER = "request 0", "request 1"
#: Frames of a video.
_SHOTS = 2
_MODALITIES = tuple(PLURAL)


def modalities(count: int, modality: str) -> list[str]:
    """Return the modality of each part: all alike, or images and videos in turn if `mixed`."""
    if modality == "mixed":
        return ["VIDEO" if part % 2 else "IMAGE" for part in range(count)]
    return [modality.upper()] * count


def grids(count: int, modality: str) -> list[list[Any]]:
    """Return the grid of each part, as lists; no two items of a request have the same."""
    found: list[list[Any]] = []
    item = 0
    for part, name in enumerate(modalities(count, modality)):
        items = range(item, item + 1 + part % 2)
        item = items.stop
        found.append([_grid(name, number) for number in items])
    return found


def _grid(modality: str, item: int) -> Any:
    if modality == "AUDIO":
        return FRAMES * (3 + item)
    shots = _SHOTS if modality == "VIDEO" else 1
    assert CELLS == 4
    return [shots, 2 + 2 * (item % 2), 4 + 2 * item]


def honest_parts(count: int, modality: str, dtype: str) -> Payload:
    """Return the parts of one request, and those of another of the same shapes.

    Args:
        count: How many parts.
        modality: `image`, `video`, `audio`, or `mixed`.
        dtype: Of the rows: `float32`, `float16` or `bfloat16`.
    """
    ours = _parts(0, REQUEST, count, modality, dtype)
    others = _parts(1, OTHER, count, modality, dtype)
    return Payload(PARTS, ours, others)


def _parts(
    number: int, request: str, count: int, modality: str, dtype: str
) -> tuple[dict[str, Any], ...]:
    first = dict.fromkeys(_MODALITIES, 0)
    parts = []
    named = modalities(count, modality)
    for index, (name, grid) in enumerate(zip(named, grids(count, modality), strict=True)):
        rows = rows_of(name, grid)
        embedding = stamped_rows(_owner(number, name), first[name], rows, dtype)
        first[name] += rows
        parts.append(_record(request, index, count, name, _tensor(grid), embedding))
    return tuple(parts)


def _tensor(grid: list[Any]) -> "torch.Tensor":
    import torch

    return torch.tensor(grid)


def _record(request: str, index: int, count: int, modality: str, grid: "torch.Tensor",
            embedding: "torch.Tensor") -> dict[str, Any]:  # fmt: skip
    return {
        "kind": PART,
        "request": request,
        "suffix": index,
        "num_parts": count,
        "part_idx": index,
        "modality": modality,
        "as_text": False,
        "grid": grid,
        "embedding": embedding,
        "shape": None,
        "dtype": None,
        "error": None,
        "frames": "whole",
        "bytes_of": None,
    }


def _owner(number: int, modality: str) -> int:
    return 1 + len(_MODALITIES) * number + _MODALITIES.index(modality)


def owner_name(request: str, modality: str) -> str:
    """Return the name of a request's rows of one modality."""
    return f"{request}'s {PLURAL[modality]}"


def reader() -> RowReader:
    """Return the reader of the rows of both requests."""
    return RowReader(
        {
            _owner(number, modality): owner_name(request, modality)
            for number, request in enumerate((REQUEST, OTHER))
            for modality in _MODALITIES
        }
    )
