"""The result of one case: what a worker sends back, and what every report is made of."""

from dataclasses import dataclass

from harness.case import Case
from harness.verdict import Promise, Verdict


@dataclass(frozen=True)
class CaseResult:
    """One case, judged."""

    seam: str
    fault: str
    #: The line that replays the case.
    case: str
    verdict: Verdict
    promise: Promise | None
    #: Type and text of the error it ended in, and whose code raised it.
    exception: str | None = None
    message: str | None = None
    raised_by: str | None = None
    #: The documented text of the guard that refused, with its fields as placeholders.
    text: str | None = None
    #: Clauses that the payload breaks, in the order in which upstream would meet them.
    clauses: tuple[str, ...] = ()
    #: The verdict in words: which record got whose data, or why nothing could be judged.
    detail: str = ""
    seconds: float = 0.0
    #: Guarded clauses whose raise line this case executed.
    fired: tuple[str, ...] = ()
    #: Each violation in words, and where upstream stood: for `run`, not for snapshots.
    violations: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    #: What each rank of a group did and was about to do, a line each: for `run` too.
    ranks: tuple[str, ...] = ()
    #: What was asked and what passed, as JSON where it can be; only where a whole look is wanted.
    request: str = ""
    payload: str = ""
    #: Upstream functions that ran without a decorator that was a stub.
    undecorated: tuple[str, ...] = ()
    #: Whether a card was used; where it died or hung, nobody is left to say so.
    on_card: bool = False


def unjudged(case: Case, reason: str, verdict: Verdict = Verdict.INCONCLUSIVE) -> CaseResult:
    """Return the result of a case that could not be judged, and why."""
    return CaseResult(case.seam, case.fault, case.line, verdict, None, detail=reason)
