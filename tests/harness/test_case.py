"""Case lines: what they say, and what is told where they cannot be understood."""

import pytest

from harness.case import Case, Step, parse
from harness.errors import UsageError


def test_a_line_names_all_of_a_case() -> None:
    """Dimensions that are left out have their default."""
    case = parse("ar-batch reordering records=3 shape=64x96 at=0,2 seed=7")

    assert case == Case(
        "ar-batch",
        (Step("reordering", (0, 2)),),
        (
            ("records", "3"),
            ("shape", "64x96"),
            ("entry", "grouped"),
            ("outputs", "1"),
            ("seeds", "int"),
        ),
        7,
    )
    assert case.line == "ar-batch reordering records=3 shape=64x96 at=0,2 seed=7"
    assert case.golden.line == "ar-batch noop records=3 shape=64x96"


def test_who_hears_a_lie_is_nothing_to_a_golden_run() -> None:
    """All cases of one size, whoever is lied to and whatever follows, have one golden run."""
    case = parse("shard-splits split-one-less rows=5,3 heads=8 told=1 after=stays at=1")

    assert case.line == "shard-splits split-one-less rows=5,3 heads=8 told=1 after=stays at=1"
    assert case.golden == parse("shard-splits noop rows=5,3 heads=8")
    assert case.golden.line == "shard-splits noop rows=5,3 heads=8"


def test_the_order_of_the_words_does_not_matter() -> None:
    """The line that is printed is always the same."""
    assert parse("ar-batch omission at=1 shape=64x96 records=2") == parse(
        "ar-batch omission records=2 shape=64x96 at=1"
    )


def test_a_place_that_is_left_out_is_the_first() -> None:
    """So that a line can be typed by hand."""
    assert parse("ar-batch omission records=2 shape=64x96").steps == (Step("omission", (0,)),)


def test_faults_can_follow_one_another() -> None:
    """Each with its place, in order."""
    case = parse("ar-batch item-null+ids-short records=2 shape=64x96 at=0;1")

    assert case.steps == (Step("item-null", (0,)), Step("ids-short", (1,)))
    assert case.line.endswith("at=0;1")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "too short"),
        ("ar-batch", "too short"),
        ("ar-bach noop", "did you mean ar-batch"),
        ("ar-batch omision records=2 shape=64x96", "did you mean omission"),
        ("ar-batch rows-wide records=2 shape=64x96", "no meaning for ar-batch"),
        ("ar-batch noop record=2 shape=64x96", "did you mean records"),
        ("ar-batch noop records=2", "shape= is missing"),
        ("ar-batch noop records=two shape=64x96", "a count of records"),
        ("ar-batch noop records=0 shape=64x96", "a count of records"),
        ("ar-batch noop records=65 shape=64x96", "a count of records"),
        ("ar-batch noop records=2 shape=65x96", "multiples of 32"),
        ("ar-batch noop records=2 shape=64", "multiples of 32"),
        ("ar-batch noop records=2 shape=64x96 entry=x", "grouped, batch or forward"),
        ("ar-batch noop records=3 shape=64x96 outputs=2", "does not divide"),
        ("ar-batch noop records=1 shape=64x96", "two prompts or more"),
        ("ar-batch noop records=4 shape=64x96 entry=forward outputs=2", "are equal"),
        ("ar-batch omission records=2 shape=64x96 at=2", "places: 0, 1"),
        ("ar-batch omission records=2 shape=64x96 at=x", "no list of record numbers"),
        ("ar-batch omission records=2 shape=64x96 at=0;1", "2 places for 1 faults"),
        ("ar-batch reordering records=1 shape=64x96 entry=batch", "places: none"),
        ("ar-batch omission records=2 shape=64x96 seed=x", "no whole number"),
        ("shard-splits noop rows=5", "rows of each rank"),
        ("shard-splits noop rows=0,0", "rows of each rank"),
        ("shard-splits noop rows=30,3", "at most 32"),
        ("shard-splits noop rows=5,3 heads=13", "cannot be divided by 2 ranks"),
        ("shard-splits omission rows=5,3 told=2", "told=2 is no rank of 2"),
        ("shard-splits omission rows=5,3 after=dies", "leaves or stays"),
        ("shard-splits rank-away rows=5,3 at=2", "places: 0, 1"),
        ("shard-strategy noop rows=5,3 strategy=ring", "all ranks hold as many"),
        ("shard-all-to-all noop rows=5,3 entry=fixed-in", "takes no splits"),
        ("ar-batch omission records=2 shape", "no key=value"),
        ("ar-batch omission records=2 records=3 shape=64x96", "records= stands twice"),
    ],
)
def test_what_cannot_be_understood_is_named(line: str, told: str) -> None:
    """With what there is instead."""
    with pytest.raises(UsageError) as error:
        parse(line)

    assert told in str(error.value)
