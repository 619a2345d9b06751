"""What surrounds a launch: kernels that end late, and kernels that are barred."""

import subprocess
import sys
from types import ModuleType

import pytest
import torch

from harness.consumers.consumer import Lacking
from harness.kernels.launch import as_its_twin, bar, beside, landed, rows_of
from harness.outcome import Whose

#: A kernel that reads where no memory is: the card says so when it is waited for.
LOST = """
import signal, torch
from harness.kernels.launch import landed

def lost(): raise torch.AcceleratorError("CUDA error: an illegal memory access", 700)
torch.cuda.synchronize = lost
landed(torch.device("cuda"), lambda: 7)
"""


def test_a_lost_card_takes_the_process_with_it() -> None:
    """No later case of that process could be judged."""
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, check=False)

    assert done.returncode == -6


def test_a_call_on_the_cpu_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no card to wait for."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: pytest.fail("a card was waited for"))

    assert landed(torch.device("cpu"), lambda: 7) == 7


def test_a_barred_kernel_says_what_is_lacking_as_it_is_launched() -> None:
    """One that nothing is lacking for stays as it is."""
    module = ModuleType("upstream")
    kernel = {(1,): "launched"}
    module.first, module.second = kernel, kernel  # type: ignore[attr-defined]

    bar(module, "first", "a mask")
    bar(module, "second", "")

    with pytest.raises(Lacking, match="a mask"):
        module.first[(1,)]  # type: ignore[attr-defined]
    assert module.second[(1,)] == "launched"  # type: ignore[attr-defined]


def test_what_was_written_beside_is_wrong_even_in_a_golden_run() -> None:
    """It is told as provenance, which every run is judged by."""
    (right,), (wrong,) = beside(""), beside("3 behind it")

    assert right.right
    assert not wrong.right
    assert "3 behind it" in wrong.place


def test_an_output_is_held_against_its_twin() -> None:
    """NaN is NaN; another shape is another thing."""
    made = torch.tensor([1.0, float("nan")])

    assert as_its_twin(made, made.clone())[0].right
    assert not as_its_twin(made, torch.tensor([1.0, 2.0]))[0].right
    assert not as_its_twin(made, made[None])[0].right


def test_rows_beyond_what_is_wanted_are_no_ones() -> None:
    """Whosever they are, they should not be there."""
    found = rows_of("it", [Whose("a", 0)], [Whose("a", 0), Whose("a", 1)])

    assert [span.right for span in found] == [True, False]
