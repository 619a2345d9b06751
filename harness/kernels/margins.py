"""Poisoned margins: a tensor inside a larger buffer, so that what leaves the tensor is seen.

Neither Triton's interpreter nor a card notices a kernel that reads or writes beside its tensor.
So each tensor stands in the middle of a buffer full of poison, which also fills the gaps between
its rows. What reads outside brings poison into the output; what writes outside changes the
poison. Memory that upstream allocates without filling it is given the same way, so that what no
kernel wrote is poison too, and no chance decides a verdict.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

#: Stands in margins of whole numbers; those of floats hold NaN.
POISON = -107
#: Elements before and behind a tensor, at least; a larger tensor has as many as it has itself.
MARGIN = 65536
_margin = MARGIN


def leave_out() -> None:
    """Have no more margins in this process: a sanitizer knows where a tensor's own memory ends."""
    global _margin
    _margin = 0


_ALLOCATING = (torch.empty, torch.empty_like, torch.empty_strided)
_ALLOCATING_METHODS = ("new_empty", "new_empty_strided")


def poison_of(dtype: torch.dtype) -> float | int | bool:
    """Return what fills the margins of a dtype."""
    if dtype.is_floating_point:
        return float("nan")
    return True if dtype == torch.bool else POISON


@dataclass(frozen=True)
class Margined:
    """One tensor, and the buffer around it."""

    name: str
    tensor: torch.Tensor
    #: One-dimensional, of the same dtype and device.
    buffer: torch.Tensor
    first: int
    poison: float | int | bool

    def written(self) -> str:
        """Return in words what was written outside of the tensor; empty if nothing was."""
        own = torch.zeros(self.buffer.shape, dtype=torch.bool, device=self.buffer.device)
        view = own.as_strided(self.tensor.shape, self.tensor.stride(), self.first)
        view.fill_(True)
        changed = (~_is_poison(self.buffer, self.poison) & ~own).nonzero().flatten()
        if not len(changed):
            return ""
        before = int((changed < self.first).sum())
        behind = int((changed >= self.first + _reach(self.tensor)).sum())
        between = len(changed) - before - behind
        counts = (("before it", before), ("between its rows", between), ("behind it", behind))
        said = ", ".join(f"{count} {where}" for where, count in counts if count)
        return f"elements outside of {self.name} written: {said}"


def margined(tensor: torch.Tensor, name: str, poison: float | int | bool | None = None) -> Margined:
    """Return a copy of a tensor, with its strides, inside a poisoned buffer.

    Args:
        tensor: On any device that holds data; strides may be zero or leave gaps.
        name: What it is called in words.
        poison: What fills the margins; by default NaN, and `POISON` where the dtype has none.
    """
    fill = poison_of(tensor.dtype) if poison is None else poison
    reach = _reach(tensor)
    margin = max(_margin, reach) if _margin else 0
    buffer = torch.full((reach + 2 * margin,), fill, dtype=tensor.dtype, device=tensor.device)
    view = buffer.as_strided(tensor.shape, tensor.stride(), margin)
    # Rows that lie over one another hold the same, and cannot be copied into.
    single = [slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride()]
    view[tuple(single)] = tensor[tuple(single)]
    return Margined(name, view, buffer, margin, fill)


def _reach(tensor: torch.Tensor) -> int:
    """Return one past the offset of a tensor's last element."""
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((size - 1) * stride for size, stride in steps)


def _is_poison(values: torch.Tensor, poison: float | int | bool) -> torch.Tensor:
    return values.isnan() if poison != poison else values == poison


@dataclass
class Margins(TorchFunctionMode):
    """All tensors of one drive that stand in margins; as a context, upstream's own too.

    Inside of it, what upstream allocates without filling it comes with margins and full of
    poison.
    """

    known: list[Margined] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def around(
        self, tensor: torch.Tensor, name: str, poison: float | int | bool | None = None
    ) -> torch.Tensor:
        """Return a copy of a tensor that stands in margins; see `margined`."""
        made = margined(tensor, name, poison)
        self.known.append(made)
        return made.tensor

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        allocates = func in _ALLOCATING or getattr(func, "__name__", "") in _ALLOCATING_METHODS
        if not allocates or made.numel() == 0 or made.is_meta:
            return made
        made.fill_(poison_of(made.dtype))
        return self.around(made, f"the memory that upstream allocated as {tuple(made.shape)}")

    def written(self) -> str:
        """Return in words what was written outside of any tensor; empty if nothing was."""
        return "; ".join(said for one in self.known if (said := one.written()))
