"""The tables, listed: seams, clauses, faults, verdicts, releases, cases and holes."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from contracts import CONTRACTS
from contracts.releases import NEWEST, RELEASES
from harness.case import cases
from harness.errors import unknown
from harness.holes import holes
from harness.named_cases import kept
from harness.report import holes as of_holes
from harness.reported_cases import REPORTED
from harness.seams import SEAMS
from harness.snapshot import folder
from harness.verdict import Verdict
from simulators.faults import FAULTS

_WHAT = ("seams", "clauses", "faults", "verdicts", "releases", "cases", "holes")
#: What of a hole has room on a screen.
_OF_HOLE = ("damage", "seam", "clause", "verdict", "cases")

VERDICTS = {
    Verdict.UPHELD: "golden run: accepted, and the output is right",
    Verdict.REFUSED: "the documented refusal came, and what it says is true",
    Verdict.MISREPORTED: "it ended in an error, but another one, or with false numbers",
    Verdict.TOLERATED: "accepted under a fault, and the output is the golden run's",
    Verdict.SILENT: "accepted, and the output is wrong",
    Verdict.FALSE_ALARM: "a payload that breaks no clause was refused",
    Verdict.CRASHED: "the process died",
    Verdict.HUNG: "no answer within the deadline",
    Verdict.INCONCLUSIVE: "could not be judged; never a pass",
    Verdict.UNAVAILABLE: "known beforehand that this machine cannot run it",
    Verdict.ABSENT: "this release has no such function",
}


def listing(what: str) -> list[dict[str, Any]]:
    """Return the rows of one table.

    Raises:
        UsageError: if there is no such table.
    """
    if what not in _WHAT:
        raise unknown("list", what, _WHAT)
    if what == "holes":
        return of_holes.rows(holes(NEWEST))
    rows: dict[str, list[dict[str, Any]]] = {
        "seams": [_seam(name) for name in SEAMS],
        "clauses": [row for name in SEAMS for row in _clauses(name)],
        "faults": [
            {"fault": f.name, "kind": f.kind, "of": "+".join(f.forms), "picture": f.picture}
            for f in FAULTS.values()
        ],
        "verdicts": [{"verdict": str(v), "means": text} for v, text in VERDICTS.items()],
        "cases": [
            {"case": name, "line": case.line, "story": case.story}
            for name, case in REPORTED.items()
        ]
        + [{"case": name, "line": line, "story": "kept here"} for name, line in kept().items()],
        "releases": [
            {"release": r, "snapshots": len(list(folder(r).glob("*.json")))} for r in RELEASES
        ],
    }
    return rows[what]


def _seam(name: str) -> dict[str, Any]:
    row = SEAMS[name]
    return {
        "seam": name,
        "cases": sum(1 for _ in cases(row)),
        "entry": row.symbol,
        "platform": row.platform,
        "summary": CONTRACTS[name].summary,
    }


def _clauses(seam: str) -> list[dict[str, Any]]:
    return [
        {
            "clause": f"{seam}/{clause.name}",
            "guarded": ", ".join(str(guard.span) for guard in clause.guards) or "-",
            "sentence": clause.sentence,
        }
        for clause in CONTRACTS[seam].clauses
    ]


def markdown(what: str) -> str:
    """Return one table as Markdown; holes as a page.

    Raises:
        UsageError: if there is no such table.
    """
    if what == "holes":
        return of_holes.page(NEWEST, holes(NEWEST))
    rows = listing(what)
    lines = [_line(rows[0]), _line(["---"] * len(rows[0]))]
    return "\n".join([*lines, *(_line(row.values()) for row in rows)]) + "\n"


def _line(values: Iterable[Any]) -> str:
    return "| " + " | ".join(str(value).replace("|", "\\|") for value in values) + " |"


def show(what: str, rows: list[dict[str, Any]], out: Console) -> None:
    """Print the rows as a table."""
    if what == "holes":
        rows = [{key: row[key] for key in _OF_HOLE} for row in rows]
    table = Table(box=None, title=what, title_justify="left", title_style="bold")
    for key in rows[0]:
        table.add_column(key, justify="right" if isinstance(rows[0][key], int) else "left")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    out.print(table, markup=False, highlight=False)
