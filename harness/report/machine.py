"""The report for machines: one JSON object."""

import json
from typing import Any

from harness.damage import told
from harness.device import Device
from harness.result import CaseResult
from harness.runner import Report
from harness.snapshot import Difference


def document(report: Report, seed: int = 0) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "release": report.release,
        "source": report.source,
        "mode": report.mode,
        **device_document(report.device),
        "seed": seed,
        "cases": [case_document(result) for result in report.results],
        "summary": {
            "verdicts": dict(report.verdicts),
            "promises": dict(report.promises),
            "unreachable": list(report.unreachable),
            "seconds": round(report.seconds, 3),
        },
    }


def device_document(device: Device) -> dict[str, Any]:
    """Return where tensors lived and how kernels ran, as JSON values."""
    return {"device": device.tensors, "kernels": device.kernels, "device_why": device.why}


def case_document(result: CaseResult) -> dict[str, Any]:
    """Return one case as JSON values."""
    harm = told(result.verdict, result.detail)
    return {
        "seam": result.seam,
        "fault": result.fault,
        "case": result.case,
        "verdict": result.verdict,
        "promise": result.promise,
        "exception": result.exception,
        "message": result.message,
        "raised_by": result.raised_by,
        "clauses": list(result.clauses),
        "detail": result.detail,
        "damage": harm.word if harm else None,
        "on_card": result.on_card,
        "seconds": round(result.seconds, 6),
    }


def changes(against: str, found: list[Difference]) -> dict[str, Any]:
    """Return what changed against another source, as JSON values."""
    return {
        "against": against,
        "differences": [
            {"change": d.change, "case": d.case, "before": d.before, "after": d.after}
            for d in found
        ],
    }


def text(value: Any) -> str:
    """Return JSON values as text."""
    return json.dumps(value, indent=1, ensure_ascii=False)
