"""Faults of what an encoder makes: rows missing, extra, another item's, or of another form."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.encoder import RULES, Encoded, stamped_rows
from simulators.encoder_rules import Rules, tokens_of_picture
from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.payload import EMBEDDINGS, Payload


def rows_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the rows of one item, if it has any."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        if not len(item.rows):
            return payload
        return payload.with_record(at[0], item._replace(rows=edit(item.rows)))

    return change


def two_become(edit: Callable[[Any, Any], tuple[Any, Any]]) -> Change:
    """Return the fault that edits the rows of two items, and not what was told of them."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        first, second = edit(one.rows, two.rows)
        changed = payload.with_record(at[0], one._replace(rows=first))
        return changed.with_record(at[1], two._replace(rows=second))

    return change


def made_by(**rules: Any) -> Change:
    """Return the fault by which the encoder makes its rows by other rules than were counted."""
    setting = replace(RULES, **rules)

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records([_remade(item, setting) for item in payload.records])

    return change


def _remade(item: Encoded, setting: Rules) -> Encoded:
    count = tokens_of_picture(item.size, setting)
    return item._replace(rows=stamped_rows(item.owner, count, item.rows.shape[-1]))


def rows_stale(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a a a | b b] -> [x x x | b b], as a cache that confuses two pictures of one size"""
    item = payload.records[at[0]]
    return payload.with_record(at[0], item._replace(rows=payload.foreign[at[0]].rows))


def form_becomes(form: str) -> Change:
    """Return the fault by which the encoder returns the same rows in another form."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "form": form})

    return change


def _without(rows: Any, index: int) -> Any:
    import torch

    return torch.cat([rows[:index], rows[index + 1 :]])


def _with(rows: Any, index: int) -> Any:
    import torch

    return torch.cat([rows[: index + 1], rows[index:]])


def _moved(one: Any, two: Any) -> tuple[Any, Any]:
    import torch

    return torch.cat([one, two[-2:]]), two[:-2]


def _nan(rows: Any) -> Any:
    import torch

    return torch.full_like(rows, torch.nan)


def _one_nan(rows: Any) -> Any:
    changed = _nan(rows)
    changed[:, 1:] = rows[:, 1:]
    changed[1:, 0] = rows[1:, 0]
    return changed


def _item(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    return Fault(name, kind, rows_become(edit), (EMBEDDINGS,), each, picture, scope="items")


def _form(name: str, kind: str, form: str, picture: str, **more: Any) -> Fault:
    change = form_becomes(form)
    return Fault(name, kind, change, (EMBEDDINGS,), whole, picture, scope="form", **more)


def _made(name: str, picture: str, **rules: Any) -> Fault:
    change = made_by(**rules)
    return Fault(name, "skew", change, (EMBEDDINGS,), whole, picture, scope="rules")


#: The rows of these faults in the table.
FAULTS = (
    _item("embedding-last-lost", "truncation", lambda rows: rows[:-1], "a0 a1 a2 -> a0 a1"),
    _item("embedding-first-lost", "truncation", lambda rows: rows[1:], "a0 a1 a2 -> a1 a2"),
    _item("embedding-middle-lost", "omission", lambda rows: _without(rows, len(rows) // 2),
          "a0 a1 a2 -> a0 a2"),
    _item("embedding-half-lost", "truncation", lambda rows: rows[: len(rows) // 2],
          "a0 a1 a2 a3 -> a0 a1"),
    _item("embedding-lost", "omission", lambda rows: rows[:0], "[a a | b b] -> [b b]"),
    _item("embedding-last-twice", "duplication", lambda rows: _with(rows, len(rows) - 1),
          "a0 a1 a2 -> a0 a1 a2 a2"),
    _item("embedding-middle-twice", "duplication", lambda rows: _with(rows, len(rows) // 2),
          "a0 a1 a2 -> a0 a1 a1 a2"),
    _item("embedding-twice", "duplication", lambda rows: rows.repeat(2, 1),
          "a0 a1 -> a0 a1 a0 a1"),
    _item("embedding-reversed", "reordering", lambda rows: rows.flip(0), "a0 a1 a2 -> a2 a1 a0"),
    _item("embedding-rotated", "reordering", lambda rows: rows.roll(1, 0), "a0 a1 a2 -> a2 a0 a1"),
    _item("embedding-zeros", "substitution", lambda rows: rows * 0, "a0 a1 -> 0 0"),
    _item("embedding-nan", "substitution", _nan, "a0 a1 -> NaN NaN"),
    _item("embedding-one-nan", "substitution", _one_nan, "a0 a1 -> a0 with one NaN, a1"),
    Fault("embedding-stale", "staleness", rows_stale, (EMBEDDINGS,), each,
          "[a a | b b] -> [x x | b b]", scope="items"),
    Fault("embeddings-swapped", "reordering", two_become(lambda one, two: (two, one)),
          (EMBEDDINGS,), pairs, "[a a a | b b] -> [b b | a a a], told 3 and 2", scope="two"),
    Fault("embeddings-doubled", "duplication", two_become(lambda one, two: (one, one)),
          (EMBEDDINGS,), ordered_pairs, "[a a | b b] -> [a a | a a]", scope="two"),
    Fault("embeddings-moved", "skew", two_become(_moved), (EMBEDDINGS,), ordered_pairs,
          "[a a | b0 b1 b2] -> [a a b1 b2 | b0], the sum fits", scope="two"),
    _made("embeddings-unmerged", "2x2 patches a row -> 1 patch a row", merge=1),
    _made("embeddings-class-row", "a0 a1 -> a class row, a0 a1", before=1),
    _made("embeddings-line-ends", "rows of a picture -> each ended by a separator", row_ends=True),
    _made("embeddings-small-side", "23x3 pixels as 3 tokens -> its sides first scaled up: 7",
          small_side=True),
    _made("embeddings-half-up", "sides half to even -> half up", rounding="half-up"),
    _form("embeddings-wider", "skew", "wider", "8 columns -> 16 columns"),
    _form("embeddings-narrower", "truncation", "narrower", "8 columns -> 4 columns"),
    _form("embeddings-folded", "skew", "folded", "(rows, 8) -> (rows, 2, 4)"),
    _form("embeddings-padded", "merge", "padded", "(rows, 8) -> (items, most rows, 8)"),
    _form("embeddings-transposed", "reordering", "transposed", "(rows, 8) -> (8, rows)"),
    _form("embeddings-vector", "merge", "vector", "(rows, 8) -> (rows * 8,)"),
    _form("embeddings-cube", "substitution", "cube", "(rows, 8) -> (rows, 1, 8)", benign=True),
    _form("embeddings-strided", "substitution", "strided",
          "contiguous rows -> the same through a stride", benign=True),
    _form("embeddings-float16", "substitution", "float16", "float32 -> float16"),
    _form("embeddings-bfloat16", "substitution", "bfloat16", "float32 -> bfloat16"),
    _form("embeddings-float64", "substitution", "float64", "float32 -> float64"),
    _form("embeddings-int32", "substitution", "int32", "float32 -> int32"),
    _form("embeddings-list", "substitution", "list", "one tensor -> a list of tensors"),
)  # fmt: skip
