"""The report for a pull request: Markdown, with what needs an eye before the tables."""

from harness.report.digest import (
    broken,
    counted,
    head,
    kernels,
    not_judged,
    replay,
    rows,
    totals,
    unreachable,
)
from harness.runner import Report
from harness.snapshot import Difference
from harness.verdict import Verdict


def text(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [f"### {head(report)}", "", totals(report), ""]
    if where := kernels(report):
        lines += [where, ""]
    for result in broken(report):
        why = result.detail or f"{result.exception}: {result.message}"
        lines += [f"- **broken** `{result.case}`: {result.verdict}, {_plain(why)}"]
    for results in not_judged(report):
        one = results[0]
        lines += [f"- {one.seam}: {len(results)} {one.verdict}, {_plain(one.detail)}"]
    if report.unreachable:
        lines += [f"- unreachable guards: {'; '.join(unreachable(report))}"]
    for seam, faults in rows(report).items():
        if faults[0].results[0].verdict is Verdict.ABSENT:
            continue
        lines += ["", f"#### {seam}", "", "| fault | cases | verdicts | promise | the worst |"]
        lines += ["| --- | ---: | --- | --- | --- |"]
        lines += [
            f"| {row.fault} | {row.count} | {counted(row.verdicts)} | {row.promise or '-'} "
            f"| {_cell(row.words)} |"
            for row in faults
        ]
    again = next((r for r in report.results if r.verdict is Verdict.SILENT), None)
    if again is not None:
        lines += ["", f"Replay one: `{replay(report, again)}`"]
    return "\n".join(lines) + "\n"


def changes(against: str, found: list[Difference]) -> str:
    """Return what changed against another source, as Markdown."""
    lines = ["", f"#### Against {against}: {len(found)} cases differ", ""]
    for difference in found:
        was = (difference.before or {}).get("verdict", "not there")
        now = (difference.after or {}).get("verdict", "not there")
        lines += [f"- {difference.change}: `{difference.case}`: {was} -> {now}"]
    return "\n".join(lines) + "\n"


def _plain(words: str) -> str:
    return " ".join(words.split())


def _cell(words: str) -> str:
    return _plain(words).replace("|", "\\|")[:120]
