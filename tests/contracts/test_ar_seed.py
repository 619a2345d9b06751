"""The contract of ar-seed, alone: seeds written by hand."""

from typing import Any

import pytest

from contracts import Origin, ar_seed, ending
from contracts.contract import Answer

SEEDS = [70, 90, 110]


def owner_of(seeds: list[Any]) -> list[Origin | None]:
    """Read the owner of 70, 90 and 110 from the number."""
    return [Origin(SEEDS.index(s), 0) if s in SEEDS else None for s in seeds]


def broken(seed: Any, outputs: int = 3, seeded: bool = True) -> dict[str, Any]:
    """Return the violations of a seed, by clause."""
    request = {"outputs": outputs, "seeded": seeded}
    return {v.clause.name: v for v in ar_seed.check(seed, request, owner_of)}


def test_honest_seeds_break_nothing() -> None:
    """One for each output, one that stands for all, or none where none was wanted."""
    assert broken(SEEDS) == {}
    assert broken(70, outputs=1) == {}
    assert broken(None, seeded=False) == {}


@pytest.mark.parametrize(
    ("seed", "clauses", "accident"),
    [
        (None, {"seed-given"}, ()),
        ([], {"seed-given", "seeds-count"}, ()),
        ([70, None, 110], {"seeds-integers"}, ("TypeError",)),
        ([70, "nine", 110], {"seeds-integers"}, ("ValueError",)),
        ([70, [90], 110], {"seeds-integers"}, ("TypeError",)),
        ([70, "90", 110], {"seeds-integers"}, ()),
        ([70, 90.5, 110], {"seeds-integers"}, ()),
        ([70, True, 110], {"seeds-integers"}, ()),
        ({"0": 70}, {"seeds-integers"}, ("TypeError",)),
        ([70, 90], {"seeds-count"}, ()),
        ([70, 90, 110, 130], {"seeds-count"}, ()),
        ([70, -90, 110], {"seeds-range", "seed-identity"}, ()),
        ([70, 2**63, 110], {"seeds-range", "seed-identity"}, ("HTTPError",)),
        ([70, 70, 110], {"seeds-distinct", "seed-identity"}, ()),
        ([90, 70, 110], {"seed-identity"}, ()),
        (70, {"seed-identity"}, ()),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(
    seed: Any, clauses: set[str], accident: tuple[str, ...]
) -> None:
    """Nothing else is said to be broken, and the accident is the one that follows."""
    violations = broken(seed)

    assert set(violations) == clauses
    stop = ending(list(violations.values()), "0.5.23")
    assert (() if stop is None else stop.accident("0.5.23")) == accident


def test_the_first_seed_that_cannot_be_read_decides_how_the_call_ends() -> None:
    """What is read without an error before it does not."""
    violation = broken([True, "nine", None])["seeds-integers"]

    assert violation.where == "$[0]"
    assert violation.accident("0.5.23") == ("ValueError",)


def test_what_64_bits_cannot_hold_was_sent_on_once() -> None:
    """Until the server looked at the seed, nothing stopped it."""
    violation = broken([70, 2**63, 110])["seeds-range"]

    assert ending([violation], "0.5.20") is None
    assert ending([violation], "0.5.21") is violation


def test_seeds_behind_the_last_output_are_not_read() -> None:
    """One too many may be anything."""
    assert set(broken([*SEEDS, "nine"])) == {"seeds-count"}


def test_a_number_stands_for_itself_and_those_behind_it() -> None:
    """A list for itself, and null for nothing."""
    assert ar_seed.due(7, 3) == [7, 8, 9]
    assert ar_seed.due([7, 5], 3) == [7, 5]
    assert ar_seed.due([7, 5], 1) == [7]
    assert ar_seed.due(None, 3) == []


def test_without_a_reader_identity_is_unchecked() -> None:
    """Whose seeds they are cannot be told from numbers alone."""
    answers = ar_seed.answers(SEEDS[::-1], {"outputs": 3, "seeded": True})

    assert answers["seed-identity"] is Answer.UNCHECKED
    assert answers["seeds-count"] is Answer.HELD
