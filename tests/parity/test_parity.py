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
    # Time, the server's port and the folders of the libraries in a hang's stack differ by nature;
    # the hermetic loader says which decorators it left out. How torch words the loss of a peer
    # is chance, and so is what each rank of a group says of it.
    is_lost = bool(result.ranks) and result.raised_by == "torch"
    return replace(
        result,
        seconds=0.0,
        undecorated=(),
        message="" if is_lost else _without_port(result.message or ""),
        ranks=(),
        violations=tuple(map(_without_port, result.violations)),
        frames=tuple(f if f.startswith("sglang/") else f.rpartition("/")[2] for f in result.frames),
    )


def _without_port(text: str) -> str:
    return re.sub(r"(:|port=)\d{4,5}\b", r"\1PORT", text)
