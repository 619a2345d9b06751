"""The hermetic loader against the full installation, case by case."""

import importlib.metadata
import re
from dataclasses import replace

from harness.result import CaseResult
from harness.runner import check


def test_hermetic_and_installed_judge_every_case_alike() -> None:
    """Any difference is a fault of the hermetic loader."""
    release = importlib.metadata.version("sglang")
    hermetic, installed = check(release), check("installed")
    pairs = zip(hermetic.results, installed.results, strict=True)

    assert [(h, i) for h, i in pairs if _seen(h) != _seen(i)] == []
    assert hermetic.unreachable == installed.unreachable
    assert len(hermetic.results) > 100


def _seen(result: CaseResult) -> CaseResult:
    # Time and the server's port differ by nature; the hermetic loader says which decorators it
    # left out.
    message = re.sub(r":\d{4,5}\b", ":PORT", result.message or "")
    return replace(result, seconds=0.0, undecorated=(), message=message)
