"""The pytest plugin: one item for each case of a source, and fixtures for people's own tests.

    pytest --sglang 0.5.23 seamproof::              every case, and nothing else
    pytest --sglang=$HOME/sglang -n 2 -k reordering beside the tests that are collected anyway

A kept promise passes, a broken one fails, an open one passes with a warning (and fails with
`--seamproof-strict`); inconclusive, unavailable and absent skip with their reason. Torch is
imported only in worker processes, so the plugin costs a plain pytest run nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.device import AUTO, Device, choose
from harness.errors import HarnessError
from harness.verdict import UNJUDGED, Promise, Verdict

if TYPE_CHECKING:
    from harness.case import Case
    from harness.pool import Pool
    from harness.result import CaseResult
    from harness.upstream.source import Tree
    from simulators.ar_server import ArServer
    from simulators.faults import Place
    from simulators.scheduler import Told

PREFIX = "seamproof::"
#: Characters of a warning.
_WARNED = 160


class OpenPromise(UserWarning):
    """A case found a hole that upstream never promised to close."""


class BrokenPromiseError(Exception):
    """A case found that upstream does not do what it documents."""


class Cases:
    """The cases of one pytest run: their tree, and the workers that run them."""

    def __init__(self, source: str, device: Device, strict: bool) -> None:
        self.source = source
        self.strict = strict
        self.device = device
        self._tree: Tree | None = None
        self._pool: Pool | None = None
        self.verdicts: Counter[Verdict] = Counter()

    @property
    def tree(self) -> "Tree":
        """The tree under test."""
        if self._tree is None:
            from harness.upstream.source import find

            self._tree = find(self.source)
        return self._tree

    def run(self, case: "Case") -> "CaseResult":
        """Return the result of one case, and count it."""
        from harness.pool import Pool
        from harness.result import unjudged
        from harness.runner import absence
        from harness.seams import SEAMS

        if reason := absence(self.tree, SEAMS[case.seam]):
            result = unjudged(case, reason, Verdict.ABSENT)
        else:
            if self._pool is None:
                self._pool = Pool(self.tree, self.device, workers=1)
            (result,) = self._pool.run([case])
        self.verdicts[result.verdict] += 1
        return result

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.__exit__(None, None, None)
            self._pool = None


_CASES = pytest.StashKey[Cases]()
_ASKED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("seamproof", "contract cases of SGLang's multimodal seams")
    group.addoption(
        "--sglang",
        metavar="SOURCE",
        help="run the cases on a release, a checkout, git:PATH@REF or 'installed'",
    )
    group.addoption("--seam", action="append", default=[], help="only these seams; globs")
    group.addoption("--fault", action="append", default=[], help="only these faults; globs")
    group.addoption(
        "--seamproof-device",
        default=AUTO,
        metavar="DEVICE",
        help="auto, cpu, interpreter (Triton's, for kernels) or cuda",
    )
    group.addoption(
        "--seamproof-strict", action="store_true", help="an open promise fails its case too"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the cases, and take `seamproof::CASE` out of the paths to collect."""
    asked = [arg.removeprefix(PREFIX) for arg in config.args if arg.startswith(PREFIX)]
    config.args[:] = [arg for arg in config.args if not arg.startswith(PREFIX)]
    config.stash[_ASKED] = [line for line in asked if line]
    source = config.getoption("--sglang")
    if source is None and asked:
        raise pytest.UsageError(f"{PREFIX} needs a source: name one with --sglang, as in 0.5.23")
    if source is not None:
        if source in config.invocation_params.args and Path(source).exists():
            raise pytest.UsageError(
                f"write --sglang={source}: a path that stands alone pytest takes for its own, "
                "reads its settings there and writes its cache there"
            )
        device, strict = (config.getoption(f"--seamproof-{o}") for o in ("device", "strict"))
        try:
            chosen = choose(device)
        except HarnessError as error:
            raise pytest.UsageError(f"--seamproof-device: {error}") from error
        config.stash[_CASES] = Cases(source, chosen, strict)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers."""
    if _CASES in config.stash:
        config.stash[_CASES].close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is under test."""
    if _CASES not in config.stash:
        return []
    tree = _tree_or_usage_error(config.stash[_CASES])
    cases = config.stash[_CASES]
    return [
        f"seamproof: SGLang {tree.release} ({tree.name}), {tree.mode}",
        f"seamproof: {cases.device}",
    ]


def _tree_or_usage_error(cases: Cases) -> "Tree":
    try:
        return cases.tree
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the cases before anything selects among the items."""
    if _CASES in config.stash:
        _tree_or_usage_error(config.stash[_CASES])
        collector = CaseCollector.from_parent(session, name="seamproof", nodeid="seamproof")
        items.extend(collector.collect())


class CaseCollector(pytest.Collector):
    """Collects the cases that the options select."""

    def collect(self) -> Iterator["CaseItem"]:
        """Yield an item for each case; for a seam that the source has not, one."""
        from harness.case import parse
        from harness.runner import Selection, absence
        from harness.seams import SEAMS

        cases = self.config.stash[_CASES]
        try:
            chosen = [parse(line) for line in self.config.stash[_ASKED]] or Selection(
                self.config.getoption("--seam"), self.config.getoption("--fault")
            ).chosen()
        except HarnessError as error:
            raise pytest.UsageError(str(error)) from error
        told: set[str] = set()
        for case in chosen:
            if case.seam in told:
                continue
            if absence(cases.tree, SEAMS[case.seam]):
                told.add(case.seam)
            yield CaseItem.from_parent(self, name=case.line, case=case)


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: "Case", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        for name in (case.seam, *(step.fault for step in case.steps)):
            self.extra_keyword_matches.add(name)

    def runtest(self) -> None:
        """Run the case and hold its promise against what was found."""
        cases = self.config.stash[_CASES]
        result = cases.run(self.case)
        self.user_properties.append(("verdict", str(result.verdict)))
        self.user_properties.append(("promise", str(result.promise)))
        if result.verdict in UNJUDGED:
            pytest.skip(f"{result.verdict}: {result.detail}")
        if result.promise is Promise.BROKEN or (cases.strict and result.promise is Promise.OPEN):
            raise BrokenPromiseError(_told(result, cases.source))
        if result.promise is Promise.OPEN:
            self.warn(OpenPromise(f"{result.verdict}: {result.detail}"[:_WARNED]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a broken promise without the tool's own traceback."""
        if isinstance(excinfo.value, BrokenPromiseError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int, str]:
        """Name the case in reports; it has no line of its own."""
        return "<seamproof>", 0, self.case.line


def _told(result: "CaseResult", source: str) -> str:
    seen = f"{result.exception}: {result.message}" if result.exception else "accepted"
    lines = [f"{result.promise}: {result.verdict}, {result.detail or seen}"]
    lines += [f"  breaks {violation}" for violation in result.violations]
    lines += [f"  ended in {seen}"] if result.exception else []
    lines += [f"    {frame}" for frame in result.frames]
    return "\n".join([*lines, f"  seamproof run '{result.case}' --sglang {source}"])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Sum the verdicts."""
    told: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = dict(getattr(report, "user_properties", ()))
            if getattr(report, "when", "") == "call" and "verdict" in properties:
                told[properties["verdict"]] += 1
    if told:
        terminalreporter.section("seamproof")
        terminalreporter.line(", ".join(f"{count} {verdict}" for verdict, count in told.items()))


@pytest.fixture
def ar_server() -> Iterator["ArServer"]:
    """A simulated SGLang AR server on loopback: honest until `ar_server.simulator.plan` is set."""
    from simulators.ar_server import ArServer, ArSimulator

    with ArServer(ArSimulator()) as server:
        yield server


@pytest.fixture
def scheduler() -> Callable[..., "list[Told]"]:
    """What a scheduler tells the ranks of one sequence, honest or not.

    `scheduler([5, 3], fault="reordering")` returns what each rank is told; `at` says where the
    fault acts, if not at its first place, and `to` which ranks hear the lie, if not all.
    """
    from harness.consumers.consumer import Lie
    from harness.given_faults import fault_named
    from simulators.rng import stream
    from simulators.scheduler import honest_batch, told_ranks

    def tell(
        rows: Sequence[int],
        heads: int = 12,
        fault: str = "noop",
        at: "Place | None" = None,
        to: Sequence[int] | None = None,
    ) -> "list[Told]":
        found, honest = fault_named(fault), honest_batch(rows, heads)
        place = next(iter(found.places(len(rows)))) if at is None else at
        lied = Lie([(found, place)], stream(0, fault)).told(honest)
        return told_ranks(honest, lied, range(len(rows)) if to is None else to)

    return tell


@pytest.fixture(scope="session")
def run_case(request: pytest.FixtureRequest) -> Iterator[Callable[..., "CaseResult"]]:
    """Run a case by its line: `run_case("ar-batch omission records=2 shape=64x96")`.

    The source is the one of `--sglang`, or the one that is passed as `source`.
    """
    from contracts.releases import NEWEST
    from harness.case import parse

    named = request.config.getoption("--sglang") or NEWEST
    opened: dict[str, Cases] = {}
    device = choose(request.config.getoption("--seamproof-device"))

    def run(line: str, source: str = named) -> "CaseResult":
        if source not in opened:
            opened[source] = Cases(source, device, strict=False)
        return opened[source].run(parse(line))

    yield run
    for cases in opened.values():
        cases.close()
