"""What a group did is the worst that one of its ranks did, and says what each did."""

import pytest

from harness.outcome import Ending, Outcome, Raised, Span, Whose
from harness.rank_outcome import together
from harness.ranks import RankEnd

STEP = "attend in block 0"
MINE, OTHERS = Whose("the sequence", 0), Whose("another", 0)
FRAMES = (("sglang/a.py", 3, "forward"), ("sglang/layers/usp.py", 9, "exchange"))


def accepted(rank: int, has: Whose | None = MINE) -> Outcome:
    """Return the outcome of a rank that returned four rows, the last two of some owner."""
    spans = (
        Span(f"rank {rank}", 0, 2, MINE, MINE, "rows"),
        Span(f"rank {rank}", 2, 2, MINE, has, "rows"),
    )
    return Outcome(Ending.ACCEPTED, spans=spans, facts={f"the form of rank {rank}": "3 x 4"})


def raised(error: str = "AssertionError", message: str = "4 rows, 3 told") -> Outcome:
    """Return the outcome of a rank that ended in an error."""
    return Outcome(Ending.RAISED, Raised(error, message, "upstream", FRAMES))


HUNG = Outcome(Ending.HUNG, death="hung in wait of usp.py", stack="usp.py:3 in wait")
CRASHED = Outcome(Ending.CRASHED, death="died by SIGABRT")


def group(*outcomes: Outcome | None) -> Outcome:
    """Return what a group did, of which each rank ended so."""
    ends = [
        RankEnd(rank, outcome, STEP if outcome is not None else "died, as it was told")
        for rank, outcome in enumerate(outcomes)
    ]
    return together(ends)


@pytest.mark.parametrize(
    ("outcomes", "ending"),
    [
        ((accepted(0), accepted(1)), Ending.ACCEPTED),
        ((accepted(0), raised()), Ending.RAISED),
        ((raised(), accepted(1)), Ending.RAISED),
        ((raised(), HUNG), Ending.HUNG),
        ((HUNG, accepted(1)), Ending.HUNG),
        ((HUNG, CRASHED), Ending.CRASHED),
        ((CRASHED, raised(), HUNG, accepted(3)), Ending.CRASHED),
        ((None, accepted(1)), Ending.ACCEPTED),
        ((HUNG, None), Ending.HUNG),
    ],
)
def test_the_worst_of_the_ranks_is_the_groups_ending(
    outcomes: tuple[Outcome | None, ...], ending: Ending
) -> None:
    """A death before a hang, a hang before an error, an error before an output."""
    assert group(*outcomes).ending is ending
    assert group(*outcomes[::-1]).ending is ending


def test_what_the_ranks_returned_is_joined() -> None:
    """Provenance in rank order, and every fact."""
    joined = group(accepted(0), accepted(1, OTHERS))

    assert joined.spans == (*accepted(0).spans, *accepted(1, OTHERS).spans)
    assert joined.facts == {"the form of rank 0": "3 x 4", "the form of rank 1": "3 x 4"}
    assert joined.raised is None


def test_the_error_of_a_group_is_its_first_ranks() -> None:
    """That of every rank is there for whoever asks."""
    first, second = raised("ValueError", "no splits"), raised("RuntimeError", "closed by peer")

    joined = group(accepted(0), first, second)

    assert joined.raised == first.raised
    assert joined.errors == ((1, first.raised), (2, second.raised))
    assert [rank.outcome for rank in joined.ranks] == [accepted(0), first, second]


@pytest.mark.parametrize(
    ("outcomes", "death"),
    [
        ((CRASHED, raised()), "a rank died by a signal"),
        ((CRASHED, CRASHED), "a rank died by a signal"),
        ((CRASHED, Outcome(Ending.CRASHED, death="died by SIGSEGV")), "a rank died by a signal"),
        (
            (raised(), Outcome(Ending.CRASHED, death="exited with code 7")),
            "a rank exited with code 7",
        ),
        ((accepted(0), HUNG), "a rank hung in wait of usp.py"),
    ],
)
def test_a_death_is_told_the_same_whichever_rank_it_is(
    outcomes: tuple[Outcome, ...], death: str
) -> None:
    """Which of several a group loses first is chance."""
    assert group(*outcomes).death == group(*outcomes[::-1]).death == death


def test_a_hung_group_has_the_stack_of_each_rank_that_hung() -> None:
    """One after the other."""
    other = Outcome(Ending.HUNG, death="hung in gather of d.py", stack="d.py:7 in gather")

    assert group(HUNG, raised(), other).stack == "usp.py:3 in wait\n\nd.py:7 in gather"


def test_what_cannot_be_judged_on_one_rank_cannot_be_in_the_group() -> None:
    """Said once, though two ranks say it."""
    unsure = Outcome(Ending.RAISED, unsure=("a stub was reached",))

    assert group(accepted(0), unsure, unsure).unsure == ("a stub was reached",)
    assert group(CRASHED, unsure).unsure == ("a stub was reached",)
    assert group(unsure, unsure).ending is Ending.RAISED


def test_each_rank_has_a_line() -> None:
    """What it did, where, and what it was about to do where it did not come to an end."""
    unsure = Outcome(Ending.RAISED, unsure=("a stub was reached",))
    bare = Outcome(Ending.RAISED, Raised("RuntimeError", "closed by peer", "torch"))
    joined = group(
        accepted(0), accepted(1, OTHERS), raised(), bare, HUNG, CRASHED, unsure, accepted(7, None),
        None,
    )  # fmt: skip

    assert [rank.rank for rank in joined.ranks] == list(range(9))
    assert [rank.said for rank in joined.ranks] == [
        "rank 0: returned",
        "rank 1: returned, 2 of 4 rows wrong",
        "rank 2: raised AssertionError in exchange of usp.py: 4 rows, 3 told, "
        f"when it was about to {STEP}",
        f"rank 3: raised RuntimeError: closed by peer, when it was about to {STEP}",
        f"rank 4: hung in wait of usp.py, when it was about to {STEP}",
        f"rank 5: died by SIGABRT, when it was about to {STEP}",
        f"rank 6: cannot be judged, when it was about to {STEP}",
        "rank 7: returned, 2 of 4 rows wrong",
        "rank 8: died, as it was told",
    ]


def test_a_group_in_which_no_rank_does_its_part_cannot_be_judged() -> None:
    """All were told to be gone: nothing of upstream has run."""
    joined = group(None, None)

    assert joined.unsure == ("no rank was left to do its part",)
    assert [rank.said for rank in joined.ranks] == [
        "rank 0: died, as it was told",
        "rank 1: died, as it was told",
    ]
