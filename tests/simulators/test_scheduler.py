"""The scheduler tells every rank the same truth, unless a fault makes it lie to some."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream
from simulators.scheduler import (
    AWAY,
    DIES,
    MISSING,
    Told,
    even_splits,
    honest_batch,
    told_ranks,
)

ROWS = (5, 3)
HONEST = honest_batch(ROWS, 12)
EVERY = range(2)


def lied(name: str, at: tuple[int, ...] = (), batch: Payload = HONEST) -> Payload:
    """Return a batch with one fault."""
    return FAULTS[name].change(batch, at, stream(0))


def splits(told: list[Told]) -> list[Any]:
    """Return the splits that each rank is told."""
    return [one.splits for one in told]


@pytest.mark.parametrize(
    ("rows", "ranks", "expected"),
    [
        (8, 2, [4, 4]),
        (9, 2, [5, 4]),
        (8, 3, [3, 3, 2]),
        (9, 4, [3, 2, 2, 2]),
        (7, 4, [2, 2, 2, 1]),
        (2, 4, [1, 1, 0, 0]),
        (0, 2, [0, 0]),
        (5, 1, [5]),
    ],
)
def test_even_splits_by_hand(rows: int, ranks: int, expected: list[int]) -> None:
    """The first ranks hold what is left over."""
    assert even_splits(rows, ranks) == expected


@given(rows=st.integers(0, 10_000), ranks=st.integers(1, 64))
def test_even_splits_hold_every_row_once_and_as_evenly_as_can_be(rows: int, ranks: int) -> None:
    """No two differ by more than one, and none is more than one before it."""
    made = even_splits(rows, ranks)

    assert sum(made) == rows
    assert len(made) == ranks
    assert max(made) - min(made) <= 1
    assert made == sorted(made, reverse=True)


def test_every_rank_is_told_the_truth_where_nothing_is_wrong() -> None:
    """Each holds its own run of the sequence; all else is the same for all."""
    told = told_ranks(HONEST, HONEST, EVERY)
    common = {
        "batch": True,
        "enabled": True,
        "splits": (5, 3),
        "heads": 12,
        "cache": True,
        "strategy": "ulysses",
        "fate": "",
        "form": "",
    }

    assert [asdict(one) for one in told] == [
        {**common, "rows": 5, "first": 0},
        {**common, "rows": 3, "first": 5},
    ]


def test_the_rows_of_the_ranks_are_the_whole_sequence() -> None:
    """One after the other, in rank order."""
    batch = honest_batch((3, 2, 0, 2), 4, "ring")

    told = told_ranks(batch, batch, range(4))

    assert [token for one in told for token in range(one.first, one.first + one.rows)] == [
        *range(7)
    ]
    assert {one.strategy for one in told} == {"ring"}


@pytest.mark.parametrize(
    ("liars", "expected"),
    [
        ([0, 1], [(5, 2), (5, 2)]),
        ([0], [(5, 2), (5, 3)]),
        ([1], [(5, 3), (5, 2)]),
        ([], [(5, 3), (5, 3)]),
    ],
)
def test_only_liars_hear_the_lie(liars: list[int], expected: list[tuple[int, int]]) -> None:
    """The others are told the truth, and every rank holds what it held."""
    told = told_ranks(HONEST, lied("split-one-less", (1,)), liars)

    assert splits(told) == expected
    assert [one.rows for one in told] == [5, 3]


@pytest.mark.parametrize(
    ("name", "field", "lie", "truth"),
    [
        ("flag-lost", "enabled", False, True),
        ("flag-none", "enabled", None, True),
        ("batch-none", "batch", False, True),
        ("cache-none", "cache", False, True),
        ("row-heads-more", "heads", 13, 12),
        ("strategy-unknown", "strategy", "megatron", "ulysses"),
        ("exchange-half", "form", "half", ""),
        ("splits-list", "splits", [5, 3], (5, 3)),
        ("splits-number", "splits", 8, (5, 3)),
    ],
)
def test_a_lie_beside_the_splits_is_told_to_the_liar_alone(
    name: str, field: str, lie: Any, truth: Any
) -> None:
    """And nothing else that the liar is told changes."""
    told = told_ranks(HONEST, lied(name), [1])
    honest = told_ranks(HONEST, HONEST, EVERY)

    assert [getattr(one, field) for one in told] == [truth, lie]
    assert told[0] == honest[0]
    assert replace(told[1], **{field: truth}) == honest[1]


def test_splits_that_are_left_out_are_no_field_at_all() -> None:
    """Which is something else than none."""
    assert splits(told_ranks(HONEST, lied("splits-omitted"), [0])) == [MISSING, (5, 3)]
    assert splits(told_ranks(HONEST, lied("body-null"), [0])) == [None, (5, 3)]


@pytest.mark.parametrize("liars", [[0, 1], [0], [1]])
def test_what_the_ranks_hold_is_no_lie(liars: list[int]) -> None:
    """Uneven shards are held, and truly told, whoever hears of them."""
    even = honest_batch((4, 4), 12)

    told = told_ranks(even, lied("shards-uneven", (), even), liars)

    assert [(one.first, one.rows) for one in told] == [(0, 5), (5, 3)]
    assert splits(told) == [(5, 3), (5, 3)]


@pytest.mark.parametrize(("name", "fate"), [("rank-away", AWAY), ("rank-dies", DIES)])
@pytest.mark.parametrize("liars", [[0, 1], [0], [1]])
def test_a_fate_is_one_ranks_whoever_is_told_the_lie(
    name: str, fate: str, liars: list[int]
) -> None:
    """It is what the rank does, not what it hears."""
    told = told_ranks(HONEST, lied(name, (1,)), liars)

    assert [one.fate for one in told] == ["", fate]


def test_the_batch_before_was_longer() -> None:
    """Its splits are those of no rank in this one."""
    assert HONEST.foreign == (7, 5)
    assert lied("splits-stale").records == (7, 5)
