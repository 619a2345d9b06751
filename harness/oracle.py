"""The oracle: a pure function from what was broken and what came out to a verdict.

It never runs anything, has no branch for a seam, and does not know which fault it was: it
reads the violations, the faulty outcome and the golden one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from contracts.contract import Guard, Violation, ending
from harness.outcome import NOTHING, Ending, Outcome, Raised, Span
from harness.verdict import UNJUDGED, Promise, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, what became of the promise, and why in words."""

    verdict: Verdict
    promise: Promise | None
    detail: str = ""


@dataclass(frozen=True)
class Where:
    """The release and the platform, which decide what is guarded."""

    release: str
    platform: str = "cpu"


def judge(
    violations: Sequence[Violation], run: Outcome, golden: Outcome | None, where: Where
) -> Judgement:
    """Return the verdict on one run.

    Args:
        violations: What the payload breaks, in the order in which upstream would meet it.
        run: The outcome to judge.
        golden: The same case's outcome without its fault; None if `run` is the golden run.
        where: Release and platform.
    """
    stop = ending(list(violations), where.release, where.platform)
    guard = stop.clause.guard(where.release, where.platform) if stop is not None else None
    verdict, detail = _verdict(violations, run, golden, stop, guard, where)
    return Judgement(verdict, _promise(verdict, violations, guard), detail)


def judge_given(
    violations: Sequence[Violation], run: Outcome, where: Where, stamped: bool
) -> Judgement:
    """Return the verdict on a payload that is not ours, and that has no golden run.

    Args:
        violations: What the payload breaks.
        run: The outcome to judge.
        where: Release and platform.
        stamped: Whether the payload is stamped; else identity is not judged, and the words say so.
    """
    known = run if stamped else replace(run, spans=())
    stop = ending(list(violations), where.release, where.platform)
    guard = stop.clause.guard(where.release, where.platform) if stop is not None else None
    verdict, detail = _verdict(violations, known, known, stop, guard, where)
    if verdict is Verdict.TOLERATED:
        unjudged = "" if stamped else "identity not judged"
        if violations:
            said = f"accepted, though it breaks {violations[0]}"
            verdict, detail = Verdict.SILENT, said
        else:
            verdict, detail = Verdict.UPHELD, unjudged
    return Judgement(verdict, _promise(verdict, violations, guard), detail)


def _verdict(
    violations: Sequence[Violation],
    run: Outcome,
    golden: Outcome | None,
    stop: Violation | None,
    guard: Guard | None,
    where: Where,
) -> tuple[Verdict, str]:
    if run.unsure:
        return Verdict.INCONCLUSIVE, "; ".join(run.unsure)
    if golden is not None and golden.unsure:
        said = "; ".join(golden.unsure)
        return Verdict.INCONCLUSIVE, f"its golden run could not be judged: {said}"
    if run.lacks and run.past_checks and stop is not None and guard is not None:
        # Whatever would have come of it, the refusal did not come.
        return Verdict.MISREPORTED, f"past the check of {stop.clause.name}, up to: {run.lacks}"
    if run.lacks:
        return Verdict.UNAVAILABLE, run.lacks
    if golden is not None and golden.lacks and run.ending is Ending.ACCEPTED:
        return Verdict.UNAVAILABLE, f"its golden run cannot be had: {golden.lacks}"
    if golden is None and violations:
        return Verdict.INCONCLUSIVE, f"the honest payload breaks a clause: {violations[0]}"
    if run.ending is Ending.CRASHED:
        return Verdict.CRASHED, run.death
    if run.ending is Ending.HUNG:
        return Verdict.HUNG, run.death
    if run.raised is not None and _revived(run, violations, where.release):
        return Verdict.REFUSED, "by a guard that no call could reach when it was read"
    if run.ranks and run.raised is not None:
        return _of_ranks(run, violations, stop, where)
    if run.raised is not None:
        return _of_error(run.raised, violations, stop, guard, where.release)
    wrong = _wrong(run, golden)
    if wrong:
        return Verdict.SILENT, wrong
    return (Verdict.UPHELD if golden is None else Verdict.TOLERATED), ""


def _revived(run: Outcome, violations: Sequence[Violation], release: str) -> bool:
    """Return whether every error is that of a guard that was taken for unreachable."""
    dead = [(v, guard) for v in violations if (guard := v.clause.dead_guard(release))]
    accepted = any(one.outcome.ending is Ending.ACCEPTED for one in run.ranks)
    return not accepted and all(
        any(raised.type == g.error and _says(raised.message, v.refusal(g)) for v, g in dead)
        for _, raised in run.errors
    )


def _of_ranks(
    run: Outcome, violations: Sequence[Violation], stop: Violation | None, where: Where
) -> tuple[Verdict, str]:
    """Return the verdict on a group in which one rank or more ended in an error."""
    assert run.raised is not None
    guard = stop.clause.guard(where.release, where.platform) if stop is not None else None
    if guard is None:
        return _of_error(run.raised, violations, stop, None, where.release)
    for rank, raised in run.errors:
        own = [v for v in violations if v.rank in (None, rank)]
        last = ending(own, where.release, where.platform)
        theirs = last.clause.guard(where.release, where.platform) if last is not None else None
        verdict, detail = _of_error(raised, violations, last, theirs, where.release)
        if verdict is not Verdict.REFUSED:
            return verdict, f"rank {rank}: {detail}"
    accepted = [str(r.rank) for r in run.ranks if r.outcome.ending is Ending.ACCEPTED]
    if accepted:
        return Verdict.MISREPORTED, f"not refused on rank {', '.join(accepted)}"
    return Verdict.REFUSED, ""


def _of_error(
    raised: Raised,
    violations: Sequence[Violation],
    stop: Violation | None,
    guard: Guard | None,
    release: str,
) -> tuple[Verdict, str]:
    if not violations:
        return Verdict.FALSE_ALARM, "the payload breaks no clause"
    if stop is None:
        return Verdict.MISREPORTED, "no clause that is broken here is known to end in an error"
    if guard is None:
        accident = stop.accident(release)
        expected = " or ".join(accident)
        known = raised.type in accident
        return Verdict.MISREPORTED, (
            f"no guard for {stop.clause.name}; "
            + ("the error is an accident" if known else f"expected {expected}, by accident")
        )
    refusal = stop.refusal(guard)
    if raised.type == guard.error and _says(raised.message, refusal):
        return Verdict.REFUSED, ""
    if raised.type == guard.error and _worded(raised.message, guard):
        return Verdict.MISREPORTED, f"false numbers: the truth is {refusal!r}"
    return Verdict.MISREPORTED, f"{stop.clause.name} documents {guard.error}: {refusal!r}"


def _says(message: str, refusal: str) -> bool:
    # A number at either end must not be a part of a longer one: "got 1" is not said by "got 15".
    return re.search(rf"(?<!\d){re.escape(refusal)}(?!\d)", message) is not None


def _worded(message: str, guard: Guard) -> bool:
    # The text is the documented one, whatever stands in its fields.
    parts = re.split(r"\{[^{}]*\}", guard.text)
    return re.search(".*?".join(map(re.escape, parts)), message, re.DOTALL) is not None


def _promise(
    verdict: Verdict, violations: Sequence[Violation], guard: Guard | None
) -> Promise | None:
    if verdict in UNJUDGED:
        return None
    if guard is not None:
        return Promise.KEPT if verdict is Verdict.REFUSED else Promise.BROKEN
    if verdict in (Verdict.UPHELD, Verdict.TOLERATED, Verdict.REFUSED):
        return Promise.KEPT
    return Promise.OPEN if violations else Promise.BROKEN


def _wrong(run: Outcome, golden: Outcome | None) -> str:
    said = [
        text
        for place, spans in groupby(run.spans, key=lambda span: span.place)
        if (text := _of_place(place, list(spans)))
    ]
    if not said and golden is not None and golden.ending is Ending.ACCEPTED:
        said = [
            f"{place} is {run.facts.get(place, 'missing')}, not {golden.facts.get(place, 'there')}"
            for place in sorted({*golden.facts, *run.facts})
            if golden.facts.get(place) != run.facts.get(place)
        ]
    return "; ".join(said)


def _of_place(place: str, spans: list[Span]) -> str:
    wrong = [span for span in spans if not span.right]
    if not wrong:
        return ""
    lacking = [span for span in wrong if span.has == NOTHING]
    if lacking == wrong:
        is_empty = len(wrong) == len(spans)
        return f"{place} is empty" if is_empty else f"{place} lacks {_tokens(wrong)}"
    lacks = f", and lacks {_tokens(lacking)}" if lacking else ""
    wrong = [span for span in wrong if span.has != NOTHING]
    share = "" if len(wrong) == len(spans) else f", {_tokens(wrong)} of it"
    return f"{place} carries {_carried(wrong, share)}{lacks}"


def _carried(wrong: list[Span], share: str) -> str:
    owners = {span.has.owner if span.has else None for span in wrong}
    unit = wrong[0].unit
    if owners == {None}:
        return f"{unit} of nobody known{share}"
    if len(owners) == 1:
        owner = owners.pop()
        if owner != wrong[0].wants.owner:
            return f"{owner}'s {unit}{share}"
        return f"its own {unit} {_shift(wrong)}{share}"
    named = sorted(owner for owner in owners if owner is not None)
    return f"{unit} of {', '.join(named)}" + (" and of nobody known" if None in owners else "")


def _tokens(spans: list[Span]) -> str:
    runs: list[tuple[int, int]] = []
    for span in spans:
        if runs and runs[-1][1] == span.first:
            runs[-1] = (runs[-1][0], span.first + span.count)
        else:
            runs.append((span.first, span.first + span.count))
    # The same run may be wrong in several lanes.
    said = list(dict.fromkeys(f"{spans[0].unit} {first} to {end - 1}" for first, end in runs))
    return ", ".join(said[:3]) + (" and more" if len(said) > 3 else "")


def _shift(spans: list[Span]) -> str:
    shifts = {span.has.position - span.wants.position for span in spans if span.has}
    if len(shifts) == 1:
        return f"out of place by {shifts.pop():+d}"
    return "out of place"
