"""The oracle on a group of ranks, and on a guard that was taken for unreachable."""

from dataclasses import replace

import pytest

from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span as Releases
from contracts.source import Source
from harness.oracle import Judgement, Where, judge
from harness.outcome import Ending, Outcome, Raised, RankOutcome
from harness.verdict import Promise, Verdict

SINCE = Releases("0.5.18")
GUARD = Guard(
    "AssertionError", "rows ({rows}) must equal split ({split})", SINCE, Source("", "", "")
)
GUARDED = Clause("split-true", "", (GUARD,))
COUNT = Clause("splits-count", "", (replace(GUARD, text="must have {ranks}, got {splits}"),))
ASSUMED = Clause("refused-together", "", incidental=("RuntimeError",))
DEAD = Clause("cache-given", "", (replace(GUARD, text="needs a cache", unreachable="no way"),))
WHERE = Where("0.5.23")
ACCEPTED = Outcome(Ending.ACCEPTED)
LOST = Outcome(Ending.RAISED, Raised("RuntimeError", "closed by peer", "torch"))


def untrue(rank: int | None, rows: int, split: int = 9) -> Violation:
    """Return that a rank's split is not its rows."""
    fields = {"rows": rows, "split": split}
    return Violation(GUARDED, "splits", "", "", fields, rank=rank)


def says(rows: int, split: int = 9, error: str = "AssertionError") -> Outcome:
    """Return the outcome of a rank that refuses its split with these numbers."""
    message = f"x: rows ({rows}) must equal split ({split})"
    return Outcome(Ending.RAISED, Raised(error, message, "upstream"))


def judged(violations: list[Violation], *ranks: Outcome, where: Where = WHERE) -> Judgement:
    """Return the verdict on a group of which each rank ended so."""
    first = next((one.raised for one in ranks if one.raised is not None), None)
    ending = Ending.RAISED if first is not None else Ending.ACCEPTED
    each = tuple(RankOutcome(rank, one, "") for rank, one in enumerate(ranks))
    return judge(violations, Outcome(ending, first, ranks=each), ACCEPTED, where)


BOTH = [untrue(0, 5), untrue(1, 3)]


def test_a_group_refuses_when_each_rank_says_its_own_truth() -> None:
    """The numbers of one rank are not those of another."""
    assert judged(BOTH, says(5), says(3)) == Judgement(Verdict.REFUSED, Promise.KEPT)


def test_a_refusal_that_all_ranks_share_is_said_by_each() -> None:
    """What no rank in particular meets, all do."""
    shared = [untrue(None, 8)]

    assert judged(shared, says(8), says(8)).verdict is Verdict.REFUSED
    assert judged(shared, says(8), says(3)).verdict is Verdict.MISREPORTED


@pytest.mark.parametrize(
    ("ranks", "detail"),
    [
        ((says(5), says(5)), "rank 1: false numbers: the truth is "
         "'rows (3) must equal split (9)'"),
        ((says(3), says(5)), "rank 0: false numbers: the truth is "
         "'rows (5) must equal split (9)'"),
        ((says(5), says(33)), "rank 1: false numbers: the truth is "
         "'rows (3) must equal split (9)'"),
        ((says(5), says(3, error="ValueError")), "rank 1: split-true documents AssertionError: "
         "'rows (3) must equal split (9)'"),
        ((LOST, says(3)), "rank 0: split-true documents AssertionError: "
         "'rows (5) must equal split (9)'"),
        ((says(5), ACCEPTED), "not refused on rank 1"),
        ((ACCEPTED, says(3)), "not refused on rank 0"),
    ],
)  # fmt: skip
def test_one_rank_that_does_not_say_its_truth_breaks_the_groups_promise(
    ranks: tuple[Outcome, ...], detail: str
) -> None:
    """Another rank's number, another error, or none at all; the rank is named."""
    assert judged(BOTH, *ranks) == Judgement(Verdict.MISREPORTED, Promise.BROKEN, detail)


def test_every_rank_that_accepted_is_named() -> None:
    """In rank order."""
    ends = (ACCEPTED, says(5), ACCEPTED)

    assert judged([untrue(None, 5)], *ends).detail == "not refused on rank 0, 2"


def test_each_rank_is_held_to_the_first_refusal_that_it_meets_itself() -> None:
    """One counts the splits and the other looks at its own: two guards, both true."""
    count = Violation(COUNT, "splits", "", "", {"ranks": 2, "splits": 3}, rank=0)
    said = Outcome(Ending.RAISED, Raised("AssertionError", "must have 2, got 3", "upstream"))
    both = [count, untrue(1, 3)]

    assert judged(both, said, says(3)) == Judgement(Verdict.REFUSED, Promise.KEPT)
    assert judged(both, says(3), said).verdict is Verdict.MISREPORTED


@pytest.mark.parametrize("ranks", [(says(5), LOST), (LOST, says(3)), (says(5), says(3))])
def test_what_is_broken_between_the_ranks_decides_before_any_guard(
    ranks: tuple[Outcome, ...],
) -> None:
    """No guard was promised: the error is an accident at best, and open."""
    apart = Violation(ASSUMED, "ranks", "", "")

    judgement = judged([apart, *BOTH], *ranks)

    assert (judgement.verdict, judgement.promise) == (Verdict.MISREPORTED, Promise.OPEN)


def test_ranks_that_refuse_what_breaks_nothing_raise_a_false_alarm() -> None:
    """However alike their words are."""
    judgement = judged([], says(5), says(5))

    assert (judgement.verdict, judgement.promise) == (Verdict.FALSE_ALARM, Promise.BROKEN)


def test_before_its_guard_a_groups_refusal_is_none() -> None:
    """The release decides, as it does without ranks."""
    judgement = judged(BOTH, says(5), says(3), where=Where("0.5.17"))

    assert judgement.promise is Promise.OPEN


CACHE = Violation(DEAD, "cache", "a cache", "none")
ALIVE = Outcome(Ending.RAISED, Raised("AssertionError", "it needs a cache now", "upstream"))


@pytest.mark.parametrize("ranks", [(), (ALIVE, ALIVE)], ids=["alone", "in a group"])
def test_a_dead_guard_that_comes_alive_is_refused_and_kept(ranks: tuple[Outcome, ...]) -> None:
    """Upstream keeps more than it promised, and the words say so."""
    judgement = judged([CACHE], *ranks) if ranks else judge([CACHE], ALIVE, ACCEPTED, WHERE)

    assert judgement == Judgement(
        Verdict.REFUSED,
        Promise.KEPT,
        "by a guard that no call could reach when it was read",
    )


@pytest.mark.parametrize(
    ("violations", "ranks", "verdict", "promise"),
    [
        # Dead as it is, it promises nothing.
        ([CACHE], (ACCEPTED, ACCEPTED), Verdict.TOLERATED, Promise.KEPT),
        ([CACHE], (Outcome(Ending.RAISED, Raised("TypeError", "x", "")),) * 2,
         Verdict.MISREPORTED, Promise.OPEN),
        ([CACHE], (Outcome(Ending.RAISED, Raised("ValueError", "it needs a cache", "")),) * 2,
         Verdict.MISREPORTED, Promise.OPEN),
        # Alive on one rank only, the other is lost.
        ([CACHE], (ALIVE, LOST), Verdict.MISREPORTED, Promise.OPEN),
        # It was not broken.
        ([], (ALIVE, ALIVE), Verdict.FALSE_ALARM, Promise.BROKEN),
        (BOTH, (ALIVE, ALIVE), Verdict.MISREPORTED, Promise.BROKEN),
    ],
)  # fmt: skip
def test_no_other_error_passes_for_a_dead_guards(
    violations: list[Violation],
    ranks: tuple[Outcome, ...],
    verdict: Verdict,
    promise: Promise,
) -> None:
    """Its type, its words, its clause, and on every rank that raised."""
    judgement = judged(violations, *ranks)

    assert (judgement.verdict, judgement.promise) == (verdict, promise)


def test_a_dead_guard_of_a_later_release_is_not_there() -> None:
    """Its words are then no one's."""
    assert judge([CACHE], ALIVE, ACCEPTED, Where("0.5.17")).verdict is Verdict.MISREPORTED
    assert DEAD.guard("0.5.23") is None
    assert DEAD.dead_guard("0.5.23") is DEAD.guards[0]
    assert DEAD.dead_guard("0.5.17") is None
