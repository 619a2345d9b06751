"""Faults of image data: the grids are not there, not in their form, or not of their size.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.grid_rows import grids_of
from simulators.payload import GRIDS, Payload

_KEY = "image_grid_thw"


def images_become(edit: Callable[[list[Any]], Any]) -> Change:
    """Return the fault that makes other image data of the rows."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(grids_of(payload)))

    return change


def grids_become(edit: Callable[[list[Any]], Any]) -> Change:
    """Return the fault that puts something else in the place of the rows."""
    return images_become(lambda rows: [{_KEY: edit(rows)}])


def size_becomes(edit: Callable[[int, int, int], tuple[Any, ...]]) -> Change:
    """Return the fault that changes one row: its frames, rows and columns."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        row = payload.records[at[0]]
        if not isinstance(row, tuple) or len(row) != 3:
            return payload
        return payload.with_record(at[0], edit(*row))

    return change


def grids_foreign_behind(payload: Payload, at: Place, rng: Random) -> Payload:
    """[{grids}] -> [{grids}, {grids of another request}]"""
    other = [list(row) for row in payload.foreign]
    return payload.with_body([{_KEY: grids_of(payload)}, {_KEY: other}])


def grids_foreign_before(payload: Payload, at: Place, rng: Random) -> Payload:
    """[{grids}] -> [{grids of another request}, {grids}]"""
    other = [list(row) for row in payload.foreign]
    return payload.with_body([{_KEY: other}, {_KEY: grids_of(payload)}])


def flat(rows: list[Any]) -> list[Any]:
    """[[1 2 3] [1 4 5]] -> [1 2 3 1 4 5]"""
    return [size for row in rows for size in row]


def two_columns(rows: list[Any]) -> list[Any]:
    """[[1 2 3] [1 4 5]] -> [[2 3] [4 5]]"""
    return [row[1:] for row in rows]


def ragged(rows: list[Any]) -> list[Any]:
    """[[1 2 3] [1 4 5]] -> [[1 2 3] [4 5]]"""
    return [*rows[:-1], *(row[1:] for row in rows[-1:])]


def digits(rows: list[Any]) -> list[Any]:
    """[[1 2 3]] -> [["1" "2" "3"]]"""
    return [[str(size) for size in row] for row in rows]


def tuples(rows: list[Any]) -> tuple[Any, ...]:
    """[[1 2 3]] -> ((1 2 3))"""
    return tuple(tuple(row) for row in rows)


def _body(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (GRIDS,), whole, picture, scope="body")


def _size(name: str, kind: str, edit: Callable[[int, int, int], Any], picture: str) -> Fault:
    return Fault(name, kind, size_becomes(edit), (GRIDS,), each, picture, scope="items")


FAULTS = (
    _body("images-none", "omission", images_become(lambda rows: []), "[{grids}] -> []"),
    _body("images-url", "substitution", images_become(lambda rows: ["http://host/a.png"]),
          '[{grids}] -> ["http://host/a.png"]'),
    _body("images-number", "substitution", images_become(len), "[{grids}] -> 2"),
    _body("images-foreign-behind", "substitution", grids_foreign_behind,
          "[{grids}] -> [{grids}, {another request's}]"),
    _body("images-foreign-before", "substitution", grids_foreign_before,
          "[{grids}] -> [{another request's}, {grids}]"),
    _body("grids-missing", "omission", images_become(lambda rows: [{}]), "[{grids}] -> [{}]"),
    _body("grids-null", "substitution", grids_become(lambda rows: None),
          "{grids [..]} -> {grids null}"),
    _body("grids-text", "substitution", grids_become(lambda rows: "1x2x3"),
          '{grids [..]} -> {grids "1x2x3"}'),
    _body("grids-number", "substitution", grids_become(len), "{grids [..]} -> {grids 2}"),
    _body("grids-tuples", "substitution", grids_become(tuples), "[[1 2 3]] -> ((1 2 3))"),
    _body("grids-flat", "merge", grids_become(flat), "[[1 2 3] [1 4 5]] -> [1 2 3 1 4 5]"),
    _body("grids-nested", "substitution", grids_become(lambda rows: [rows]),
          "[[1 2 3]] -> [[[1 2 3]]]"),
    _body("grids-two-columns", "truncation", grids_become(two_columns),
          "[[1 2 3] [1 4 5]] -> [[2 3] [4 5]]"),
    _body("grids-ragged", "truncation", grids_become(ragged),
          "[[1 2 3] [1 4 5]] -> [[1 2 3] [4 5]]"),
    _body("grids-digits", "substitution", grids_become(digits), '[[1 2 3]] -> [["1" "2" "3"]]'),
    _size("grid-transposed", "reordering", lambda f, h, w: (f, w, h), "1 2 3 -> 1 3 2"),
    _size("grid-larger", "skew", lambda f, h, w: (f, h + 1, w), "1 2 3 -> 1 3 3"),
    _size("grid-compensated", "skew", lambda f, h, w: (f, 1, h * w), "1 2 3 -> 1 1 6"),
    _size("grid-frames", "skew", lambda f, h, w: (f + 1, h, w), "1 2 3 -> 2 2 3"),
    _size("grid-zero", "substitution", lambda f, h, w: (f, 0, w), "1 2 3 -> 1 0 3"),
    _size("grid-negative", "substitution", lambda f, h, w: (f, -h, w), "1 2 3 -> 1 -2 3"),
    _size("grid-float", "substitution", lambda f, h, w: (f, float(h), w), "1 2 3 -> 1 2.0 3"),
    _size("grid-fraction", "substitution", lambda f, h, w: (f, h - 0.5, w), "1 2 3 -> 1 1.5 3"),
)  # fmt: skip
