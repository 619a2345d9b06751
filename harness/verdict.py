"""Verdicts, promises and exit codes: the words in which an answer is given."""

from collections.abc import Iterable
from enum import IntEnum, StrEnum


class Verdict(StrEnum):
    """What upstream did with one payload."""

    #: Golden run: accepted, and the output is right.
    UPHELD = "upheld"
    #: The clause's documented refusal came, and what it says is true.
    REFUSED = "refused"
    #: It ended in an error, but another one, or with false numbers.
    MISREPORTED = "misreported"
    #: Accepted under a fault, and the output equals the golden run's.
    TOLERATED = "tolerated"
    #: Accepted, and the output is wrong.
    SILENT = "silent"
    #: A payload that breaks no clause was refused.
    FALSE_ALARM = "false-alarm"
    #: The process died.
    CRASHED = "crashed"
    #: No answer within the deadline.
    HUNG = "hung"
    #: Could not be judged; never a pass.
    INCONCLUSIVE = "inconclusive"
    #: Known beforehand that this device or machine cannot run the case.
    UNAVAILABLE = "unavailable"
    #: This release has no such function.
    ABSENT = "absent"


#: The verdicts that judge nothing, and so have no promise.
UNJUDGED = frozenset({Verdict.INCONCLUSIVE, Verdict.UNAVAILABLE, Verdict.ABSENT})


class Promise(StrEnum):
    """What became of upstream's promise."""

    KEPT = "kept"
    #: A hole that upstream never promised to close.
    OPEN = "open"
    BROKEN = "broken"


class ExitCode(IntEnum):
    """How a command ends; where several apply, the first in `PRECEDENCE`."""

    OK = 0
    #: A promise is broken (with `--strict`: or open).
    BROKEN = 1
    #: Bad usage or input.
    USAGE = 2
    #: A case could not be judged (with `--require-all`: or not be run).
    INCONCLUSIVE = 3
    INTERRUPTED = 130


PRECEDENCE = (ExitCode.INTERRUPTED, ExitCode.USAGE, ExitCode.BROKEN, ExitCode.INCONCLUSIVE)


def exit_code(
    verdicts: Iterable[Verdict],
    promises: Iterable[Promise | None],
    strict: bool = False,
    require_all: bool = False,
) -> ExitCode:
    """Return the exit code of a check from its verdicts and promises."""
    kept = set(promises)
    seen = set(verdicts)
    if Promise.BROKEN in kept or (strict and Promise.OPEN in kept):
        return ExitCode.BROKEN
    if Verdict.INCONCLUSIVE in seen or (require_all and Verdict.UNAVAILABLE in seen):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK
