"""What every report says, once: results gathered by seam and fault, and the closing lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts import CONTRACTS
from harness.damage import Damage, told
from harness.result import CaseResult
from harness.runner import Report
from harness.seams import SEAMS
from harness.verdict import UNJUDGED, Promise, Verdict
from simulators.faults import FAULTS

#: Worst first: the order in which verdicts are named.
SEVERITY = (
    Verdict.CRASHED,
    Verdict.HUNG,
    Verdict.SILENT,
    Verdict.MISREPORTED,
    Verdict.FALSE_ALARM,
    Verdict.INCONCLUSIVE,
    Verdict.UNAVAILABLE,
    Verdict.ABSENT,
    Verdict.REFUSED,
    Verdict.TOLERATED,
    Verdict.UPHELD,
)


@dataclass(frozen=True)
class FaultRow:
    """All cases of one fault at one seam."""

    fault: str
    results: Sequence[CaseResult]

    @property
    def count(self) -> int:
        """How many cases."""
        return len(self.results)

    @property
    def verdicts(self) -> list[tuple[Verdict, int]]:
        """How often each verdict was given, worst first."""
        counted = Counter(result.verdict for result in self.results)
        return [(v, counted[v]) for v in SEVERITY if counted[v]]

    @property
    def promise(self) -> Promise | None:
        """The worst that became of a promise."""
        seen = {result.promise for result in self.results}
        return next((p for p in (Promise.BROKEN, Promise.OPEN, Promise.KEPT) if p in seen), None)

    @property
    def words(self) -> str:
        """What the worst case says."""
        worst = min(self.results, key=lambda r: SEVERITY.index(r.verdict))
        if worst.verdict is Verdict.REFUSED:
            return f"{worst.exception}: {worst.message}"
        if worst.verdict is Verdict.MISREPORTED:
            return f"{worst.exception} ({worst.detail})"
        return worst.detail


def rows(report: Report) -> dict[str, list[FaultRow]]:
    """Return the rows of each seam, in the order of the table of faults, composites last."""
    gathered: dict[str, dict[str, list[CaseResult]]] = {}
    for result in report.results:
        gathered.setdefault(result.seam, {}).setdefault(result.fault, []).append(result)
    order = {name: place for place, name in enumerate(FAULTS)}
    return {
        seam: [
            FaultRow(fault, faults[fault])
            for fault in sorted(faults, key=lambda name: order.get(name, len(order)))
        ]
        for seam, faults in gathered.items()
    }


def counted(pairs: Iterable[tuple[object, int]]) -> str:
    """Return counts in words: `6 silent, 2 refused`."""
    return ", ".join(f"{count} {name}" for name, count in pairs)


def totals(report: Report) -> str:
    """Return the closing lines: cases and verdicts, the promises, and what damage was done."""
    verdicts = report.verdicts
    promises = report.promises
    said = counted((v, verdicts[v]) for v in SEVERITY if verdicts[v])
    kept = counted((p, promises[p]) for p in Promise)
    cases = "1 case" if len(report.results) == 1 else f"{len(report.results)} cases"
    harm = damages(report)
    done = [f"Damage: {counted((d.word, n) for d, n in harm)}."] if harm else []
    return "\n".join([f"{cases}: {said}.", f"Promises: {kept}.", *done])


def damages(report: Report) -> list[tuple[Damage, int]]:
    """Return how often each damage was done, the worst first."""
    found = Counter(told(result.verdict, result.detail) for result in report.results)
    return [(damage, found[damage]) for damage in Damage if found[damage]]


def broken(report: Report) -> list[CaseResult]:
    """Return the cases whose promise is broken."""
    return [result for result in report.results if result.promise is Promise.BROKEN]


def not_judged(report: Report) -> list[list[CaseResult]]:
    """Return the cases that say nothing, gathered by seam, verdict and reason."""
    found: dict[tuple[str, Verdict, str], list[CaseResult]] = {}
    for result in report.results:
        if result.verdict in UNJUDGED:
            key = (result.seam, result.verdict, result.detail)
            found.setdefault(key, []).append(result)
    return list(found.values())


def head(report: Report) -> str:
    """Return the opening line: what was checked, and how."""
    assumed = " (assumed: the tree does not say)" if report.tree.release_assumed else ""
    named = "" if report.source == report.release else f", source {report.source}"
    return f"SGLang {report.release}{assumed}{named}, {report.mode}, device {report.device.tensors}"


def kernels(report: Report) -> str:
    """Return in words what ran where, if kernels were among it; else empty."""
    of_kernels = any(SEAMS[r.seam].kernel and r.verdict not in UNJUDGED for r in report.results)
    return f"Of seams with kernels: {report.device}" if of_kernels else ""


def replay(report: Report, result: CaseResult) -> str:
    """Return the command that runs one case again."""
    return f"seamproof run '{result.case}' --sglang {report.source}"


def unreachable(report: Report) -> list[str]:
    """Return each guard that no case came to, with the reason where it is known."""
    return [f"{name}{_evidence(name, report.release)}" for name in report.unreachable]


def _evidence(name: str, release: str) -> str:
    seam, _, clause = name.partition("/")
    guard = CONTRACTS[seam].clause(clause).dead_guard(release)
    return f" ({guard.unreachable})" if guard is not None else ""
