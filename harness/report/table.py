"""The report for a person at a terminal: a table for each seam, then what needs an eye."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.report.digest import (
    FaultRow,
    broken,
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
from harness.verdict import Promise, Verdict

_STYLES = {
    Verdict.SILENT: "bold yellow",
    Verdict.CRASHED: "bold red",
    Verdict.HUNG: "bold red",
    Verdict.MISREPORTED: "yellow",
    Verdict.FALSE_ALARM: "red",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.REFUSED: "green",
    Verdict.UPHELD: "green",
    Verdict.TOLERATED: "cyan",
}
_PROMISES = {Promise.KEPT: "green", Promise.OPEN: "yellow", Promise.BROKEN: "bold red"}


def show(report: Report, out: Console) -> None:
    """Print a report."""
    out.print(head(report), style="bold", highlight=False)
    if where := kernels(report):
        out.print(where, highlight=False)
    for seam, faults in rows(report).items():
        if faults[0].results[0].verdict is not Verdict.ABSENT:
            out.print(_table(seam, faults))
    for results in not_judged(report):
        one, many = results[0], f" ({len(results)} cases)" if len(results) > 1 else ""
        out.print(
            f"[bold]{one.seam}[/] is {one.verdict}{many}: {escape(one.detail)}", highlight=False
        )
    for result in broken(report):
        out.print(f"[bold red]broken[/] {escape(result.case)}", highlight=False, soft_wrap=True)
        seen = f"{result.exception}: {result.message}" if result.exception else ""
        out.print(f"  {result.verdict}: {escape(result.detail or seen)}", highlight=False)
    if report.unreachable:
        out.print(
            f"Unreachable, no case comes to the guard: {'; '.join(unreachable(report))}",
            highlight=False,
        )
    out.print(totals(report), style="bold", highlight=False)
    again = next((r for r in report.results if r.verdict is Verdict.SILENT), None)
    if again is not None:
        # In one piece however long, so that it can be copied.
        out.print(f"Look at one: {escape(replay(report, again))}", highlight=False, soft_wrap=True)


def _table(seam: str, faults: list[FaultRow]) -> Table:
    table = Table(title=seam, title_justify="left", title_style="bold", box=None, expand=False)
    table.add_column("fault", no_wrap=True, max_width=26, overflow="ellipsis")
    table.add_column("cases", justify="right", no_wrap=True, min_width=5)
    table.add_column("verdicts", overflow="fold", min_width=14)
    table.add_column("promise", no_wrap=True, min_width=7)
    table.add_column("the worst of them", no_wrap=True, overflow="ellipsis", max_width=34)
    for row in faults:
        verdicts = ", ".join(
            f"[{_STYLES.get(verdict, 'default')}]{count} {verdict}[/]"
            for verdict, count in row.verdicts
        )
        promise = f"[{_PROMISES[row.promise]}]{row.promise}[/]" if row.promise else "-"
        table.add_row(row.fault, str(row.count), verdicts, promise, escape(row.words))
    return table


def show_differences(against: str, found: list[Difference], out: Console) -> None:
    """Print what changed against another source, worst first."""
    if not found:
        out.print(f"No case differs from {against}.", highlight=False)
        return
    out.print(f"{len(found)} cases differ from {against}:", style="bold", highlight=False)
    for change in dict.fromkeys(d.change for d in found):
        same = [d for d in found if d.change is change]
        out.print(f"  {change}: {len(same)}", highlight=False)
        for difference in same[:10]:
            was = (difference.before or {}).get("verdict", "not there")
            now = (difference.after or {}).get("verdict", "not there")
            said = f"    {escape(difference.case)}: {was} -> {now}"
            out.print(said, highlight=False, soft_wrap=True)
        if len(same) > 10:
            out.print(f"    and {len(same) - 10} more", highlight=False)
