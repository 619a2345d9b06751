"""The calibration sees where Triton's interpreter lies, and a kernel that leaves its tensor."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.device import CUDA, NATIVE, ON_CPU, Device
from harness.kernels import trust
from harness.kernels.trust import Trust


def test_moves_are_trusted_and_sums_of_bfloat16_are_not() -> None:
    """The interpreter adds the bits of bfloat16, and would make a right kernel look wrong."""
    found = trust.trust()

    assert found.broken == ""
    for dtype in ("float32", "float16", "bfloat16", "int32", "int64"):
        assert found.lacks([f"move {dtype}", f"masked load {dtype}"]) == ""
    for operation in ("add", "mul", "reduction", "scan", "dot"):
        assert found.lacks([f"{operation} float32"]) == ""
    # As on a card: a product that does not fit into 32 bits is cut off.
    assert found.lacks(["move int8", "masked load int8", "int32 wrap int32"]) == ""
    if found.triton.startswith("3.9."):
        assert found.cells["add bfloat16"] == "-0.0 where torch has 5.0"
        assert found.lacks(["move bfloat16", "add bfloat16"]).endswith("trusted with add bfloat16")
        assert "mask has unsupported dtype" in found.cells["mask of a number float32"]
        assert (
            found.lacks([f"loop of a loaded number {dtype}" for dtype in ("int32", "int64")]) == ""
        )


def test_a_need_that_is_never_tried_is_an_error_of_ours() -> None:
    """It is no trust."""
    with pytest.raises(KeyError, match="levitate"):
        trust.trust().lacks(["levitate float32"])


def test_a_card_lacks_nothing_and_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is the interpreter's."""
    monkeypatch.setattr(trust, "trust", lambda: Trust("3.9.0", {"add bfloat16": "a lie"}))

    assert trust.lacks(Device(CUDA, NATIVE, ""), ["add bfloat16"]) == ""
    assert trust.lacks(ON_CPU, ["add bfloat16"]).endswith("trusted with add bfloat16")


def test_without_a_calibration_nothing_can_be_run(tmp_path: Path) -> None:
    """The reason says what its program ended in."""
    (tmp_path / "triton.py").write_text("raise ImportError('no triton here')")
    code = "from harness.kernels.trust import trust; print(trust().lacks([]), trust().broken)"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )

    assert (
        "cannot be had: seamproof doctor says why its calibration ended with 1: Imp" in said.stdout
    )


def test_the_doctor_shows_the_table() -> None:
    """A line for each operation."""
    said = CliRunner().invoke(app, ["doctor"]).stdout

    assert "\n  move               " in said
    assert "\n  mask of a number   " in said
    if "of Triton 3.9." in said:
        assert "no bfloat16 (-0.0 where torch has 5.0)" in said


TOY = """
import torch, triton, triton.language as tl
from harness.kernels.margins import Margins, margined

@triton.jit
def shifted(x, out, by_read, by_write, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at + by_write, tl.load(x + at + by_read))

def run(by_read, by_write):
    margins = Margins()
    x = margins.around(torch.arange(8).float(), "x")
    with margins:
        out = torch.empty(8)
    shifted[(1,)](x, out, by_read, by_write, 8)
    return out, margins.written()

out, said = run(0, 0)
assert out.tolist() == list(range(8)) and said == "", (out, said)
out, said = run(2, 0)
assert out[:6].tolist() == [2, 3, 4, 5, 6, 7] and out[6:].isnan().all() and said == ""
out, said = run(-3, 0)
assert out[:3].isnan().all() and out[3:].tolist() == [0, 1, 2, 3, 4] and said == ""
out, said = run(0, 3)
assert out[:3].isnan().all() and said.endswith(" written: 3 behind it"), said
out, said = run(0, -1)
assert said.endswith("allocated as (8,) written: 1 before it"), said
"""


def test_a_toy_kernel_that_leaves_its_tensor_is_seen(tmp_path: Path) -> None:
    """A read brings poison, a write changes it, at both ends; what no one wrote is poison."""
    file = tmp_path / "toy.py"
    file.write_text(textwrap.dedent(TOY))
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )

    assert (done.returncode, done.stderr) == (0, "")
