"""Stretches say the same of many rows as rows one by one."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from harness.outcome import NOTHING, Span, Whose
from harness.stretches import Stretch, spans_between, stretched

PLACE = "an output"


def one_by_one(
    wants: Sequence[Whose], has: Sequence[Whose | None]
) -> list[tuple[int, Whose, Whose | None]]:
    """Return each row's place, whose it should be, and whose it is."""
    padded = [*has, *[NOTHING] * len(wants)]
    return [(index, want, padded[index]) for index, want in enumerate(wants)]


def unrolled(spans: Sequence[Span]) -> list[tuple[int, Whose, Whose | None]]:
    """Return what some spans say of each row."""
    rows: list[tuple[int, Whose, Whose | None]] = []
    for span in spans:
        wants, has = Stretch(span.wants, span.count), Stretch(span.has, span.count)
        for row in range(span.count):
            want = wants.after(row).whose
            assert want is not None
            rows.append((span.first + row, want, has.after(row).whose))
    return rows


def some_rows(rng: Random, owners: Sequence[Whose | None]) -> list[Whose | None]:
    """Return a few runs of rows of some owners."""
    rows: list[Whose | None] = []
    for _ in range(rng.randrange(6)):
        owner = rng.choice(owners)
        for row in range(rng.randrange(1, 4)):
            known = owner is not None and owner != NOTHING
            rows.append(Whose(owner.owner, owner.position + row) if known and owner else owner)
    return rows


@pytest.mark.parametrize("seed", range(200))
def test_spans_say_of_each_row_what_was_told_of_it(seed: int) -> None:
    """Whatever runs the rows make, and however many are lacking."""
    rng = Random(seed)
    known = [Whose(owner, first) for owner in "ab" for first in (0, 1, 3)]
    wants = [want for want in some_rows(rng, known) if want is not None]
    has = some_rows(rng, [*known, None, NOTHING])

    spans = spans_between(PLACE, stretched(wants), stretched(has), "rows")

    assert unrolled(spans) == one_by_one(wants, has)
    # Neighbours that could be one span are one.
    for left, right in pairwise(spans):
        goes_on = Stretch(left.wants, left.count).continues(right.wants)
        assert not (goes_on and Stretch(left.has, left.count).continues(right.has))


def test_a_million_rows_are_one_stretch() -> None:
    """And one span."""
    rows = [Stretch(Whose("a", 0), 1_000_000)]

    assert spans_between(PLACE, rows, rows, "rows") == (
        Span(PLACE, 0, 1_000_000, Whose("a", 0), Whose("a", 0), "rows"),
    )
