"""The list of holes: as rows for a table or a machine, and as a page to read."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from contracts import CONTRACTS
from contracts.releases import RELEASES
from harness.holes import Hole

_COMMAND = "seamproof list holes --format markdown > docs/holes.md"
#: Faults of one hole that the page names.
_NAMED = 4


def rows(found: Sequence[Hole]) -> list[dict[str, Any]]:
    """Return one row for each hole."""
    return [
        {
            "damage": hole.damage.word,
            "seam": hole.seam,
            "clause": hole.clause,
            "verdict": str(hole.verdict),
            "cases": len(hole.lines),
            "shows": hole.shows,
            "faults": hole.faults,
            "releases": list(hole.releases),
            "replay": hole.replay,
        }
        for hole in found
    ]


def page(release: str, found: Sequence[Hole]) -> str:
    """Return the holes of a release as Markdown, the worst first."""
    total = sum(len(hole.lines) for hole in found)
    lines = [
        f"# Holes of SGLang {release}",
        "",
        f"Every case that {release} takes without a word and answers wrongly (`silent`), never",
        f"answers (`hung`) or dies of (`crashed`): {total:,} cases in {len(found)} holes, the",
        "worst first. A hole is the cases that break one clause of a seam first and do the same",
        "damage. Upstream promises none of it: these clauses are assumed, and a pull request that",
        "guards one closes its hole. What passes at a seam, and what each clause says, is told by",
        "`seamproof explain SEAM`.",
        "",
        "Written from the committed snapshots, and not by hand:",
        "",
        f"    {_COMMAND}",
    ]
    for damage, of_damage in groupby(found, lambda hole: hole.damage):
        same = list(of_damage)
        count = sum(len(hole.lines) for hole in same)
        lines += ["", f"## {damage.word.capitalize()}: {count:,} cases", ""]
        lines += [f"{damage.meaning[0].upper()}{damage.meaning[1:]}."]
        for seam, of_seam in groupby(same, lambda hole: hole.seam):
            lines += _of_seam(seam, list(of_seam))
    return "\n".join(lines) + "\n"


def _of_seam(seam: str, found: Sequence[Hole]) -> list[str]:
    lines = ["", f"### {seam}", "", f"What a user sees: {found[0].shows}", ""]
    lines += ["| clause | what holds no longer | cases | faults | releases | replay |"]
    lines += ["| --- | --- | ---: | --- | --- | --- |"]
    return lines + [
        f"| {hole.clause or '-'} | {_sentence(hole)} | {len(hole.lines)} | {_named(hole.faults)} "
        f"| {_span(hole.releases)} | `{hole.replay}` |"
        for hole in found
    ]


def _sentence(hole: Hole) -> str:
    if not hole.clause:
        return "nothing is broken"
    sentence: str = CONTRACTS[hole.seam].clause(hole.clause).sentence
    return sentence.replace("|", "\\|")


def _named(faults: Sequence[str]) -> str:
    more = f" and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
    return ", ".join(f"`{fault}`" for fault in faults[:_NAMED]) + more


def _span(releases: Sequence[str]) -> str:
    """Return releases in words: all, runs of neighbours, and single ones."""
    if len(releases) == len(RELEASES):
        return "all"
    runs: list[list[str]] = []
    for release in releases:
        follows = runs and RELEASES.index(runs[-1][-1]) + 1 == RELEASES.index(release)
        if follows:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
