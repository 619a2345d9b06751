"""Holes: what a release takes without a word, or dies or hangs of, read from its snapshots.

Cases that break the same clause of a seam first, with the same verdict and damage, are one hole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts.releases import RELEASES
from harness.case import parse
from harness.damage import HARMFUL, Damage, damage_of, shows
from harness.errors import SnapshotError
from harness.seams import SEAMS
from harness.snapshot import Entry, read
from harness.verdict import Verdict


@dataclass(frozen=True)
class Hole:
    """Cases of one seam that end alike, and for the same reason."""

    seam: str
    #: The first clause that is broken; empty where none is.
    clause: str
    verdict: Verdict
    damage: Damage
    #: Lines of the cases, in order.
    lines: Sequence[str]
    #: Releases on which one of them ends so too.
    releases: Sequence[str]

    @property
    def faults(self) -> list[str]:
        """The faults that show it, each once."""
        named = ("+".join(step.fault for step in parse(line).steps) for line in self.lines)
        return list(dict.fromkeys(named))

    @property
    def replay(self) -> str:
        """The command that runs its shortest case."""
        line = min(self.lines, key=lambda text: (len(text), text))
        return f"seamproof run '{line}' --sglang {self.releases[-1]}"

    @property
    def shows(self) -> str:
        """What a user of the server sees of it."""
        return shows(self.seam, self.damage)


def holes(release: str) -> list[Hole]:
    """Return the holes of a release, the worst first.

    Raises:
        SnapshotError: if a snapshot of the release is missing or was edited.
    """
    found: dict[tuple[str, str, Verdict, Damage], list[str]] = {}
    for seam in SEAMS:
        for line, entry in read(release, SEAMS[seam]).cases.items():
            verdict = Verdict(entry["verdict"])
            if verdict in HARMFUL:
                damage = damage_of(verdict, entry.get("detail", ""))
                found.setdefault((seam, _first(entry), verdict, damage), []).append(line)
    known = {seam: _open_lines(seam, release) for seam in SEAMS}
    made = [
        Hole(*key, lines=sorted(lines), releases=_with(known[key[0]], lines))
        for key, lines in found.items()
    ]
    order = list(Damage)
    return sorted(made, key=lambda hole: (order.index(hole.damage), hole.seam, hole.clause))


def _first(entry: Entry) -> str:
    clauses: Sequence[str] = entry.get("clauses", ())
    return clauses[0] if clauses else ""


def _open_lines(seam: str, release: str) -> dict[str, set[str]]:
    """Return for each release up to one the lines that end so."""
    there: dict[str, set[str]] = {}
    for one in RELEASES[: RELEASES.index(release) + 1]:
        try:
            cases = read(one, SEAMS[seam]).cases
        except SnapshotError:
            if one == release:
                raise
            continue
        there[one] = {line for line, entry in cases.items() if Verdict(entry["verdict"]) in HARMFUL}
    return there


def _with(known: dict[str, set[str]], lines: Iterable[str]) -> list[str]:
    wanted = set(lines)
    return [release for release, there in known.items() if there & wanted]
