"""compute-sanitizer around the kernels: its log is read, and what it lacks is told."""

import sys
from pathlib import Path

import pytest

from harness import sanitizer as module
from harness.gpu_part import Asked
from harness.kernels import margins
from harness.sanitizer import findings, sanitizer
from harness.upstream.source import Tree

#: As the tool's documentation shows what it writes, with a planted read at the end.
LOG = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at _pack_kernel+0x160 in pack.py:6
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c00001 is misaligned
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x7f6c8d7d1a2f] in libcuda.so.1
=========
========= Invalid __global__ write of size 4 bytes
=========     at _pack_kernel+0x1a0 in pack.py:6
=========     by thread (1,0,0) in block (0,0,0)
=========     Address 0x7f6510c00005 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f6510c00000 of size 4 bytes
=========
========= Invalid __shared__ read of size 2 bytes
=========     at 0x90 in rows.py:10:_rows_kernel(float *)
=========     by thread (0,0,0) in block (3,0,0)
=========     Address 0x20000000 is out of bounds
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on \
CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
"""
PLANTED = """\
========= Invalid __global__ read of size 4 bytes
=========     at _planted_kernel+0x90 in sanitized.py:36
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c40000 is out of bounds
=========
"""
END = "========= ERROR SUMMARY: 4 errors\n"
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def test_each_kind_and_place_is_one_sentence() -> None:
    """With how often; addresses are left out, and what was planted is no finding."""
    found = findings(LOG + PLANTED + END)

    assert found.said == (
        "Invalid __global__ write of size 4 bytes at _pack_kernel in pack.py:6, 2 times",
        "Invalid __shared__ read of size 2 bytes at rows.py:10:_rows_kernel(float *)",
        'Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on '
        "CUDA API call to cudaDeviceSynchronize.",
    )
    assert (found.saw_planted, found.is_whole) == (True, True)


def test_a_log_without_findings_has_none() -> None:
    """One that breaks off is not whole, and one without the planted read says so."""
    found = findings(CLEAN)

    assert (found.said, found.saw_planted, found.is_whole) == ((), False, True)
    assert not findings(LOG + PLANTED).is_whole
    assert not findings("").is_whole


def test_without_the_program_the_part_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason."""
    monkeypatch.setenv("PATH", str(tmp_path))
    part = sanitizer(Asked(tmp_path, "interpreter", True, None, True))

    assert (part.state, part.said) == (
        "unavailable",
        ["there is no compute-sanitizer on the path"],
    )


@pytest.mark.parametrize(
    ("log", "state", "said"),
    [
        (CLEAN, "fit", []),
        (LOG + END, "unfit", ["ours: Invalid __global__ write", "ours: Invalid", "ours: Program"]),
        (LOG[:28], "inconclusive", ["ours: compute-sanitizer did not come to its end"]),
    ],
)
def test_what_the_program_writes_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, state: str, said: list[str]
) -> None:
    """It gets the command to run, and the file to write; here one that only passes it on."""
    _put_on_path(tmp_path, monkeypatch, log)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    part = sanitizer(Asked(tmp_path, "interpreter", True, None, True))

    assert (part.state, part.cases) == (state, 6), part.said
    assert len(part.said) == len(said)
    assert all(one.startswith(begin) for one, begin in zip(part.said, said, strict=True))


def test_the_golden_runs_of_each_kernel_seam_are_driven(
    tmp_path: Path, newest: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a process of its own, beside the kernels of our own."""
    _put_on_path(tmp_path, monkeypatch, CLEAN)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    part = sanitizer(Asked(tmp_path, "interpreter", True, str(newest.root), True))

    assert (part.state, part.said) == ("fit", [])
    subjects = part.figures["subjects"]
    assert isinstance(subjects, dict)
    assert {"ours", "kernel-pack-qkv", "kernel-varlen-pack"} <= set(subjects)
    assert part.cases > 6


def test_a_tool_that_did_not_see_what_was_planted_has_seen_nothing() -> None:
    """Its clean log is no pass."""
    assert module._lacking(findings(CLEAN), planted=True)
    assert not module._lacking(findings(CLEAN), planted=False)
    assert not module._lacking(findings(PLANTED + END), planted=True)


def test_without_margins_a_buffer_is_as_large_as_its_tensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that the tool sees the tensor's own end; it still holds what it held."""
    import torch

    monkeypatch.setattr(margins, "_margin", margins.MARGIN)
    tensor = torch.arange(12).reshape(3, 4)
    before = margins.margined(tensor, "it")
    margins.leave_out()
    after = margins.margined(tensor, "it")

    assert len(before.buffer) == 12 + 2 * margins.MARGIN
    assert len(after.buffer) == 12
    assert torch.equal(after.tensor, tensor)
    assert after.written() == ""


def _put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, log: str) -> None:
    program = folder / "compute-sanitizer"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "given = sys.argv[1:]\n"
        "at = given.index('--log-file')\n"
        "assert given[:2] == ['--tool', 'memcheck']\n"
        "assert os.environ['PYTORCH_NO_CUDA_MEMORY_CACHING'] == '1'\n"
        f"open(given[at + 1], 'w').write({log!r})\n"
        "os.execv(given[at + 2], given[at + 2:])\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
