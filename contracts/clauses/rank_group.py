"""What must hold between the ranks of a group, before anything that one rank can see.

The payload holds a part for each rank, a mapping in which `fate` says what the rank does instead
of its part, if anything. What one rank meets of its part is the seam's business.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contracts.contract import Clause, Violation

#: A rank that waits for one that is gone ends in this, once it notices.
_LOST = "RuntimeError"

TOLD_ALIKE = Clause("told-alike", "Every rank is told the same.")
RANKS_COME = Clause("ranks-come", "Every rank comes to every exchange, and lives through it.")
REFUSED_TOGETHER = Clause(
    "refused-together",
    "What one rank refuses all ranks refuse, for the same: else the others wait in the exchange.",
)
Part = Mapping[str, Any]


@dataclass(frozen=True)
class Met:
    """What one rank meets of its part, in order."""

    violations: tuple[Violation, ...]

    @property
    def refusal(self) -> Violation | None:
        """What the rank ends at, if it ends before the exchange."""
        return next((v for v in self.violations if _ends(v)), None)


def met_by(rank: int, violations: Iterator[Violation]) -> Met:
    """Return what a rank meets, up to what it ends at; places are named from the rank on."""
    found: list[Violation] = []
    for violation in violations:
        found.append(replace(violation, rank=rank, where=f"ranks[{rank}].{violation.where}"))
        if _ends(violation):
            break
    return Met(tuple(found))


def walk_group(
    parts: Sequence[Part], met: Sequence[Met], told: Sequence[str]
) -> Iterator[Violation]:
    """Yield what is broken between the ranks, then what each meets.

    Args:
        parts: What each rank is told.
        met: What each meets of it.
        told: What each is told, in words that are alike where it is the same.
    """
    if any(one != told[0] for one in told):
        yield Violation(TOLD_ALIKE, "ranks", told[0], "; ".join(told[1:]))
    fates = [f"rank {rank}: {part['fate']}" for rank, part in enumerate(parts) if part["fate"]]
    if fates:
        lost = (_LOST,) if any(part["fate"] == "dies" for part in parts) else ()
        yield Violation(RANKS_COME, "ranks", "all", ", ".join(fates), incidental=lost)
    yield from _apart(met)
    for one in met:
        yield from one.violations


def _apart(met: Sequence[Met]) -> Iterator[Violation]:
    """Yield that ranks do not refuse alike, if they do not."""
    why = [one.refusal for one in met]
    if len({violation and violation.clause.name for violation in why}) == 1:
        return
    named = [f"rank {r} for {v.clause.name}" for r, v in enumerate(why) if v is not None]
    if named:
        types = sorted({_error(violation) for violation in why if violation is not None})
        got, incidental = ", ".join(named), (_LOST, *types)
        yield Violation(REFUSED_TOGETHER, "ranks", "by all or none", got, incidental=incidental)


def _ends(violation: Violation) -> bool:
    reachable = any(not guard.unreachable for guard in violation.clause.guards)
    return reachable or bool(_accident(violation))


def _error(violation: Violation) -> str:
    if violation.clause.guards:
        return violation.clause.guards[0].error
    return _accident(violation)[0]


def _accident(violation: Violation) -> tuple[str, ...]:
    own = violation.incidental
    return violation.clause.incidental if own is None else own
