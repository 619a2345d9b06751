"""The hermetic loader against the full installation, case by case."""

import importlib.metadata
from dataclasses import replace

from harness.result import CaseResult
from harness.runner import check


def test_hermetic_and_installed_judge_every_case_alike() -> None:
    """Any difference is a fault of the hermetic loader."""
    release = importlib.metadata.version("sglang")
    hermetic, installed = check(release), check("installed")

    assert [_seen(r) for r in hermetic.results] == [_seen(r) for r in installed.results]
    assert hermetic.unreachable == installed.unreachable


def _seen(result: CaseResult) -> CaseResult:
    # Time differs by nature, and a frame's line only in the installed file's header.
    return replace(result, seconds=0.0, frames=(), undecorated=())
