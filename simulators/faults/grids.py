"""Faults of image data: the grids are not there, not in their form, or not of their size."""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Place
from simulators.grid_rows import grids_of
from simulators.payload import Payload

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
