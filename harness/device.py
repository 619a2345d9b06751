"""Where a run's tensors live, and how its Triton kernels run.

A choice is one word: `auto`, `cpu`, `interpreter` or `cuda`. What it comes to on this machine is
a `Device`, with the reason in words; every report says it.
"""

import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.errors import UsageError

CPU = "cpu"
CUDA = "cuda"
#: Kernels run in Triton's interpreter, on tensors of the CPU.
INTERPRETER = "interpreter"
#: Kernels are compiled, and run on the card.
NATIVE = "native"
AUTO = "auto"
CHOICES = (AUTO, CPU, INTERPRETER, CUDA)

#: Where there is none of these, no driver is loaded, and asking torch would cost seconds.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
_ASKS = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
#: Seconds that torch may take to say whether it sees a card.
_ASKED_S = 300.0


@dataclass(frozen=True)
class Device:
    """Where tensors live and how kernels run, and why."""

    #: `cpu` or `cuda`.
    tensors: str = CPU
    #: `interpreter` or `native`.
    kernels: str = INTERPRETER
    why: str = "as was asked"

    def of(self, is_kernel: bool) -> str:
        """Return where the tensors of a seam live.

        Args:
            is_kernel: Whether upstream's function at the seam launches Triton kernels.
        """
        return CPU if self.interprets(is_kernel) else self.tensors

    def interprets(self, is_kernel: bool) -> bool:
        """Return whether a seam's worker is one of Triton's interpreter."""
        return is_kernel and self.kernels == INTERPRETER

    def __str__(self) -> str:
        kernels = "in Triton's interpreter" if self.kernels == INTERPRETER else "on the card"
        return f"tensors on {self.tensors}, kernels {kernels}: {self.why}"


#: Everything on the CPU; what the committed snapshots were made on.
ON_CPU = Device()


def choose(choice: str) -> Device:
    """Return what a choice comes to on this machine.

    - `cpu`: tensors on the CPU, kernels in Triton's interpreter.
    - `cuda`: tensors on the card, kernels compiled for it.
    - `auto`: as `cuda` where torch sees a card, else as `cpu`.
    - `interpreter`: as `auto`, but kernels are interpreted even where there is a card.

    Raises:
        UsageError: if the choice is none, or it is `cuda` and torch sees no card.
    """
    if choice not in CHOICES:
        raise UsageError(f"--device {choice}: there is {', '.join(CHOICES)}")
    if choice == CPU:
        return ON_CPU
    card = card_name()
    if choice == CUDA and not card:
        raise UsageError("--device cuda: torch sees no CUDA device here")
    if not card:
        return Device(why="torch sees no CUDA device")
    kernels = INTERPRETER if choice == INTERPRETER else NATIVE
    return Device(CUDA, kernels, f"torch sees {card}")


@lru_cache(maxsize=1)
def card_name() -> str:
    """Return the name of the first card that torch sees; empty if it sees none.

    Torch is asked in a process of its own: this one does without it.
    """
    if not any(Path(driver).exists() for driver in _DRIVERS):
        return ""
    said = subprocess.run(
        [sys.executable, "-c", _ASKS], capture_output=True, text=True, check=False, timeout=_ASKED_S
    )
    return said.stdout.strip()
