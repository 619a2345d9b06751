"""Faults of items on their way to a prompt: of their rows, offsets and placeholders.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.payload import PLACEHOLDERS, PRECOMPUTED, Payload
from simulators.placeholder_rows import text_id


def _is_rows(rows: Any) -> bool:
    import torch

    return isinstance(rows, torch.Tensor) and rows.dim() == 2 and len(rows) > 0


def rows_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the rows of one item."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        if not _is_rows(item["rows"]):
            return payload
        return payload.with_record(at[0], {**item, "rows": edit(item["rows"])})

    return change


def all_rows_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the rows of every item."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        for index in range(len(payload.records)):
            payload = rows_become(edit)(payload, (index,), rng)
        return payload

    return change


def offsets_become(edit: Callable[[int, int], Any]) -> Change:
    """Return the fault that edits the offsets of one item, which has one run."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        if not isinstance(item["offsets"], list) or len(item["offsets"]) != 1:
            return payload
        if not isinstance(item["offsets"][0], tuple):
            return payload
        return payload.with_record(at[0], {**item, "offsets": edit(*item["offsets"][0])})

    return change


def placeholders_become(edit: Callable[[list[int]], tuple[list[int], list[int]]]) -> Change:
    """Return the fault that edits the placeholders of one item in its prompt.

    Args:
        edit: From the positions of the run, which become text, and which become placeholders.
    """

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        prompts = [list(prompt) for prompt in payload.beside["prompts"]]
        prompt = prompts[item["request"]]
        run = [place for place, token in enumerate(prompt) if token == item["pad"]]
        if not run:
            return payload
        lost, more = edit(run)
        for place in lost:
            prompt[place] = text_id(item["request"], place)
        for place in more:
            if 0 <= place < len(prompt):
                prompt[place] = item["pad"]
        return replace(payload, beside={**payload.beside, "prompts": tuple(map(tuple, prompts))})

    return change


def rows_moved(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, b = 4 5 6 -> a = 1 2, b = 3 4 5 6: the sum still fits"""
    import torch

    first, second = (payload.records[index]["rows"] for index in at)
    if not (_is_rows(first) and _is_rows(second)) or first.shape[1] != second.shape[1]:
        return payload
    changed = rows_become(lambda rows: rows[:-1])(payload, at[:1], rng)
    return rows_become(lambda rows: torch.cat((first[-1:], rows)))(changed, at[1:], rng)


def rows_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3, b = 4 5 6 -> a = 4 5 6, b = 1 2 3"""
    first, second = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], {**first, "rows": second["rows"]})
    return changed.with_record(at[1], {**second, "rows": first["rows"]})


def rows_of_another(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 3 -> a = x y z, of another batch"""
    item = payload.records[at[0]]
    return payload.with_record(at[0], {**item, "rows": payload.foreign[at[0]]["rows"]})


def offsets_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """a at 2 to 4, b at 7 to 9 -> a at 7 to 9, b at 2 to 4"""
    first, second = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], {**first, "offsets": second["offsets"]})
    return changed.with_record(at[1], {**second, "offsets": first["offsets"]})


def offsets_shared(payload: Payload, at: Place, rng: Random) -> Payload:
    """a at 2 to 4, b at 7 to 9 -> both at 2 to 4"""
    first, second = (payload.records[index] for index in at)
    return payload.with_record(at[1], {**second, "offsets": first["offsets"]})


def _more(rows: Any, count: int = 1, front: bool = False) -> Any:
    import torch

    return torch.cat((rows[:count], rows)) if front else torch.cat((rows, rows[-count:]))


def _without(rows: Any, index: int) -> Any:
    import torch

    return torch.cat((rows[:index], rows[index + 1 :]))


def _doubled(rows: Any) -> Any:
    changed = rows.clone()
    changed[-1] = changed[0]
    return changed


def _wider(rows: Any) -> Any:
    import torch

    return torch.cat((rows, rows), dim=1)


def _nan(rows: Any) -> Any:
    changed = rows.float().clone()
    changed[len(rows) // 2] = float("nan")
    return changed


_BOTH = (PLACEHOLDERS, PRECOMPUTED)


def _rows(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = rows_become(edit)
    return Fault(f"placed-{name}", kind, change, _BOTH, each, picture, scope="items")


def _all(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = all_rows_become(edit)
    return Fault(f"placed-{name}", kind, change, _BOTH, whole, picture, scope="body")


def _offsets(name: str, kind: str, edit: Callable[[int, int], Any], picture: str) -> Fault:
    change = offsets_become(edit)
    return Fault(f"offsets-{name}", kind, change, _BOTH, each, picture, scope="items")


def _marks(
    name: str, kind: str, edit: Callable[[list[int]], tuple[list[int], list[int]]], picture: str
) -> Fault:
    change, form = placeholders_become(edit), (PLACEHOLDERS,)
    return Fault(f"placeholder-{name}", kind, change, form, each, picture, scope="items")


_BEYOND = 1000

#: The rows of these faults in the table.
FAULTS = (
    _rows("first-lost", "omission", lambda rows: rows[1:], "a = 1 2 3 -> a = 2 3"),
    _rows("middle-lost", "omission", lambda rows: _without(rows, len(rows) // 2),
          "a = 1 2 3 -> a = 1 3"),
    _rows("last-lost", "omission", lambda rows: rows[:-1], "a = 1 2 3 -> a = 1 2"),
    _rows("two-lost", "truncation", lambda rows: rows[:-2], "a = 1 2 3 -> a = 1"),
    _rows("emptied", "truncation", lambda rows: rows[:0], "a = 1 2 3 -> a = nothing"),
    _rows("first-doubled", "duplication", lambda rows: _more(rows, front=True),
          "a = 1 2 3 -> a = 1 1 2 3"),
    _rows("last-doubled", "duplication", _more, "a = 1 2 3 -> a = 1 2 3 3"),
    _rows("two-more", "duplication", lambda rows: _more(rows, 2, front=True),
          "a = 1 2 3 -> a = 1 2 1 2 3"),
    _rows("one-for-another", "duplication", _doubled, "a = 1 2 3 -> a = 1 2 1"),
    _rows("reversed", "reordering", lambda rows: rows.flip(0), "a = 1 2 3 -> a = 3 2 1"),
    _rows("rotated", "reordering", lambda rows: rows.roll(1, 0), "a = 1 2 3 -> a = 3 1 2"),
    _rows("nan", "substitution", _nan, "a = 1 2 3 -> a = 1 NaN 3"),
    _rows("narrow", "truncation", lambda rows: rows[:, :-1], "(3, 8) -> (3, 7)"),
    _rows("wide", "skew", _wider, "(3, 8) -> (3, 16)"),
    _rows("transposed", "reordering", lambda rows: rows.T, "(3, 8) -> (8, 3)"),
    _rows("batched", "substitution", lambda rows: rows[None], "(3, 8) -> (1, 3, 8)"),
    _rows("separated", "substitution", lambda rows: rows[:, None], "(3, 8) -> (3, 1, 8)"),
    _rows("flat", "merge", lambda rows: rows.flatten(), "(3, 8) -> (24,)"),
    _rows("half", "substitution", lambda rows: rows.half(), "float32 -> float16"),
    _rows("double", "substitution", lambda rows: rows.double(), "float32 -> float64"),
    _rows("integers", "substitution", lambda rows: rows.long(), "float32 -> int64"),
    _rows("booleans", "substitution", lambda rows: rows.bool(), "float32 -> bool"),
    _rows("list", "substitution", lambda rows: rows.tolist(), "tensor -> lists"),
    _rows("numpy", "substitution", lambda rows: rows.numpy(), "tensor -> numpy array"),
    _all("all-narrow", "truncation", lambda rows: rows[:, :-1], "(3, 8) (4, 8) -> (3, 7) (4, 7)"),
    _all("all-wide", "skew", _wider, "(3, 8) (4, 8) -> (3, 16) (4, 16)"),
    _all("all-emptied", "truncation", lambda rows: rows[:0], "a = 1, b = 2 -> a, b = nothing"),
    _all("all-half", "substitution", lambda rows: rows.half(), "all float32 -> all float16"),
    Fault("placed-moved", "skew", rows_moved, _BOTH, ordered_pairs,
          "a = 1 2, b = 3 4 -> a = 1, b = 2 3 4", scope="items"),
    Fault("placed-swapped", "reordering", rows_swapped, _BOTH, pairs,
          "a = 1 2, b = 3 4 -> a = 3 4, b = 1 2", scope="items"),
    Fault("placed-of-another", "substitution", rows_of_another, _BOTH, each,
          "a = 1 2 3 -> a = x y z, of another batch", scope="items"),
    _offsets("later", "skew", lambda a, b: [(a + 1, b + 1)], "2 to 4 -> 3 to 5"),
    _offsets("earlier", "skew", lambda a, b: [(a - 1, b - 1)], "2 to 4 -> 1 to 3"),
    _offsets("longer", "skew", lambda a, b: [(a, b + 1)], "2 to 4 -> 2 to 5"),
    _offsets("longer-before", "skew", lambda a, b: [(a - 1, b)], "2 to 4 -> 1 to 4"),
    _offsets("shorter", "skew", lambda a, b: [(a, b - 1)], "2 to 4 -> 2 to 3"),
    _offsets("shorter-before", "skew", lambda a, b: [(a + 1, b)], "2 to 4 -> 3 to 4"),
    _offsets("half-open", "skew", lambda a, b: [(a, b + 1), (b + 2, b + 1)],
             "2 to 4 -> 2 to 5 and none"),
    _offsets("two-runs", "substitution", lambda a, b: [(a, a), (a + 1, b)],
             "2 to 4 -> 2 to 2, 3 to 4"),
    _offsets("reversed", "reordering", lambda a, b: [(b, a)], "2 to 4 -> 4 to 2"),
    _offsets("negative", "substitution", lambda a, b: [(a - _BEYOND, b - _BEYOND)],
             "2 to 4 -> -998 to -996"),
    _offsets("beyond", "substitution", lambda a, b: [(a + _BEYOND, b + _BEYOND)],
             "2 to 4 -> 1002 to 1004"),
    _offsets("none", "omission", lambda a, b: [], "2 to 4 -> nowhere"),
    _offsets("null", "omission", lambda a, b: None, "2 to 4 -> null"),
    _offsets("lists", "substitution", lambda a, b: [[a, b]], "(2, 4) -> [2, 4]"),
    _offsets("twice", "duplication", lambda a, b: [(a, b), (a, b)], "2 to 4 -> 2 to 4, 2 to 4"),
    Fault("offsets-swapped", "reordering", offsets_swapped, _BOTH, pairs,
          "a at 2, b at 7 -> a at 7, b at 2", scope="items"),
    Fault("offsets-shared", "duplication", offsets_shared, _BOTH, ordered_pairs,
          "a at 2, b at 7 -> a and b at 2", scope="items"),
    _marks("first-lost", "omission", lambda run: (run[:1], []), "t P P P t -> t t P P t"),
    _marks("middle-lost", "omission", lambda run: (run[1:2], []), "t P P P t -> t P t P t"),
    _marks("last-lost", "omission", lambda run: (run[-1:], []), "t P P P t -> t P P t t"),
    _marks("two-lost", "truncation", lambda run: (run[-2:], []), "t P P P t -> t P t t t"),
    _marks("all-lost", "truncation", lambda run: (run, []), "t P P P t -> t t t t t"),
    _marks("more-before", "skew", lambda run: ([], [run[0] - 1]), "t t P P t -> t P P P t"),
    _marks("more-behind", "skew", lambda run: ([], [run[-1] + 1]), "t P P t t -> t P P P t"),
    _marks("two-more", "skew", lambda run: ([], [run[-1] + 1, run[-1] + 2]),
           "t P P t t -> t P P P P"),
    _marks("later", "skew", lambda run: (run[:1], [run[-1] + 1]), "t P P t t -> t t P P t"),
)  # fmt: skip
