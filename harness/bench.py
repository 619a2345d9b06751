"""Runs cases of one tree inside a worker: simulator, fault, contract, upstream, oracle."""

import importlib
import importlib.util
import json
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from contracts import CONTRACTS, Violation, ending
from contracts.clauses.http_reply import NO_JSON, walk_wire
from contracts.contract import RETURNED
from harness.case import Case
from harness.consumers.consumer import Consumer, Lie
from harness.given_faults import Reply, fault_named
from harness.oracle import Judgement, Where, judge, judge_given
from harness.outcome import Outcome, Passed, Raised, Run
from harness.result import CaseResult, unjudged
from harness.seam import Seam
from harness.seams import SEAMS
from harness.telling import Say, unheard
from harness.upstream.hermetic import Hermetic
from harness.upstream.installed import Installed
from harness.upstream.raise_sites import guard_site
from harness.upstream.source import INSTALLED, Tree
from harness.upstream.stubs import StubModule
from harness.upstream.touches import LEDGER
from harness.verdict import Verdict
from simulators.rng import stream

#: The phase after the drives of a case: what is slow in it is not upstream.
JUDGING = "judging"


@dataclass(frozen=True)
class Unbuilt:
    """Why there is no consumer of a seam, and the verdict that its cases get."""

    reason: str
    verdict: Verdict = Verdict.INCONCLUSIVE


def lacking_package(error: BaseException) -> str:
    """Return the package that an import failed for because it is not there; empty if none."""
    name = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    top = name.partition(".")[0]
    if isinstance(sys.modules.get(top), StubModule):
        return top
    # A module that a package here does not have is no missing package.
    return top if top and importlib.util.find_spec(top) is None else ""


class Bench:
    """One tree, loaded; consumers are built when their first case comes."""

    def __init__(self, tree: Tree, device: str) -> None:
        self._tree = tree
        self._device = device
        self._upstream = Installed(tree) if tree.mode == INSTALLED else Hermetic(tree)
        self._consumers: dict[str, Consumer | Unbuilt] = {}
        self._goldens: dict[Case, Run] = {}

    def prepare(self, case: Case) -> None:
        """Load what the case's seam needs."""
        if case.seam not in self._consumers:
            self._consumers[case.seam] = self._built(SEAMS[case.seam])

    def run(self, case: Case, begin: Say = unheard, whole: bool = False) -> CaseResult:
        """Return the judged result of one case.

        Args:
            case: What to run.
            begin: Told `golden` or `case` before each drive, so that a death can be placed, and
                `JUDGING` after the last.
            whole: Whether the result shall hold the request and the payload too.
        """
        started = time.perf_counter()
        self.prepare(case)
        consumer = self._consumers[case.seam]
        if isinstance(consumer, Unbuilt):
            return unjudged(case, consumer.reason, consumer.verdict)
        given = Reply.named(case.fault)
        if given is not None:
            begin("case")
            run = consumer.drive(dict(case.dims), _lie(case))
            begin(JUDGING)
            result = self._tried(case, given, run, time.perf_counter() - started)
            return _whole(result, run.passed) if whole else result
        begin("case" if case.is_golden else "golden")
        golden = self._golden(consumer, case)
        if not case.is_golden:
            begin("case")
        run = golden if case.is_golden else consumer.drive(dict(case.dims), _lie(case))
        begin(JUDGING)
        result = self._judged(case, run, golden, time.perf_counter() - started)
        return _whole(result, run.passed) if whole else result

    def autopsy(self, case: Case, outcome: Outcome) -> CaseResult:
        """Return the judged result of a case whose drive took its process with it."""
        self.prepare(case)
        consumer = self._consumers[case.seam]
        if isinstance(consumer, Unbuilt):
            return unjudged(case, consumer.reason, consumer.verdict)
        if case.is_golden:
            return self._judged(case, Run(outcome), Run(outcome), 0.0)
        golden = self._golden(consumer, case)
        passed = consumer.preview(dict(case.dims), _lie(case), golden)
        return self._judged(case, Run(outcome, passed), golden, 0.0)

    def close(self) -> None:
        """Stop what the consumers started."""
        for consumer in self._consumers.values():
            if not isinstance(consumer, Unbuilt):
                consumer.close()

    def _golden(self, consumer: Consumer, case: Case) -> Run:
        if case.golden not in self._goldens:
            self._goldens[case.golden] = consumer.drive(dict(case.dims), _lie(case.golden))
        return self._goldens[case.golden]

    def _built(self, seam: Seam) -> "Consumer | Unbuilt":
        module, _, name = seam.consumer.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
            upstream_module = seam.module(self._tree.release)
            return cast(Consumer, kind(self._upstream, upstream_module, self._device))
        except BaseException as error:  # noqa: BLE001 - upstream's import may end in anything
            LEDGER.take()
            if package := lacking_package(error):
                return Unbuilt(f"the package {package} is not installed here", Verdict.UNAVAILABLE)
            return Unbuilt(f"the seam could not be loaded: {type(error).__name__}: {error}")

    def _judged(self, case: Case, run: Run, golden: Run, seconds: float) -> CaseResult:
        seam = SEAMS[case.seam]
        where = Where(self._tree.release, seam.platform)
        violations = _violations(case, run.passed)
        outcome = run.outcome
        if run.passed is None and not outcome.unsure and not case.is_golden:
            never = "upstream never asked for the payload"
            outcome = Outcome(outcome.ending, outcome.raised, unsure=(never,))
        judgement = judge(violations, outcome, None if case.is_golden else golden.outcome, where)
        return self._result(case, outcome, violations, judgement, seconds)

    def _tried(self, case: Case, given: Reply, run: Run, seconds: float) -> CaseResult:
        where = Where(self._tree.release, SEAMS[case.seam].platform)
        violations = _violations_of_given(case, given, run.passed)
        judgement = judge_given(violations, run.outcome, where, given.stamped)
        return self._result(case, run.outcome, violations, judgement, seconds)

    def _result(
        self,
        case: Case,
        outcome: Outcome,
        violations: list[Violation],
        judgement: Judgement,
        seconds: float,
    ) -> CaseResult:
        where = Where(self._tree.release, SEAMS[case.seam].platform)
        raised = outcome.raised
        stop = ending(violations, where.release, where.platform)
        guard = stop.clause.guard(where.release, where.platform) if stop is not None else None
        refused = judgement.verdict is Verdict.REFUSED and guard is not None
        return CaseResult(
            seam=case.seam,
            fault=case.fault,
            case=case.line,
            verdict=judgement.verdict,
            promise=judgement.promise,
            exception=raised.type if raised else None,
            message=raised.message if raised else None,
            raised_by=raised.origin if raised else None,
            text=guard.text if refused and guard is not None else None,
            clauses=tuple(dict.fromkeys(v.clause.name for v in violations)),
            detail=judgement.detail,
            seconds=seconds,
            fired=self._fired(case, outcome) or _came_out(violations, raised, where),
            violations=tuple(map(str, violations)),
            frames=_frames(outcome),
            ranks=tuple(one.said for one in outcome.ranks),
            undecorated=tuple(self._upstream.decorated()),
            on_card=outcome.on_card,
        )

    def _fired(self, case: Case, outcome: Outcome) -> tuple[str, ...]:
        lasts = [raised.frames[-1] for _, raised in outcome.errors if raised.frames]
        fired = []
        for clause in CONTRACTS[case.seam].clauses:
            release, platform = self._tree.release, SEAMS[case.seam].platform
            guard = clause.guard(release, platform) or clause.dead_guard(release)
            if guard is None:
                continue
            place = f"sglang/{guard.source.path}"
            site = guard_site(Path(self._tree.root, place), guard)
            types = {raised.type for _, raised in outcome.errors}
            if site is not None and guard.error in types and site.raised_at(place, lasts):
                fired.append(clause.name)
        return tuple(fired)


def _came_out(violations: list[Violation], raised: Raised | None, where: Where) -> tuple[str, ...]:
    # A returned refusal leaves no line behind: its own text says that its statement ran.
    if raised is None or raised.type != RETURNED:
        return ()
    guards = ((v, v.clause.guard(where.release, where.platform)) for v in violations)
    return tuple(
        dict.fromkeys(
            v.clause.name
            for v, guard in guards
            if guard is not None and guard.error == RETURNED and v.refusal(guard) in raised.message
        )
    )


def _lie(case: Case) -> Lie:
    steps = [(fault_named(step.fault), step.at) for step in case.steps]
    return Lie(steps, stream(case.seed, case.line))


def _violations(case: Case, passed: Passed | None) -> list[Violation]:
    if passed is None:
        return []
    return list(CONTRACTS[case.seam].check(passed.payload, passed.request, passed.owner_of))


def _violations_of_given(case: Case, given: Reply, passed: Passed | None) -> list[Violation]:
    if passed is None:
        return []
    wire: list[Violation] = []
    if passed.heard is not None:
        walked = walk_wire(passed.heard, timeout_s=math.inf)
        wire = [found for found in walked if isinstance(found, Violation)]
    if passed.payload is NO_JSON:
        return wire
    owner_of = passed.owner_of if given.stamped else None
    contract = CONTRACTS[case.seam]
    return wire + list(contract.check(passed.payload, passed.request, owner_of))


def _whole(result: CaseResult, passed: Passed | None) -> CaseResult:
    if passed is None:
        return result
    return replace(result, request=_text(passed.request), payload=_text(passed.payload))


def _text(value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)


def _frames(outcome: Outcome) -> tuple[str, ...]:
    if outcome.raised is None:
        return tuple(outcome.stack.splitlines())
    return tuple(f"{file}:{line} in {name}" for file, line, name in outcome.raised.frames)
