"""Faults of the queries, keys and values that a packing kernel gets, and of what it is told."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import TENSORS, Payload

#: Gets a tensor of (rows, heads, width) and the same one of another request.
Edit = Callable[[Any, Any], Any]


def one_becomes(edit: Edit) -> Change:
    """Return the fault that edits one tensor; an earlier one may have made it uneditable."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        (index,) = at
        return payload.with_record(index, _edited(payload, index, edit))

    return change


def all_become(edit: Edit) -> Change:
    """Return the fault that edits all tensors alike."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records(
            [_edited(payload, i, edit) for i in range(len(payload.records))]
        )

    return change


def _edited(payload: Payload, index: int, edit: Edit) -> Any:
    tensor = payload.records[index]
    other = payload.foreign[index]
    # With one row or one head there is nothing to change places with.
    is_whole = tensor.shape == other.shape and min(tensor.shape) > 1 and not tensor.is_meta
    return edit(tensor, other) if is_whole else tensor


def world_becomes(edit: Callable[[int], Any]) -> Change:
    """Return the fault that tells another number of ranks."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = payload.beside["world_size"]
        world = edit(told) if type(told) is int else told
        return replace(payload, beside={**payload.beside, "world_size": world})

    return change


def out_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that brings other memory for the output, where any is brought."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        out = payload.beside["out"]
        if out is None or out.ndim != 4 or out.is_meta:
            return payload
        return replace(payload, beside={**payload.beside, "out": edit(out)})

    return change


def _apart(tensor: Any, dim: int) -> Any:
    """Return a view of the same elements, with as many others between those of a dimension."""
    return tensor.repeat_interleave(2, dim=dim).unflatten(dim, (-1, 2)).select(dim + 1, 0)


def _with_row(tensor: Any, index: int, row: Any) -> Any:
    changed = tensor.clone()
    changed[index] = row
    return changed


def _swapped(tensor: Any) -> Any:
    return tensor[[1, 0, *range(2, len(tensor))]]


def _other_dtype(tensor: Any) -> Any:
    return tensor.half() if tensor.element_size() == 4 else tensor.float()


def _with_nan(tensor: Any) -> Any:
    changed = tensor.clone()
    changed[0, 0, -1] = float("nan") if tensor.is_floating_point() else 0
    return changed


def _columns_apart(tensor: Any) -> Any:
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _one(
    name: str, kind: str, edit: Edit, picture: str, scope: str = "tensor", benign: bool = False
) -> Fault:
    change = one_becomes(edit)
    return Fault(name, kind, change, (TENSORS,), each, picture, scope=scope, benign=benign)


def _all(name: str, kind: str, edit: Edit, picture: str) -> Fault:
    return Fault(name, kind, all_become(edit), (TENSORS,), whole, picture, scope="tensors")


def _world(name: str, kind: str, edit: Callable[[int], Any], picture: str) -> Fault:
    return Fault(name, kind, world_becomes(edit), (TENSORS,), whole, picture, scope="world")


def _out(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    return Fault(name, kind, out_becomes(edit), (TENSORS,), whole, picture, scope="out")


#: The rows of these faults in the table.
FAULTS = (
    _one("qkv-row-less", "truncation", lambda t, o: t[:-1], "6 rows -> 5 rows", "form"),
    _one("qkv-row-more", "duplication", lambda t, o: t[[*range(len(t)), -1]],
         "rows a b -> rows a b b", "form"),
    _one("qkv-no-rows", "truncation", lambda t, o: t[:0], "6 rows -> no rows", "form"),
    _one("qkv-head-less", "truncation", lambda t, o: t[:, :-1].contiguous(),
         "8 heads -> 7 heads", "form"),
    _one("qkv-head-more", "duplication", lambda t, o: t[:, [*range(t.shape[1]), -1]],
         "heads a b -> heads a b b", "form"),
    _one("qkv-narrower", "truncation", lambda t, o: t[..., :-1].contiguous(),
         "16 columns -> 15 columns", "form"),
    _one("qkv-wider", "duplication", lambda t, o: t[..., [*range(t.shape[2]), -1]],
         "16 columns -> 17 columns", "form"),
    _one("qkv-deep", "substitution", lambda t, o: t[None],
         "(rows, heads, columns) -> (1, rows, heads, columns)", "form"),
    _one("qkv-flat", "substitution", lambda t, o: t.flatten(1),
         "(rows, heads, columns) -> (rows, heads * columns)", "form"),
    _one("qkv-other-dtype", "substitution", lambda t, o: _other_dtype(t),
         "float32 -> float16, and any other -> float32", "form"),
    _one("qkv-columns-apart", "substitution", lambda t, o: _columns_apart(t),
         "columns side by side -> heads side by side, the same elements", "form"),
    _one("qkv-elsewhere", "substitution", lambda t, o: t.to("meta"),
         "on the kernel's device -> on another one", "form"),
    _one("qkv-rows-apart", "substitution", lambda t, o: _apart(t, 0),
         "rows side by side -> a row's room between them", "layout", benign=True),
    _one("qkv-heads-apart", "substitution", lambda t, o: _apart(t, 1),
         "heads side by side -> a head's room between them", "layout", benign=True),
    _one("qkv-rows-swapped", "reordering", lambda t, o: _swapped(t), "rows a b c -> rows b a c"),
    _one("qkv-rows-mirrored", "reordering", lambda t, o: t.flip(0), "rows a b c -> rows c b a"),
    _one("qkv-rows-rolled", "skew", lambda t, o: t.roll(1, 0), "rows a b c -> rows c a b"),
    _one("qkv-row-twice", "duplication", lambda t, o: _with_row(t, 1, t[0]),
         "rows a b c -> rows a a c"),
    _one("qkv-row-stale", "staleness", lambda t, o: _with_row(t, -1, o[-1]),
         "rows a b c -> rows a b x, x of another request"),
    _one("qkv-rows-expanded", "merge", lambda t, o: t[:1].expand_as(t),
         "rows a b c -> row a three times, in one place"),
    _one("qkv-heads-mirrored", "reordering", lambda t, o: t.flip(1), "heads a b c -> heads c b a"),
    _one("qkv-columns-mirrored", "reordering", lambda t, o: t.flip(2),
         "columns a b c -> columns c b a"),
    _one("qkv-nan", "substitution", lambda t, o: _with_nan(t),
         "one element -> NaN, or 0 where there is none"),
    _all("qkv-all-row-less", "truncation", lambda t, o: t[:-1], "6 rows of each -> 5 rows"),
    _all("qkv-all-other-dtype", "substitution", lambda t, o: _other_dtype(t),
         "float32 each -> float16 each, and any other -> float32"),
    _all("qkv-all-rolled", "skew", lambda t, o: t.roll(1, 0), "rows a b c of each -> rows c a b"),
    _all("qkv-all-stale", "staleness", lambda t, o: o, "each -> another request's"),
    _all("qkv-all-deep", "substitution", lambda t, o: t[None],
         "(rows, heads, columns) each -> (1, rows, heads, columns)"),
    _world("world-one-more", "skew", lambda w: w + 1, "2 ranks -> 3 ranks"),
    _world("world-double", "skew", lambda w: 2 * w, "2 ranks -> 4 ranks"),
    _world("world-zero", "skew", lambda w: 0, "2 ranks -> 0 ranks"),
    _world("world-negative", "skew", lambda w: -w, "2 ranks -> -2 ranks"),
    _world("world-float", "substitution", float, "2 ranks -> 2.0 ranks"),
    _world("world-text", "substitution", str, '2 ranks -> "2" ranks'),
    _world("world-null", "omission", lambda w: None, "2 ranks -> null"),
    _out("out-row-less", "truncation", lambda o: o[:, :-1].contiguous(),
         "room for 6 rows -> for 5 rows"),
    _out("out-row-more", "skew", lambda o: o[:, [*range(o.shape[1]), -1]],
         "room for 6 rows -> for 7 rows"),
    _out("out-narrower", "truncation", lambda o: o[..., :-1].contiguous(),
         "room for 48 columns -> for 47 columns"),
    _out("out-joined", "substitution", lambda o: o.flatten(0, 1),
         "(ranks, rows, ..) -> (ranks * rows, ..)"),
    _out("out-turned", "reordering", lambda o: o.transpose(1, 2).contiguous(),
         "(.., rows, heads, ..) -> (.., heads, rows, ..)"),
    _out("out-other-dtype", "substitution", _other_dtype,
         "of float32 -> of float16, and of any other -> of float32"),
    _out("out-columns-apart", "substitution", _columns_apart,
         "columns side by side -> heads side by side"),
    _out("out-elsewhere", "substitution", lambda o: o.to("meta"),
         "on the kernel's device -> on another one"),
)  # fmt: skip
