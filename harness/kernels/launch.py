"""What upstream's kernels need around them on a machine without a card.

Provided: the device module that torch gives for the current accelerator, whose `device` is a
context that does nothing. A kernel that the interpreter cannot be trusted with is barred: the
checks before its launch run, and the launch says what is lacking.
"""

import contextlib
from types import ModuleType
from typing import Any

import torch

from harness.consumers.consumer import Lacking
from harness.upstream.hermetic import provide
from harness.upstream.touches import Provided


def provide_host(device: str) -> None:
    """Let kernels be launched from code that asks for a card; on a card nothing is provided."""
    if device != "cpu":
        return
    module = Provided(
        "torch's device module",
        device=lambda device: contextlib.nullcontext(),
        current_stream=lambda device=None: None,
    )
    torch.get_device_module = lambda device=None: module  # type: ignore[assignment]


class _Barred:
    def __init__(self, why: str) -> None:
        self._why = why

    def __getitem__(self, grid: Any) -> Any:
        raise Lacking(self._why)


def bar(module: ModuleType, kernel: str, why: str) -> None:
    """Bar a kernel of a loaded module where something is lacking for it.

    Args:
        module: Upstream's, with the kernel in it.
        kernel: Its name.
        why: What is lacking; empty if nothing is.
    """
    if why:
        provide(module, **{kernel: _Barred(why)})
