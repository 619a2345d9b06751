"""A case for which this machine lacks something is told before it runs, and is no pass."""

import pytest

from harness.case import parse
from harness.device import CUDA, NATIVE, Device
from harness.kernels import trust
from harness.kernels.trust import Trust
from harness.runner import run_cases
from harness.seams import SEAMS
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


SCATTER = "kernel-varlen-pack {} lengths=3,2 entry=scatter"


def test_a_barred_kernel_is_unavailable_and_the_checks_before_it_are_judged(newest: Tree) -> None:
    """Upstream's own checks run; only what comes to the launch cannot be said."""
    if not trust.trust().lacks(["mask of a number float32"]):
        pytest.skip("this interpreter runs the kernel")
    lines = [SCATTER.format(fault) for fault in ("noop", "packed-flat", "indices-past-end")]
    results = run_cases(newest, [parse(line) for line in lines], workers=1)

    golden, refused, raised = results
    assert (golden.verdict, golden.promise) == (Verdict.UNAVAILABLE, None)
    assert "cannot be trusted with mask of a number float32" in golden.detail
    assert refused.verdict is Verdict.REFUSED
    assert (raised.verdict, raised.exception) == (Verdict.MISREPORTED, "IndexError")


@pytest.mark.parametrize("seam", [name for name, seam in SEAMS.items() if seam.kernel])
def test_a_kernel_seam_needs_moves_that_can_be_trusted(
    seam: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the dtype of the case, in the interpreter; a card is trusted."""
    row = SEAMS[seam]
    dims = {name: dim.default or "" for name, dim in row.dims.items()} | {"dtype": "bfloat16"}
    distrust = {cell: "a lie" * cell.endswith("bfloat16") for cell in trust.trust().cells}
    monkeypatch.setattr(trust, "trust", lambda: Trust("9", distrust))

    assert "trusted with move bfloat16: a lie" in row.lacks(dims, Device())
    assert row.lacks({**dims, "dtype": "float32"}, Device()) == ""
    assert row.lacks(dims, Device(CUDA, NATIVE, "")) == ""
