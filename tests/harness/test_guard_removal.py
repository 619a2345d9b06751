"""A guard that is taken away, that lies, or that is reworded is seen: its promise is broken.

Every guarded clause of every contract is tried on the newest release, so that the clauses of a
new seam join by themselves. What each guard refuses is read from the committed snapshots.
"""

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contracts import CONTRACTS, Guard
from contracts.contract import RETURNED
from contracts.releases import NEWEST
from harness.case import parse
from harness.cli import app
from harness.result import CaseResult
from harness.runner import run_cases
from harness.seams import SEAMS
from harness.snapshot import read
from harness.upstream.raise_sites import RaiseSite, guard_site
from harness.upstream.source import Tree, find
from harness.verdict import ExitCode, Promise, Verdict

GUARDS = {
    (seam, clause.name): guard
    for seam, contract in CONTRACTS.items()
    for clause in contract.clauses
    if (guard := clause.guard(NEWEST, SEAMS[seam].platform))
}
#: Checks of the same seams that no entry can reach: they are listed with or without a change.
DEAD = [
    (seam, clause.name)
    for seam in dict.fromkeys(seam for seam, _ in GUARDS)
    for clause in CONTRACTS[seam].clauses
    if clause.dead_guard(NEWEST)
]
#: Those whose statement, a raise or an assert, words its error itself.
WORDED = [
    name
    for name, guard in GUARDS.items()
    if not guard.caught and not guard.maker and guard.error != RETURNED
]
#: Cases of one guard that are run on a tree.
_FEW = 3
#: Cases of one guard where its words are changed: they are the same in each.
_ONE = 1
#: Cases of one guard that are run where it has to be seen that none is refused any more.
_SOME = 6
#: Seams with fewer cases are checked whole.
_FEW_OF = 95

Name = tuple[str, str]
Change = Callable[[Guard, str], str]


def file_of(guard: Guard) -> Path:
    """Return the file of a guard, below a tree's root."""
    return Path("sglang", guard.source.path)


def site_of(newest: Tree, guard: Guard) -> tuple[Path, RaiseSite]:
    """Return the file and the statement that is a guard."""
    site = guard_site(newest.root / file_of(guard), guard)
    assert site is not None
    return file_of(guard), site


def refused_by(*names: Name) -> dict[str, Name]:
    """Return the cases that some guards refuse, each with its guard: as the snapshots say."""
    return {
        line: (seam, clause)
        for seam, clause in names
        for line, entry in read(NEWEST, SEAMS[seam]).cases.items()
        if entry["verdict"] == Verdict.REFUSED
        and clause in entry["clauses"]
        and entry["exception"] == GUARDS[seam, clause].error
        and entry.get("text", "") == GUARDS[seam, clause].text
    }


def few(*names: Name, most: int = _FEW) -> dict[str, Name]:
    """Return a few cases of each guard, from all over its own."""
    return {line: name for name in names for line in spread(list(refused_by(name)), most)}


def spread(lines: list[str], most: int) -> list[str]:
    """Return every so-many-th line, so that no more than `most` are left."""
    return lines[:: -(-len(lines) // most)] if lines else []


def cases_of(seam: str) -> list[str]:
    """Return the cases of a seam on the newest release."""
    return list(read(NEWEST, SEAMS[seam]).cases)


def edited(newest: Tree, root: Path, names: Iterable[Name], change: Change) -> Path:
    """Return the newest tree with the statements of some guards changed.

    The rest of the tree is links, so that any seam's files are there.
    """
    sites = {site_of(newest, GUARDS[name]): GUARDS[name] for name in names}
    for file in {file for file, _ in sites}:
        link_around(newest.root, root, file)
        lines = (newest.root / file).read_text().splitlines(keepends=True)
        own = [(site, guard) for (place, site), guard in sites.items() if place == file]
        for site, guard in sorted(own, key=lambda pair: pair[0].first, reverse=True):
            before = "".join(lines[site.first - 1 : site.last])
            after = change(guard, before)
            assert after != before, guard.text
            lines[site.first - 1 : site.last] = after.splitlines(keepends=True)
        (root / file).unlink(missing_ok=True)
        (root / file).write_text("".join(lines))
    (root / "sglang" / "_version.py").unlink(missing_ok=True)
    (root / "sglang" / "_version.py").write_text(f'__version__ = "{NEWEST}"\n')
    return root


def link_around(there: Path, root: Path, file: Path) -> None:
    """Make links to all that stands beside a file, on each level of its path."""
    for folder in reversed(file.parents[:-1]):
        if (root / folder).is_symlink():
            (root / folder).unlink()
        (root / folder).mkdir(parents=True, exist_ok=True)
        for neighbour in (there / folder).iterdir():
            link = root / folder / neighbour.name
            if neighbour.name != "__pycache__" and not link.exists():
                link.symlink_to(neighbour)


def removed(guard: Guard, statement: str) -> str:
    """Return `pass` in the place of a raise, and no error in the place of one to be returned."""
    named = re.match(r"\s*(\w+) = ", statement)
    gone = f"{named[1]} = None" if named else "pass"
    return re.sub(r"\S.*", f"{gone}\n", statement, count=1, flags=re.S)


def falsified(guard: Guard, statement: str) -> str:
    """Return the statement with a digit too many behind the first field of its text."""
    before = guard.text.partition("{")[0].split()[-1:] or [""]
    return re.sub(
        rf"({re.escape(before[0])}.*?\{{[^{{}}]+\}})", r"\g<1>1", statement, count=1, flags=re.S
    )


def word_of(guard: Guard) -> str:
    """Return the first word of a guard's text that is no field's."""
    word = re.search(r"[A-Za-z][\w-]+", re.sub(r"\{.*?\}", "", guard.text))
    assert word is not None
    return word[0]


def halved(statement: str) -> tuple[str, str]:
    """Return a statement up to its text, and from there on.

    An `assert` looks at the same names before it that it tells in its text.
    """
    quote = re.search(r"(?<=[\"'])(?=[^\"'])", statement)
    assert quote is not None
    return statement[: quote.start()], statement[quote.start() :]


def reworded(guard: Guard, statement: str) -> str:
    """Return the statement with one word of its text changed."""
    before, text = halved(statement)
    return before + text.replace(word_of(guard), "Something", 1)


def prefixed(guard: Guard, statement: str) -> str:
    """Return the statement with more before its text, as later releases have it."""
    before, text = halved(statement)
    return f"{before}[AR] {text}"


def retyped(guard: Guard, statement: str) -> str:
    """Return the statement with an error of another type; an `assert` becomes a raise."""
    (node,) = ast.parse(textwrap.dedent(statement)).body
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.keywords:
        # No built-in error takes a status code.
        node.exc.keywords, node.exc.func = [], ast.Name("OverflowError")
        return f"{statement[: len(statement) - len(statement.lstrip())]}{ast.unparse(node)}\n"
    if not isinstance(node, ast.Assert):
        return statement.replace(guard.error, "OverflowError", 1)
    assert node.msg is not None
    indent = statement[: len(statement) - len(statement.lstrip())]
    condition, words = ast.unparse(node.test), ast.unparse(node.msg)
    return f"{indent}if not ({condition}): raise OverflowError({words})\n"


def run(tree: Path, lines: Iterable[str]) -> list[CaseResult]:
    """Return the results of some cases."""
    # Each seam has few cases here: a third worker would load upstream once more, for nothing.
    return run_cases(find(str(tree)), [parse(line) for line in lines], workers=2)


def unlike(
    results: Iterable[CaseResult], verdict: Verdict, promise: Promise, said: str
) -> dict[str, str]:
    """Return the cases that ended otherwise, or say something else, with how."""
    return {
        result.case: f"{result.verdict}, {result.promise}, {result.exception}: {result.detail}"
        for result in results
        if (result.verdict, result.promise) != (verdict, promise) or said not in result.detail
    }


def test_without_any_guard_each_promise_of_theirs_is_broken(newest: Tree, tmp_path: Path) -> None:
    """What guards refused is refused no more, and no check of theirs is come to."""
    tree = edited(newest, tmp_path / "tree", GUARDS, removed)
    once = few(*GUARDS, most=_SOME)

    results = run(tree, once)

    broken = {once[r.case] for r in results if r.promise is Promise.BROKEN}
    assert [r.case for r in results if r.promise in (Promise.KEPT, Promise.OPEN)] == []
    assert [r.case for r in results if r.verdict is Verdict.REFUSED] == []
    assert [r.case for r in results if r.fired] == []
    assert broken == set(once.values())


def test_without_any_guard_a_check_fails_and_lists_them(newest: Tree, tmp_path: Path) -> None:
    """Whole checks, of seams with few cases: each guard is unreachable."""
    tree = edited(newest, tmp_path / "tree", GUARDS, removed)
    seams = [seam for seam in dict.fromkeys(s for s, _ in GUARDS) if len(cases_of(seam)) < _FEW_OF]
    named = [word for seam in seams for word in ("--seam", seam)]

    said = subprocess.run(
        [sys.executable, "-m", "harness.cli", "check", str(tree), *named, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )

    listed = json.loads(said.stdout)["summary"]["unreachable"]
    assert len(seams) > 4
    assert said.returncode == ExitCode.BROKEN
    assert sorted(listed) == sorted("/".join(n) for n in [*GUARDS, *DEAD] if n[0] in seams)


@pytest.mark.parametrize("half", [0, 1], ids=["the even ones", "the odd ones"])
def test_a_removed_guard_breaks_its_promise_and_no_other(
    newest: Tree, tmp_path: Path, half: int
) -> None:
    """What every second guard refused is broken; what the others refuse they still refuse."""
    sites = list(dict.fromkeys(site_of(newest, guard) for guard in GUARDS.values()))
    gone = [name for name, guard in GUARDS.items() if site_of(newest, guard) in sites[half::2]]
    # Without a guard that only passes on what others say, they are not heard either.
    deaf = {seam for seam, clause in gone if GUARDS[seam, clause].text == "{error}"}
    unheard = {symbol for name in gone for symbol in GUARDS[name].passes_on}
    # Nor has such a guard anything to say where what it passes on is gone.
    silenced = {GUARDS[name].source.symbol for name in gone}
    kept = [
        name
        for name, guard in GUARDS.items()
        if name not in gone and name[0] not in deaf
        if guard.source.symbol not in unheard and not silenced & {*guard.passes_on}
    ]
    tree = edited(newest, tmp_path / "tree", gone, removed)
    lost, same = few(*gone), few(*kept)

    results = run(tree, [*lost, *same])

    # Behind a guard may stand what is not loaded: then a case is not judged.
    spared = [
        r.case for r in results if r.case in lost and r.promise in (Promise.KEPT, Promise.OPEN)
    ]
    broken = {lost[r.case] for r in results if r.case in lost and r.promise is Promise.BROKEN}
    assert spared == []
    assert broken == set(lost.values())
    assert [r.case for r in results if r.case in same and r.verdict is not Verdict.REFUSED] == []


def exit_of(tree: Path, line: str) -> int:
    """Return the exit code of `run` on one case."""
    return CliRunner().invoke(app, ["run", line, "--sglang", str(tree)]).exit_code


def test_guards_that_say_false_numbers_are_misreported(newest: Tree, tmp_path: Path) -> None:
    """The right error with one number that is not true is no refusal."""
    names = [name for name in WORDED if "{" in GUARDS[name].text]
    tree = edited(newest, tmp_path / "tree", names, falsified)
    lied = few(*names, most=_ONE)

    results = run(tree, lied)

    wanted = (Verdict.MISREPORTED, Promise.BROKEN, "false numbers: the truth is")
    assert unlike(results, *wanted) == {}
    assert {exit_of(tree, line) for line in list(lied)[:2]} == {ExitCode.BROKEN}


def test_reworded_guards_are_misreported(newest: Tree, tmp_path: Path) -> None:
    """Another text than the documented one breaks the promise, and the documented one is said."""
    tree = edited(newest, tmp_path / "tree", WORDED, reworded)
    lied = few(*WORDED, most=_ONE)

    results = run(tree, lied)

    assert unlike(results, Verdict.MISREPORTED, Promise.BROKEN, " documents ") == {}
    assert {exit_of(tree, line) for line in list(lied)[:2]} == {ExitCode.BROKEN}


def test_guards_of_another_type_are_misreported(newest: Tree, tmp_path: Path) -> None:
    """The documented text in an error of another type is no refusal."""
    tree = edited(newest, tmp_path / "tree", WORDED, retyped)

    results = run(tree, few(*WORDED, most=_ONE))

    assert unlike(results, Verdict.MISREPORTED, Promise.BROKEN, " documents ") == {}
    assert {result.exception for result in results} == {"OverflowError"}


def test_a_prefix_before_the_text_breaks_nothing(newest: Tree, tmp_path: Path) -> None:
    """What a later release may put before the documented text leaves it the documented refusal."""
    tree = edited(newest, tmp_path / "tree", WORDED, prefixed)
    same = few(*WORDED, most=_ONE)

    results = run(tree, same)

    assert unlike(results, Verdict.REFUSED, Promise.KEPT, "") == {}
    assert {r.case for r in results if same[r.case][1] not in r.fired} == set()
