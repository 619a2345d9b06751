"""What upstream's kernels need around them on a machine without a card.

Provided: the device module that torch gives for the current accelerator, whose `device` is a
context that does nothing. A kernel that the interpreter cannot be trusted with is barred: the
checks before its launch run, and the launch says what is lacking.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, TypeVar

import torch

from harness.consumers.consumer import Lacking, spans
from harness.outcome import Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.touches import Provided

T = TypeVar("T")


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


def landed(device: torch.device, call: Callable[[], T]) -> T:
    """Return what a call that launches kernels returns, once the kernels have ended.

    On a card a kernel that reads or writes where no memory is ends later, and takes the process's
    hold on the card with it: no later case could be judged. So the process dies of it, as others
    would.
    """
    if device.type == "cpu":
        return call()
    try:
        made = call()
        torch.cuda.synchronize()
    except torch.AcceleratorError:
        os.abort()
    return made


def beside(written: str) -> tuple[Span, ...]:
    """Return whether the memory beside the tensors is as it was, as the provenance of it.

    Args:
        written: What was written there, in words; empty if nothing was.
    """
    place = "the memory beside the tensors" + (f" ({written})" if written else "")
    return _same(place, not written)


def as_its_twin(made: torch.Tensor, twin: torch.Tensor) -> tuple[Span, ...]:
    """Return whether an output is its twin that torch made, bit for bit but for NaN."""
    same = made.shape == twin.shape and torch.equal(
        made.nan_to_num(-1), twin.to(made).nan_to_num(-1)
    )
    return _same("the whole, beside what torch makes,", same)


def rows_of(
    place: str, wants: Sequence[Whose], has: Sequence[Whose | None], unit: str = "rows"
) -> tuple[Span, ...]:
    """Return the provenance of rows, those beyond what is wanted too."""
    beyond = [Whose("no one", row) for row in range(len(wants), len(has))]
    return spans(place, [*wants, *beyond], has, unit)


def _same(place: str, is_same: bool) -> tuple[Span, ...]:
    whose = Whose("it", 0)
    return spans(place, [whose], [whose if is_same else None], unit="elements")


class _Barred:
    def __init__(self, why: str) -> None:
        self._why = why

    def __getitem__(self, grid: Any) -> Any:
        raise Lacking(self._why, past_checks=True)

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise Lacking(self._why, past_checks=True)


def bar(module: ModuleType, kernel: str, why: str) -> None:
    """Bar a kernel, or what launches it, where something is lacking for it.

    Every check of upstream's stands before its launch.

    Args:
        module: Upstream's, with the kernel in it.
        kernel: Its name.
        why: What is lacking; empty if nothing is.
    """
    if why:
        provide(module, **{kernel: _Barred(why)})


def bar_all(module: ModuleType, names: Iterable[str], why: str) -> None:
    """Bar every one of some kernels, or functions that launch one; see `bar`."""
    for name in names:
        bar(module, name, why)
