"""A case for which this machine lacks something is told before it runs, and is no pass."""

import pytest

from harness.case import parse
from harness.runner import run_cases
from harness.upstream.source import Tree
from harness.verdict import Verdict

RING = "shard-strategy noop rows=4,4 strategy=ring"
ULYSSES = "shard-strategy noop rows=4,4 strategy=ulysses"


def test_what_this_device_cannot_run_is_unavailable_and_the_rest_is_judged(newest: Tree) -> None:
    """With the reason, and without a promise."""
    results = run_cases(newest, [parse(RING), parse(ULYSSES)], device="cpu", workers=1)

    found = {result.case: result for result in results}
    assert found[ULYSSES].verdict is Verdict.UPHELD
    assert (found[RING].verdict, found[RING].promise) == (Verdict.UNAVAILABLE, None)
    assert found[RING].detail == "strategy=ring needs the flash-attention kernel of CUDA"


def test_a_run_of_nothing_but_such_cases_starts_no_worker(
    newest: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is still told."""
    monkeypatch.delattr("harness.pool._Worker")

    (result,) = run_cases(newest, [parse(RING)], device="cpu")

    assert result.verdict is Verdict.UNAVAILABLE
