"""The check of a card, where there is none: one line, or the same in the interpreter."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from harness import gpu_check
from harness.gpu_check import PARTS, Part
from harness.gpu_part import Asked
from harness.kernels import comparison

REPOSITORY = Path(__file__).parents[3]
SCRIPT = REPOSITORY / "scripts" / "gpu_check.sh"
#: Kept from being imported, as on a machine that has torch and triton and little else.
MISSING = (
    "respx syrupy typer rich httpx httptools msgspec platformdirs PIL zmq fastapi requests pytest "
    "hypothesis"
).split()
needs_no_card = pytest.mark.skipif(torch.cuda.is_available(), reason="a card is here")


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in the repository, with this interpreter."""
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )


@needs_no_card
def test_without_a_card_it_ends_with_one_line(tmp_path: Path) -> None:
    """And an exit code of its own; what was there before stays."""
    (tmp_path / "stamps.json").write_text("{}")
    done = run(str(SCRIPT), str(tmp_path))

    assert done.returncode == gpu_check.NO_CARD
    assert done.stdout == "no card: torch sees no CUDA device here, and nothing was run\n"
    assert [file.name for file in tmp_path.iterdir()] == ["stamps.json"]


@needs_no_card
def test_the_benchmark_measures_nothing_without_a_card() -> None:
    """No figure, and the exit code that its top names."""
    done = run(sys.executable, "benchmarks/kernels.py", "--format", "json")

    assert done.returncode == 4
    assert done.stdout == "no card: torch sees no CUDA device here, and nothing was measured\n"


def test_the_script_runs_in_the_interpreter(tmp_path: Path) -> None:
    """Few cases of each part, a table, and one file with all of it."""
    done = run(str(SCRIPT), str(tmp_path), "--device", "interpreter", "--small")

    whole = json.loads((tmp_path / "gpu_check.json").read_text())
    states = {part["name"]: (part["state"], part["cases"]) for part in whole["parts"]}
    assert done.returncode == 0, done.stdout
    assert states == {
        "stamps": ("fit", 6),
        "audits": ("fit", 6),
        "provenances": ("fit", 6),
        "plantings": ("fit", 6),
        "far_rows": ("unavailable", 0),
        "kernel_seams": ("unavailable", 0),
        "other_seams": ("unavailable", 0),
        "large_batches": ("unavailable", 0),
        "sanitizer": ("unavailable", 0),
        "benchmark": ("unavailable", 0),
    }
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "] == list(PARTS)


def test_nothing_is_imported_that_a_bare_machine_lacks(tmp_path: Path) -> None:
    """Every package of the kind is refused, and a part still runs."""
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {MISSING}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from harness import gpu_check, gpu_seams, sanitizer
sys.exit(gpu_check.main([{str(tmp_path)!r}, "--part", "plantings", "--device", "interpreter",
                         "--small"]))
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)

    assert done.returncode == 0
    assert json.loads((tmp_path / "plantings.json").read_text())["state"] == "fit"


def test_a_part_that_dies_or_hangs_loses_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is inconclusive, with its last words, and the exit code says so."""
    asked = Asked(tmp_path, "interpreter", True, None)
    monkeypatch.setitem(PARTS, "stamps", (PARTS["stamps"][0], 0.01))
    hung = gpu_check._run_apart("stamps", asked)
    died = gpu_check._run_apart("far_rows", Asked(tmp_path / "no", "interpreter", True, None))

    assert (hung.state, hung.said) == ("inconclusive", ["not done in 0 s"])
    assert died.state == "inconclusive"
    assert "ended with 1" in died.said[0]
    assert "FileNotFoundError" in died.said[0]
    assert gpu_check._exit_code([hung, Part("audits", "fit")]) == 3
    assert gpu_check._exit_code([hung, Part("audits", "unfit")]) == 1
    assert gpu_check._exit_code([Part("seams", "unavailable"), Part("audits", "fit")]) == 0


class _Read(NamedTuple):
    targets: torch.Tensor


def test_what_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is off by one number makes its part unfit, by name and size."""

    def off(table: object, out: torch.Tensor) -> torch.Tensor:
        return out.fill_(1)

    def stamps(cases: comparison.Cases) -> Iterator[str]:
        monkeypatch.setattr(comparison, "stamp_rows", off)
        monkeypatch.setattr(comparison, "stamp_ids", comparison.stamp_ids_torch)
        return comparison.stamps(cases)

    cases = comparison.Cases("cpu", 12)
    said = list(stamps(cases))

    assert cases.done == 12
    assert said
    assert all("rows of" in one and "not those of the twin" in one for one in said)


def test_a_row_that_is_read_otherwise_than_by_the_twin_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By how many rows there were."""
    twin = comparison.targets_torch
    monkeypatch.setattr(comparison, "read_rows", lambda rows, table: _Read(twin(rows, 128) + 1))

    said = list(comparison.provenances(comparison.Cases("cpu", 8)))

    assert said
    assert all("not what the twin reads" in one for one in said)


def test_all_parts_together_take_less_than_eight_minutes() -> None:
    """Whatever each takes of its limit: the longest begins when the others have filled the rest."""
    limits = {name: limit_s for name, (_, limit_s) in PARTS.items()}
    alone = sum(limits.pop(name) for name in gpu_check.ALONE)
    longest = max(limits.values())

    assert alone + (sum(limits.values()) - longest) / gpu_check.AT_ONCE + longest < 480


def test_what_a_part_has_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a worker would hold the card, and the time of the parts to come."""
    mark = tmp_path / "pid"
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {mark}\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setitem(PARTS, "stamps", (PARTS["stamps"][0], 2.0))

    hung = gpu_check._run_apart("stamps", Asked(tmp_path, "cuda", True, None))

    assert hung.state == "inconclusive"
    stat = Path(f"/proc/{mark.read_text().strip()}/stat")
    # What nobody waits for may still be listed, as a zombie.
    assert not stat.exists() or stat.read_text().rpartition(") ")[2][0] == "Z"
