"""What Triton's interpreter can be trusted with on this machine, as its calibration found."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from harness.device import INTERPRETER, Device

_PROGRAM = Path(__file__).with_name("calibration.py")
#: Seconds that the calibration may take; most of what it takes is torch's import.
_DEADLINE_S = 300.0


@dataclass(frozen=True)
class Trust:
    """The table of a calibration."""

    triton: str = ""
    #: Why it cannot be trusted with an operation on a dtype, as `add bfloat16`; empty if it can.
    cells: Mapping[str, str] = field(default_factory=dict)
    #: Why there is no table.
    broken: str = ""

    def lacks(self, needs: Iterable[str]) -> str:
        """Return why one of some needs cannot be met, each as `add bfloat16`; empty if all can.

        Raises:
            KeyError: if the calibration does not try what is needed.
        """
        if self.broken:
            return f"Triton's interpreter cannot be had: {self.broken}"
        for need in needs:
            if why := self.cells[need]:
                return f"Triton {self.triton}'s interpreter cannot be trusted with {need}: {why}"
        return ""

    def rows(self) -> dict[str, str]:
        """Return for each operation, in words, which dtypes it can be trusted with."""
        found: dict[str, tuple[list[str], list[str]]] = {}
        for cell, why in self.cells.items():
            operation, _, dtype = cell.rpartition(" ")
            found.setdefault(operation, ([], []))[bool(why)].append(dtype)
        return {operation: _row(*both) for operation, both in found.items()}


def _row(trusted: list[str], others: list[str]) -> str:
    return "; ".join(
        f"{label} {' '.join(names)}" for label, names in (("yes", trusted), ("no", others)) if names
    )


def lacks(device: Device, needs: Iterable[str]) -> str:
    """Return what a device lacks to run kernels; empty if it lacks nothing.

    Args:
        device: Where kernels run. On a card nothing is lacking.
        needs: What the kernels do, each an operation with a dtype, as `add bfloat16`.
    """
    return trust().lacks(needs) if device.kernels == INTERPRETER else ""


_told: list[Trust] = []


def tell(found: Trust) -> None:
    """Tell this process what was found: a confined one cannot start another."""
    _told[:] = [found]


def trust() -> Trust:
    """Return what the interpreter can be trusted with, tried once in a fresh process."""
    return _told[0] if _told else _calibrated()


@lru_cache(maxsize=1)
def _calibrated() -> Trust:
    done = subprocess.run(
        [sys.executable, str(_PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_DEADLINE_S,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Trust(broken=f"its calibration ended with {done.returncode}: {last}")
    said = json.loads(done.stdout)
    return Trust(said["triton"], said["cells"])
