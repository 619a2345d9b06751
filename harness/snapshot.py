"""Snapshots: the verdicts of one seam on one release, as one file, one case a line.

A changed line is a changed verdict, so the diff of a file reads as the change of the contract.
Nothing in it depends on the machine: no line numbers, paths, ports or times, and no text of an
error but a guard's documented one.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.case import cases
from harness.errors import SnapshotError
from harness.result import CaseResult
from harness.seam import Seam
from harness.seams import SEAMS
from harness.verdict import Promise, Verdict

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """The verdicts of one seam on one release; `absent` says why there are none."""

    seam: str
    release: str
    cases: Mapping[str, Entry]
    absent: str = ""

    @classmethod
    def of(cls, seam: str, release: str, results: Iterable[CaseResult]) -> "Snapshot":
        """Return the snapshot of a seam from the results of a check."""
        own = [result for result in results if result.seam == seam]
        absent = next((r.detail for r in own if r.verdict is Verdict.ABSENT), "")
        return cls(seam, release, {} if absent else {r.case: _entry(r) for r in own}, absent)

    @property
    def text(self) -> str:
        """The file's content."""
        row = SEAMS[self.seam]
        head = {
            "absent": self.absent,
            "entry": row.symbol,
            "platform": row.platform,
            "release": self.release,
            "seam": self.seam,
        }
        lines = [f"  {_json(line)}: {_json(self.cases[line])}" for line in sorted(self.cases)]
        body = "{\n" + ",\n".join(lines) + "\n }" if lines else "{}"
        keys = [f" {_json(key)}: {_json(value)}" for key, value in sorted(head.items())]
        keys.insert(1, f' "cases": {body}')
        keys.insert(2, f' "digest": {_json(_digest(head, self.cases))}')
        return "{\n" + ",\n".join(keys) + "\n}\n"

    def covers_today(self) -> bool:
        """Whether it has exactly the cases that the tables have now."""
        return bool(self.absent) or set(self.cases) == {c.line for c in cases(SEAMS[self.seam])}


def _entry(result: CaseResult) -> Entry:
    entry = {
        "clauses": list(result.clauses),
        "detail": result.detail,
        "exception": result.exception,
        "promise": result.promise,
        "raised_by": result.raised_by,
        "text": result.text,
        "verdict": result.verdict,
    }
    return {key: value for key, value in entry.items() if value}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _digest(head: Mapping[str, Any], cases: Mapping[str, Entry]) -> str:
    said = _json([head, cases]).encode()
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def folder(release: str) -> Path:
    """Return the folder of a release's snapshots."""
    return Path(str(files("contracts"))) / "snapshots" / release


def read(release: str, seam: Seam) -> Snapshot:
    """Return a committed snapshot.

    Raises:
        SnapshotError: if there is none, or it is not as it was written.
    """
    file = folder(release) / f"{seam.name}.json"
    if not file.is_file():
        raise SnapshotError(f"no snapshot of {seam.name} on {release}: {file.name} is missing")
    return parse(file.read_text(encoding="utf-8"), f"{release}/{file.name}")


def parse(text: str, name: str) -> Snapshot:
    """Return the snapshot that a file's content holds.

    Raises:
        SnapshotError: if the content is no snapshot, or was edited by hand.
    """
    try:
        value = json.loads(text)
        snapshot = Snapshot(value["seam"], value["release"], value["cases"], value["absent"])
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f"snapshot {name} cannot be read: {error}") from error
    if snapshot.seam not in SEAMS or snapshot.text != text:
        raise SnapshotError(
            f"snapshot {name} is not as it was written: it was edited by hand, or its seam's row "
            "changed; write it anew with tox -e contracts -- all --snapshot-update"
        )
    return snapshot


class Change(StrEnum):
    """What a change of one case means, worst first."""

    BROKEN = "broken"
    NEWLY_OPEN = "newly open"
    NEWLY_GUARDED = "newly guarded"
    CLOSED = "closed"
    CHANGED = "changed"
    REWORDED = "reworded"
    ADDED = "added"
    GONE = "gone"


@dataclass(frozen=True)
class Difference:
    """One case that is not as it was."""

    change: Change
    case: str
    before: Entry | None
    after: Entry | None


def differences(before: Snapshot, after: Snapshot) -> list[Difference]:
    """Return what changed from one snapshot of a seam to another, worst first."""
    found = []
    for line in sorted({*before.cases, *after.cases}):
        old, new = before.cases.get(line), after.cases.get(line)
        if old != new:
            found.append(Difference(_change(old, new), line, old, new))
    order = list(Change)
    return sorted(found, key=lambda d: (order.index(d.change), d.case))


def _change(old: Entry | None, new: Entry | None) -> Change:
    if old is None or new is None:
        return Change.ADDED if old is None else Change.GONE
    was, now = old.get("promise"), new.get("promise")
    if now == Promise.BROKEN and was != Promise.BROKEN:
        return Change.BROKEN
    if now == Promise.OPEN and was != Promise.OPEN:
        return Change.NEWLY_OPEN
    if new["verdict"] == Verdict.REFUSED and old["verdict"] != Verdict.REFUSED:
        return Change.NEWLY_GUARDED
    if now == Promise.KEPT and was != Promise.KEPT:
        return Change.CLOSED
    same = (was, old["verdict"]) == (now, new["verdict"])
    return Change.REWORDED if same else Change.CHANGED
