"""What another source said: read where it was made as it would be now, else run."""

import pytest

from contracts.releases import NEWEST
from harness.against import compare, prepare
from harness.device import CUDA, INTERPRETER, NATIVE, ON_CPU, Device
from harness.runner import Report, Selection
from harness.upstream.source import Tree


@pytest.mark.parametrize(
    ("device", "runs"),
    [
        (ON_CPU, []),
        (Device(CUDA, INTERPRETER, "a card"), [NEWEST]),
        (Device(CUDA, NATIVE, "a card"), [NEWEST]),
    ],
)
@pytest.mark.parametrize("seam", ["ar-split", "kernel-pack-qkv"])
def test_against_a_release_on_a_card_runs_it_there_too(
    newest: Tree, seam: str, device: Device, runs: list[str]
) -> None:
    """The committed snapshots are the CPU's; where kernels are interpreted, they are theirs too."""
    ran: list[str] = []
    report = Report(newest, device, ())

    def run(source: str) -> Report:
        ran.append(source)
        return report

    prepare(NEWEST, Selection([seam]), device, lambda said: pytest.fail(said))
    compare(report, NEWEST, Selection([seam]), run)

    assert ran == ([] if device.interprets(seam.startswith("kernel-")) else runs)
