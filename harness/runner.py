"""A check, from the source to the report: the run as one readable page."""

import fnmatch
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts import CONTRACTS
from harness.case import Case, cases
from harness.device import CPU, Device, choose
from harness.errors import SourceError, UsageError, unknown
from harness.given_faults import fault_named
from harness.pool import Pool
from harness.result import CaseResult, unjudged
from harness.seam import Seam
from harness.seams import SEAMS
from harness.telling import Progress, Say, unheard
from harness.upstream.raise_sites import has_symbol
from harness.upstream.source import Tree, find
from harness.verdict import Verdict
from simulators.faults import FAULTS


@dataclass(frozen=True)
class Report:
    """All that a check found."""

    tree: Tree
    device: Device
    results: tuple[CaseResult, ...]
    #: `seam/clause` of guards whose raise line no case executed.
    unreachable: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def source(self) -> str:
        """The source as it was named."""
        return self.tree.name

    @property
    def release(self) -> str:
        """The release that the tree is."""
        return self.tree.release

    @property
    def mode(self) -> str:
        """How its code was loaded: `hermetic` or `installed`."""
        return self.tree.mode

    @property
    def verdicts(self) -> Counter[str]:
        """How often each verdict was given."""
        return Counter(str(result.verdict) for result in self.results)

    @property
    def promises(self) -> Counter[str]:
        """How often each promise was kept, open or broken."""
        return Counter(str(result.promise) for result in self.results if result.promise)


@dataclass(frozen=True)
class Selection:
    """Which cases of the tables are run."""

    #: Glob patterns; empty means all.
    seams: Sequence[str] = ()
    faults: Sequence[str] = ()

    def chosen_seams(self) -> list[Seam]:
        """Return the seams selected, in the order of the table.

        Raises:
            UsageError: if a pattern selects none.
        """
        return [SEAMS[name] for name in _matched("seam", self.seams, SEAMS)]

    def chosen(self) -> list[Case]:
        """Return the cases selected; golden runs always belong to them.

        Raises:
            UsageError: if a pattern selects none.
        """
        given = [fault_named(pattern) for pattern in self.faults if "::" in pattern]
        names = [*FAULTS, *(fault.name for fault in given)]
        faults = set(_matched("fault", self.faults, names)) | {"noop"}
        chosen = [
            case
            for seam in self.chosen_seams()
            for case in cases(seam, given)
            if not self.faults or all(step.fault in faults for step in case.steps)
        ]
        if self.faults and faults != {"noop"} and all(case.is_golden for case in chosen):
            raise UsageError(
                f"no case of {', '.join(self.faults)} at {', '.join(self.seams) or 'any seam'}: "
                "seamproof list faults says what each changes"
            )
        return chosen

    @property
    def is_whole(self) -> bool:
        """Whether every case of the selected seams is run."""
        return not self.faults


def _matched(kind: str, patterns: Sequence[str], table: Iterable[str]) -> list[str]:
    names = list(table)
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise unknown(kind, pattern, names)
    return [n for n in names if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)]


def check(
    source: str,
    selection: Selection = Selection(),
    device: str = CPU,
    workers: int | None = None,
    progress: Progress = unheard,
    say: Say = unheard,
) -> Report:
    """Run the selected cases on a source and return what was found.

    Args:
        source: A release, a path, `git:PATH@REF` or `installed`.
        selection: Which seams and faults.
        device: One of `harness.device.CHOICES`.
        workers: How many processes; one more than cores by default.
        progress: Told how many cases of how many are done.
        say: Told what is being done before the first case runs.

    Raises:
        UsageError: if the selection names what there is not, or the device is not to be had.
        SourceError: if there is no such source, or it changed while it was checked.
        CacheError: if the user's cache cannot be written.
    """
    started = time.perf_counter()
    wanted = selection.chosen()
    chosen = choose(device)
    tree = find(source, say)
    results = run_cases(tree, wanted, device, workers, progress)
    unreachable = _unreachable(tree, selection, results) if selection.is_whole else ()
    return Report(
        tree=tree,
        device=chosen,
        results=tuple(results),
        unreachable=unreachable,
        seconds=time.perf_counter() - started,
    )


def run_cases(
    tree: Tree,
    wanted: Sequence[Case],
    device: str = CPU,
    workers: int | None = None,
    progress: Progress = unheard,
    whole: bool = False,
) -> list[CaseResult]:
    """Return the results of cases on a tree; a seam that it has not is one absent result.

    Raises:
        SourceError: if the tree changed while it was checked.
    """
    there = {name for name in {case.seam for case in wanted} if not absence(tree, SEAMS[name])}
    runnable = [case for case in wanted if case.seam in there]
    results: list[CaseResult] = []
    if runnable:
        before = _fingerprint(tree)
        # A worker is worth its start from some ten cases on; while one waits for ranks that wait
        # for one another, the core is another's.
        count = min(workers or (os.cpu_count() or 1) + 1, len(runnable) // 8 + 1)
        with Pool(tree, choose(device), count) as pool:
            results = pool.run(runnable, progress, whole)
        if _fingerprint(tree) != before:
            raise SourceError(f"source {tree.name!r} changed while it was checked: check it again")
    missing = [name for name in SEAMS if name not in there]
    firsts = [next((c for c in wanted if c.seam == name), None) for name in missing]
    return results + [
        unjudged(case, absence(tree, SEAMS[case.seam]), Verdict.ABSENT) for case in firsts if case
    ]


def absence(tree: Tree, seam: Seam) -> str:
    """Return why a tree has no such seam; empty if it has it."""
    module = seam.module(tree.release)
    file = tree.file_of(module)
    if file is None:
        return f"{tree.release} has no {module}"
    if not has_symbol(file, seam.symbol):
        return f"{tree.release} has no {seam.symbol} in {file.name}"
    return ""


def _unreachable(
    tree: Tree, selection: Selection, results: Sequence[CaseResult]
) -> tuple[str, ...]:
    fired = {(result.seam, clause) for result in results for clause in result.fired}
    return tuple(
        f"{seam.name}/{clause.name}"
        for seam in selection.chosen_seams()
        if not absence(tree, seam)
        for clause in CONTRACTS[seam.name].clauses
        if clause.guard(tree.release, seam.platform) or clause.dead_guard(tree.release)
        if (seam.name, clause.name) not in fired
    )


def _fingerprint(tree: Tree) -> dict[str, tuple[int, int]]:
    # What upstream runs is its Python files; a whole SGLang has under 5,000.
    package = tree.root / "sglang"
    return {
        str(file): (file.stat().st_size, file.stat().st_mtime_ns)
        for file in sorted(package.rglob("*.py"))
    }


def run_one(
    source: str,
    case: Case,
    device: str = CPU,
    say: Say = unheard,
) -> tuple[Tree, CaseResult]:
    """Run one case on a source.

    Raises:
        SourceError: if there is no such source.
    """
    tree = find(source, say)
    (result,) = run_cases(tree, [case], device, workers=1, whole=True)
    return tree, result
