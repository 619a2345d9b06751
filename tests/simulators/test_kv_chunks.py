"""Honest chunks say whose they are; their faults, by hand."""

from typing import Any

import pytest

from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.kv_chunks import OTHER, RowReader, honest_chunks
from simulators.payload import Payload
from simulators.rng import stream


def faulty(name: str, at: tuple[int, ...] = (1,)) -> Payload:
    """Return three chunks of heads 2 and 3 with one fault."""
    return FAULTS[name].change(honest_chunks(3, 2, 2), at, stream(0))


def read(chunk: dict[str, Any], heads: range = range(2, 4)) -> list[Origin | None]:
    """Return the origins of the first batch row of a chunk."""
    pairs = zip(chunk["key"][0].tolist(), chunk["value"][0].tolist(), strict=True)
    return RowReader(heads)([(0, *pair) for pair in pairs])


def test_every_row_says_whose_it_is_and_where_it_stands() -> None:
    """For all heads of a position together."""
    payload = honest_chunks(3, 2, 2)

    assert read(payload.records[2]) == [Origin(0, 8 + i) for i in range(4)]
    assert read(payload.foreign[0]) == [Origin(OTHER, i) for i in range(4)]
    assert read(payload.records[0], range(2)) == [None] * 4
    assert read(faulty("chunk-heads-swapped").records[1]) == [None] * 4
    assert read(faulty("chunk-value-swapped").records[1]) == [None] * 4


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("chunk-start-late", "start", 5),
        ("chunk-start-skipped", "start", 8),
        ("chunk-start-early", "start", 3),
        ("chunk-start-far", "start", 104),
        ("chunk-start-negative", "start", -8),
        ("chunk-start-text", "start", "4"),
        ("chunk-start-none", "start", None),
        ("chunk-head-unnamed", "head_start", None),
        ("chunk-head-past", "head_start", 3),
        ("chunk-recent-negative", "recent", -1),
        ("chunk-recent-zero", "recent", 0),
    ],
)
def test_what_is_told_of_a_chunk_changes_as_the_picture_says(
    name: str, field: str, expected: Any
) -> None:
    """And no other chunk."""
    payload = faulty(name)

    assert payload.records[1][field] == expected
    assert payload.records[2]["start"] == 8


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("chunk-doubled", [(2, 16, 2, 4)] * 2),
        ("chunk-one-token-less", [(2, 3, 2, 4)] * 2),
        ("chunk-empty", [(2, 0, 2, 4)] * 2),
        ("chunk-batch-one", [(1, 4, 2, 4)] * 2),
        ("chunk-batch-three", [(3, 4, 2, 4)] * 2),
        ("chunk-head-lost", [(2, 4, 1, 4)] * 2),
        ("chunk-wider", [(2, 4, 2, 8)] * 2),
        ("chunk-value-short", [(2, 4, 2, 4), (2, 3, 2, 4)]),
        ("chunk-value-one", [(2, 4, 2, 4), (2, 1, 2, 4)]),
    ],
)
def test_rows_change_as_the_picture_says(name: str, shapes: Any) -> None:
    """Keys and values."""
    chunk = faulty(name).records[1]

    assert [tuple(chunk["key"].shape), tuple(chunk["value"].shape)] == shapes


def test_a_cursor_is_told_beside_the_chunks() -> None:
    """The chunks themselves are honest."""
    assert faulty("cursor-ahead", ()).beside["cursor"] == (8, 8)
    assert faulty("cursor-beyond", ()).beside["cursor"] == (8, 20)
