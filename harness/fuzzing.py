"""A fuzzing run from the command line: what is looked for, and what is said of it."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from harness.case import Case, parse, seam_named
from harness.device import Device, choose
from harness.errors import unknown
from harness.fuzz import Search, Wanted, pasteable_test, search, unfit, with_verdict
from harness.named_cases import check_name, keep
from harness.pool import Pool
from harness.report.digest import SEVERITY, counted
from harness.report.machine import case_document, device_document
from harness.report.one import show as show_one
from harness.runner import absence
from harness.telling import Telling
from harness.upstream.source import Tree, find
from harness.verdict import Verdict


@dataclass(frozen=True)
class Found:
    """What a fuzzing run found on a tree."""

    tree: Tree
    device: Device
    seam: str
    search: Search
    absent: str = ""

    @property
    def is_unfit(self) -> bool:
        """Whether something was found that no release should do."""
        return self.search.found is not None and unfit(self.search.found)

    @property
    def case(self) -> Case | None:
        """The smallest case that was found."""
        return parse(self.search.found.case) if self.search.found is not None else None

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        found = self.search.found
        return {
            "release": self.tree.release,
            "source": self.tree.name,
            **device_document(self.device),
            "seam": self.seam,
            "absent": self.absent,
            "tried": self.search.tried,
            "verdicts": {str(v): n for v, n in self.search.verdicts.items()},
            "found": case_document(found) if found else None,
            "payload": found.payload if found else None,
            "test": pasteable_test(found) if found else None,
        }


def fuzz_seam(
    source: str,
    name: str,
    verdicts: tuple[str, ...],
    examples: int,
    seed: int,
    kept: str | None,
    device: str,
    telling: Telling,
) -> Found:
    """Return what fuzzing one seam of a source found.

    Raises:
        UsageError: if the seam, a verdict or the device is none, or the name to keep it under is
            taken.
        SourceError: if there is no such source.
    """
    on, seam, tree = choose(device), seam_named(name), find(source, telling.say)
    wanted = _wanted(verdicts)
    if kept is not None:
        check_name(kept)
    if reason := absence(tree, seam):
        return Found(tree, on, name, Search(), reason)
    with Pool(tree, on, workers=1) as pool:
        done = search(pool, seam, wanted, examples, seed, telling.progress)
    found = Found(tree, on, name, done)
    if kept is not None and found.case is not None:
        keep(kept, found.case)
    return found


def _wanted(verdicts: tuple[str, ...]) -> Wanted:
    for verdict in verdicts:
        if verdict not in list(Verdict):
            raise unknown("verdict", verdict, Verdict)
    return with_verdict([Verdict(verdict) for verdict in verdicts]) if verdicts else unfit


def show(found: Found, out: Console) -> None:
    """Print what was found: the case, its payload, and a test to paste."""
    if found.absent:
        out.print(f"{found.seam} is absent: {escape(found.absent)}", highlight=False)
        return
    done = found.search
    tried = counted((v, done.verdicts[v]) for v in SEVERITY if done.verdicts[v])
    out.print(f"{done.tried} cases tried: {tried}", style="bold", highlight=False)
    if done.found is None or found.case is None:
        out.print("Nothing of what was looked for was found.", highlight=False)
        return
    show_one(found.tree, found.device, found.case, done.found, out)
    out.print("\nTo paste into a test:\n", highlight=False)
    out.print(escape(pasteable_test(done.found)), highlight=False)
