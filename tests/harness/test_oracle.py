"""The oracle: from what was broken and what came out to a verdict, and nothing else."""

from dataclasses import replace

import pytest

from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span as Releases
from contracts.source import Source
from harness.oracle import Where, judge
from harness.outcome import NOTHING, Ending, Outcome, Raised, Span, Whose
from harness.verdict import Promise, Verdict

GUARD = Guard(
    "ValueError", "expected {expected} rows, got {got}", Releases("0.5.18"), Source("", "", "")
)
GUARDED = Clause("guarded", "", (GUARD,))
ASSUMED = Clause("assumed", "")
ACCIDENT = Clause("accident", "", incidental=("TypeError",))
WHERE = Where("0.5.23")


def broken(clause: Clause) -> Violation:
    """Return a violation of a clause: 3 rows expected, 2 there."""
    return Violation(clause, "$", "3", "2", {"expected": 3, "got": 2})


def raised(error: str, message: str) -> Outcome:
    """Return an outcome that ended in an error."""
    return Outcome(Ending.RAISED, Raised(error, message, "upstream"))


def accepted(*has: Whose | None, usage: str = "7") -> Outcome:
    """Return an accepted outcome: one output a token, each wanted from its own prompt."""
    spans = tuple(
        Span(f"output {i}", 0, 1, Whose(f"prompt {i}", 5), whose) for i, whose in enumerate(has)
    )
    return Outcome(Ending.ACCEPTED, spans=spans, facts={"usage": usage})


RIGHT = accepted(Whose("prompt 0", 5), Whose("prompt 1", 5))
SWAPPED = accepted(Whose("prompt 1", 5), Whose("prompt 0", 5))
REFUSAL = raised("ValueError", "the stage says: expected 3 rows, got 2.")


@pytest.mark.parametrize(
    ("clauses", "run", "verdict", "promise"),
    [
        ([], RIGHT, Verdict.TOLERATED, Promise.KEPT),
        ([], SWAPPED, Verdict.SILENT, Promise.BROKEN),
        ([], REFUSAL, Verdict.FALSE_ALARM, Promise.BROKEN),
        ([GUARDED], REFUSAL, Verdict.REFUSED, Promise.KEPT),
        ([GUARDED], RIGHT, Verdict.TOLERATED, Promise.BROKEN),
        ([GUARDED], SWAPPED, Verdict.SILENT, Promise.BROKEN),
        ([GUARDED], raised("TypeError", "x"), Verdict.MISREPORTED, Promise.BROKEN),
        ([GUARDED], raised("ValueError", "x"), Verdict.MISREPORTED, Promise.BROKEN),
        (
            [GUARDED],
            raised("ValueError", "expected 3 rows, got 1"),
            Verdict.MISREPORTED,
            Promise.BROKEN,
        ),
        ([ASSUMED], RIGHT, Verdict.TOLERATED, Promise.KEPT),
        ([ASSUMED], SWAPPED, Verdict.SILENT, Promise.OPEN),
        ([ASSUMED], raised("KeyError", "x"), Verdict.MISREPORTED, Promise.OPEN),
        ([ACCIDENT], raised("TypeError", "x"), Verdict.MISREPORTED, Promise.OPEN),
        ([ACCIDENT], RIGHT, Verdict.TOLERATED, Promise.KEPT),
        ([ASSUMED, GUARDED], REFUSAL, Verdict.REFUSED, Promise.KEPT),
        ([ACCIDENT, GUARDED], raised("TypeError", "x"), Verdict.MISREPORTED, Promise.OPEN),
        ([GUARDED, ACCIDENT], REFUSAL, Verdict.REFUSED, Promise.KEPT),
        ([ASSUMED], Outcome(Ending.HUNG, death="hung in f"), Verdict.HUNG, Promise.OPEN),
        ([GUARDED], Outcome(Ending.HUNG, death="hung in f"), Verdict.HUNG, Promise.BROKEN),
        ([ASSUMED], Outcome(Ending.CRASHED, death="x"), Verdict.CRASHED, Promise.OPEN),
        ([], Outcome(Ending.CRASHED, death="x"), Verdict.CRASHED, Promise.BROKEN),
    ],
)
def test_a_faulty_run_is_judged(
    clauses: list[Clause], run: Outcome, verdict: Verdict, promise: Promise
) -> None:
    """By the first violation that ends the call, and by what came out."""
    judgement = judge([broken(clause) for clause in clauses], run, RIGHT, WHERE)

    assert (judgement.verdict, judgement.promise) == (verdict, promise)


@pytest.mark.parametrize(
    ("run", "verdict", "promise"),
    [
        (RIGHT, Verdict.UPHELD, Promise.KEPT),
        (SWAPPED, Verdict.SILENT, Promise.BROKEN),
        (REFUSAL, Verdict.FALSE_ALARM, Promise.BROKEN),
        (Outcome(Ending.HUNG), Verdict.HUNG, Promise.BROKEN),
        (Outcome(Ending.CRASHED), Verdict.CRASHED, Promise.BROKEN),
    ],
)
def test_a_golden_run_is_judged(run: Outcome, verdict: Verdict, promise: Promise) -> None:
    """It is held against what is right, not against itself."""
    judgement = judge([], run, None, WHERE)

    assert (judgement.verdict, judgement.promise) == (verdict, promise)


def test_a_clause_is_assumed_in_a_release_before_its_guard() -> None:
    """The same outcome is open there and broken later."""
    violations = [broken(GUARDED)]

    assert judge(violations, SWAPPED, RIGHT, Where("0.5.17")).promise is Promise.OPEN
    assert judge(violations, SWAPPED, RIGHT, Where("0.5.18")).promise is Promise.BROKEN


@pytest.mark.parametrize("run", [RIGHT, SWAPPED, REFUSAL, Outcome(Ending.HUNG)])
@pytest.mark.parametrize("clauses", [[], [GUARDED], [ASSUMED]])
def test_what_was_touched_makes_every_outcome_inconclusive(
    run: Outcome, clauses: list[Clause]
) -> None:
    """Whatever it looks like, it is never a pass and has no promise."""
    unsure = replace(run, unsure=("a stub was reached",))

    judgement = judge([broken(clause) for clause in clauses], unsure, RIGHT, WHERE)

    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.promise is None
    assert judgement.detail == "a stub was reached"


def test_a_dishonest_golden_payload_is_the_tools_own_error() -> None:
    """A simulator that breaks its contract proves nothing."""
    assert judge([broken(ASSUMED)], RIGHT, None, WHERE).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("has", "words"),
    [
        ((Whose("prompt 1", 5), Whose("prompt 1", 5)), "output 0 carries prompt 1's tokens"),
        ((Whose("prompt 0", 6), Whose("prompt 1", 5)), "output 0 carries its own tokens out of "
         "place by +1"),
        ((None, Whose("prompt 1", 5)), "output 0 carries tokens of nobody known"),
        ((NOTHING, Whose("prompt 1", 5)), "output 0 is empty"),
        (
            (Whose("another request", 5), Whose("prompt 0", 5)),
            "output 0 carries another request's tokens; output 1 carries prompt 0's tokens",
        ),
    ],
)  # fmt: skip
def test_a_silent_verdict_says_who_got_whose(has: tuple[Whose | None, ...], words: str) -> None:
    """In words, from provenance alone."""
    assert judge([broken(ASSUMED)], accepted(*has), RIGHT, WHERE).detail == words


def test_a_part_of_an_output_is_named() -> None:
    """Where the wrong tokens begin and end."""
    whose = Whose("prompt 0", 0)
    spans = (
        Span("output 0", 0, 4, whose, whose),
        Span("output 0", 4, 2, Whose("prompt 0", 4), Whose("prompt 1", 4)),
    )
    run = Outcome(Ending.ACCEPTED, spans=spans)

    judgement = judge([broken(ASSUMED)], run, run, WHERE)

    assert judgement.detail == "output 0 carries prompt 1's tokens, tokens 4 to 5 of it"


def test_a_fact_that_differs_from_the_golden_run_is_silent_too() -> None:
    """Right tokens with another usage are not the same output."""
    run = accepted(Whose("prompt 0", 5), Whose("prompt 1", 5), usage="9")

    judgement = judge([broken(ASSUMED)], run, RIGHT, WHERE)

    assert (judgement.verdict, judgement.detail) == (Verdict.SILENT, "usage is 9, not 7")


def test_false_numbers_are_told_from_another_text() -> None:
    """The detail gives the truth."""
    run = raised("ValueError", "expected 3 rows, got 1")

    assert judge([broken(GUARDED)], run, RIGHT, WHERE).detail == (
        "false numbers: the truth is 'expected 3 rows, got 2'"
    )


def test_what_a_machine_lacks_is_no_verdict_of_upstream() -> None:
    """Neither of the run that came to it, nor of one whose golden run did."""
    lacking = Outcome(Ending.RAISED, lacks="a card")

    assert judge([], lacking, None, WHERE).verdict is Verdict.UNAVAILABLE
    assert judge([broken(ASSUMED)], lacking, RIGHT, WHERE).promise is None
    said = judge([broken(ASSUMED)], SWAPPED, lacking, WHERE)
    assert (said.verdict, said.detail) == (
        Verdict.UNAVAILABLE, "its golden run cannot be had: a card"
    )  # fmt: skip
    assert judge([broken(GUARDED)], REFUSAL, lacking, WHERE).verdict is Verdict.REFUSED


def test_a_call_that_comes_past_a_check_that_should_refuse_breaks_the_promise() -> None:
    """Though nothing can be said of what it came to; of other clauses nothing is said at all."""
    beyond = Outcome(Ending.RAISED, lacks="a card", past_checks=True)

    said = judge([broken(GUARDED)], beyond, RIGHT, WHERE)

    assert (said.verdict, said.promise) == (Verdict.MISREPORTED, Promise.BROKEN)
    assert said.detail.endswith(", up to: a card")
    assert judge([broken(ASSUMED)], beyond, RIGHT, WHERE).verdict is Verdict.UNAVAILABLE
    assert judge([], beyond, None, WHERE).verdict is Verdict.UNAVAILABLE
    before = Outcome(Ending.RAISED, lacks="a card")
    assert judge([broken(GUARDED)], before, RIGHT, WHERE).verdict is Verdict.UNAVAILABLE
