"""One case with everything that was seen."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from contracts import CONTRACTS
from harness.case import Case
from harness.damage import shows, told
from harness.device import Device
from harness.given_faults import fault_named
from harness.report.machine import case_document, device_document
from harness.result import CaseResult
from harness.seams import SEAMS
from harness.upstream.source import Tree

#: Characters of a request or payload that are shown to a person; JSON has them all.
_SHOWN = 300


def document(tree: Tree, device: Device, result: CaseResult) -> dict[str, Any]:
    """Return one case as JSON values."""
    return {
        "release": tree.release,
        "source": tree.name,
        "mode": tree.mode,
        **device_document(device),
        **in_full(result),
    }


def in_full(result: CaseResult) -> dict[str, Any]:
    """Return a result as JSON values: what a check says of it, and all else that was seen."""
    return {
        **case_document(result),
        "violations": list(result.violations),
        "frames": list(result.frames),
        "ranks": list(result.ranks),
        "undecorated": list(result.undecorated),
        "request": result.request,
        "payload": result.payload,
    }


def show(tree: Tree, device: Device, case: Case, result: CaseResult, out: Console) -> None:
    """Print one case: what was done, what it broke, what upstream did, and the verdict."""
    seam = SEAMS[result.seam]

    def line(label: str, text: str) -> None:
        out.print(f"[bold]{label:<10}[/] {escape(text)}", highlight=False)

    line("case", result.case)
    line("upstream", f"SGLang {tree.release}, {tree.mode}, {seam.symbol}, platform {seam.platform}")
    line("device", str(device))
    line("contract", CONTRACTS[seam.name].summary)
    for step in case.steps:
        picture = fault_named(step.fault).picture
        line("fault", f"{step.fault} at {step.at or 'the whole'}: {picture}")
    if result.payload:
        line("asked", _short(result.request))
        line("payload", _short(result.payload))
    for violation in result.violations or ("nothing",):
        line("breaks", violation)
    if result.exception:
        line("ended in", f"{result.exception}: {result.message} (raised by {result.raised_by})")
    for frame in result.frames:
        line("", frame)
    for rank in result.ranks:
        line("did", rank)
    line("verdict", f"{result.verdict}{': ' + result.detail if result.detail else ''}")
    if harm := told(result.verdict, result.detail):
        line("damage", f"{harm.word}: {shows(result.seam, harm)}")
    line("promise", str(result.promise or "none"))
    line("seconds", f"{result.seconds:.4f}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ... ({len(text)} characters)"
