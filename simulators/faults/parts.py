"""Faults of an embedding's parts: what a part says it is, and what it brings."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, Places, each, neighbours, pairs, whole
from simulators.payload import PARTS, Payload

_Record = dict[str, Any]
#: Whose id a foreign part carries.
_OTHER = "request 1"
_NEXT = {"float32": "float16", "float16": "bfloat16", "bfloat16": "float16"}


def part_says(edit: Callable[[_Record], dict[str, Any]]) -> Change:
    """Return the fault that sets fields of one part, made from the part itself."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        return payload.with_record(at[0], {**record, **edit(record)})

    return change


def rows_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that changes the rows of one part, where it has a matrix of them."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        rows = record["embedding"]
        if rows is None or rows.dim() != 2 or not len(rows):
            return payload
        return payload.with_record(at[0], {**record, "embedding": edit(rows)})

    return change


def grid_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that changes the grid of one part, where it has a tensor."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        grid = record["grid"]
        if grid is None or isinstance(grid, list):
            return payload
        return payload.with_record(at[0], {**record, "grid": edit(grid)})

    return change


def swapped(*fields: str) -> Change:
    """Return the fault that swaps fields of two parts."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        changed = payload.with_record(at[0], {**one, **{name: two[name] for name in fields}})
        return changed.with_record(at[1], {**two, **{name: one[name] for name in fields}})

    return change


def rows_foreign(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 -> a = x y: rows of another request, under a's id"""
    record = payload.records[at[0]]
    other = payload.foreign[at[0]]["embedding"]
    return payload.with_record(at[0], {**record, "embedding": other})


def row_moved(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, b = 4 5 -> a = 1 2, b = 3 4 5"""
    import torch

    one, two = payload.records[at[0]], payload.records[at[0] + 1]
    rows, more = one["embedding"], two["embedding"]
    alike = all(r is not None and r.dim() == 2 for r in (rows, more))
    if not alike or rows.shape[1:] != more.shape[1:]:
        return payload
    changed = payload.with_record(at[0], {**one, "embedding": rows[:-1]})
    return changed.with_record(at[0] + 1, {**two, "embedding": torch.cat([rows[-1:], more])})


def repeated(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b] -> [a a b]"""
    records = list(payload.records)
    records.insert(at[0], records[at[0]])
    return payload.with_records(records)


def every_count(by: int) -> Change:
    """Return the fault that adds to the number of parts that each part says."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        counts = [record["num_parts"] for record in payload.records]
        told = [c + by if type(c) is int else c for c in counts]
        records = zip(payload.records, told, strict=True)
        return replace(payload, records=tuple({**r, "num_parts": c} for r, c in records))

    return change


def _lengthened(grid: Any) -> Any:
    longer = grid.clone()
    longer[-1] += 2
    return longer


def _turned(grid: Any) -> Any:
    # Rows for columns of a picture; of audio, the first item's length for the last one's.
    if grid.dim() == 2:
        return grid[:, [0, *range(grid.shape[1] - 1, 0, -1)]]
    return grid.flip(0) + 1


def _wider(rows: Any) -> Any:
    import torch

    return torch.cat([rows, rows[:, :1]], dim=1)


def _more(rows: Any) -> Any:
    import torch

    return torch.cat([rows, rows[-1:]])


def _other_dtype(rows: Any) -> Any:
    import torch

    return rows.to(getattr(torch, _NEXT.get(str(rows.dtype).removeprefix("torch."), "float16")))


def _other_modality(record: _Record) -> dict[str, Any]:
    return {"modality": "IMAGE" if record["modality"] == "VIDEO" else "VIDEO"}


def _shape(record: _Record, more: int = 0) -> list[int]:
    rows = record["embedding"]
    if rows is None:
        return [more]
    first, *others = rows.shape
    return [first + more, *others]


def _index(record: _Record) -> int:
    return record["part_idx"] if type(record["part_idx"]) is int else 0


def _part(name: str, change: Change, picture: str, kind: str = "substitution",
          places: Places = each, benign: bool = False) -> Fault:  # fmt: skip
    return Fault(name, kind, change, (PARTS,), places, picture, scope="parts", benign=benign)


_INDEX: dict[str, tuple[Callable[[_Record], Any], str]] = {
    "wrapped": (lambda r: _index(r) - r["num_parts"], "b is 1 of 2 -> b is -1 of 2"),
    "below": (lambda r: -1 - r["num_parts"], "b is 1 of 2 -> b is -3 of 2"),
    "beyond": (lambda r: _index(r) + r["num_parts"], "b is 1 of 2 -> b is 3 of 2"),
    "bool": (lambda r: bool(_index(r)), "b is 1 of 2 -> b is true of 2"),
    "text": (lambda r: str(r["part_idx"]), 'b is 1 of 2 -> b is "1" of 2'),
    "float": (lambda r: float(_index(r)), "b is 1 of 2 -> b is 1.0 of 2"),
    "null": (lambda r: None, "b is 1 of 2 -> b is null of 2"),
}
_COUNT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "more": (lambda n: n + 1, "a is 0 of 2 -> a is 0 of 3"),
    "less": (lambda n: n - 1, "a is 0 of 2 -> a is 0 of 1"),
    "zero": (lambda n: 0, "a is 0 of 2 -> a is 0 of 0"),
    "negative": (lambda n: -n, "a is 0 of 2 -> a is 0 of -2"),
    "bool": (lambda n: True, "a is 0 of 2 -> a is 0 of true"),
    "text": (str, 'a is 0 of 2 -> a is 0 of "2"'),
    "float": (float, "a is 0 of 2 -> a is 0 of 2.0"),
    "null": (lambda n: None, "a is 0 of 2 -> a is 0 of null"),
}


def _index_says(edit: Callable[[_Record], Any]) -> Change:
    def said(record: _Record) -> dict[str, Any]:
        return {"part_idx": edit(record)} if type(record["num_parts"]) is int else {}

    return part_says(said)


def _count_says(edit: Callable[[Any], Any]) -> Change:
    def said(record: _Record) -> dict[str, Any]:
        count = record["num_parts"]
        return {"num_parts": edit(count)} if type(count) is int else {}

    return part_says(said)


#: The rows of these faults in the table.
FAULTS = (
    *(_part(f"part-index-{n}", _index_says(edit), p) for n, (edit, p) in _INDEX.items()),
    _part("part-index-swapped", swapped("part_idx"), "a is 0, b is 1 -> a is 1, b is 0",
          "reordering", pairs),
    *(_part(f"part-count-{n}", _count_says(edit), p, "skew") for n, (edit, p) in _COUNT.items()),
    _part("parts-count-more", every_count(1), "each of 2 -> each of 3", "skew", whole),
    _part("parts-count-less", every_count(-1), "each of 2 -> each of 1", "skew", whole),
    _part("part-repeated", repeated, "[a b] -> [a a b]", "duplication"),
    _part("part-request-foreign", part_says(lambda r: {"request": _OTHER}),
          "a of request 0 -> a of request 1"),
    _part("part-plain", part_says(lambda r: {"kind": "dict"}), "a -> a as a plain dict"),
    _part("part-modality-other", part_says(_other_modality), "an image -> a video"),
    _part("part-modality-text", part_says(lambda r: {"as_text": True}), 'IMAGE -> "IMAGE"'),
    _part("part-modality-none", part_says(lambda r: {"modality": None}), "IMAGE -> none",
          "omission"),
    _part("part-grid-none", part_says(lambda r: {"grid": None}), "a's grid -> none", "omission"),
    _part("part-grid-list", grid_becomes(lambda g: g.tolist()), "a tensor -> a list of lists"),
    _part("part-grid-larger", grid_becomes(_lengthened), "2 x 4 -> 4 x 6", "skew"),
    _part("part-grid-turned", grid_becomes(_turned), "2 x 4 -> 4 x 2"),
    _part("part-grid-narrow", grid_becomes(lambda g: g[..., 1:]), "(1, 2, 4) -> (2, 4)",
          "truncation"),
    _part("part-grids-swapped", swapped("grid"), "a 2 x 4, b 4 x 6 -> a 4 x 6, b 2 x 4",
          "reordering", pairs),
    _part("part-embedding-none", part_says(lambda r: {"embedding": None}), "a = 1 2 -> a = none",
          "omission"),
    _part("part-embedding-foreign", rows_foreign, "a = 1 2 -> a = x y, of another request"),
    _part("part-embeddings-swapped", swapped("embedding"), "a = 1 2, b = 3 4 -> a = 3 4, b = 1 2",
          "reordering", pairs),
    _part("part-row-lost", rows_become(lambda r: r[:-1]), "a = 1 2 3 -> a = 1 2", "truncation"),
    _part("part-row-doubled", rows_become(_more), "a = 1 2 -> a = 1 2 2", "duplication"),
    _part("part-row-moved", row_moved, "a = 1 2, b = 3 -> a = 1, b = 2 3", "skew", neighbours),
    _part("part-rows-reversed", rows_become(lambda r: r.flip(0)), "a = 1 2 3 -> a = 3 2 1",
          "reordering"),
    _part("part-rows-wider", rows_become(_wider), "(rows, 8) -> (rows, 9)", "skew"),
    _part("part-rows-flat", rows_become(lambda r: r.flatten()), "(rows, 8) -> (rows * 8,)",
          "merge"),
    _part("part-dtype-other", rows_become(_other_dtype), "float32 -> float16"),
    _part("part-shape-longer", part_says(lambda r: {"shape": _shape(r, 1)}),
          "says (3, 8) -> says (4, 8)", "skew"),
    _part("part-shape-turned", part_says(lambda r: {"shape": _shape(r)[::-1]}),
          "says (3, 8) -> says (8, 3)"),
)  # fmt: skip
