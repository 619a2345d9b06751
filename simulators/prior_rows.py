"""Honest prior tokens of several outputs: a tensor of stamped rows, and their usage records."""

from typing import TYPE_CHECKING, Any

from simulators.payload import RECORDS, ROWS, Payload
from simulators.stamp import stamped_ids

if TYPE_CHECKING:
    import torch

_OWNER = 0x5EA7
_OTHER = 0x07E4


def honest_rows(outputs: int, width: int, device: str = "cpu") -> Payload:
    """Return a payload of `outputs` rows of `width` int64 tokens on a device."""
    import torch

    def rows(owner: int) -> tuple["torch.Tensor", ...]:
        return tuple(
            torch.tensor(stamped_ids(owner, i, width), device=device) for i in range(outputs)
        )

    usages = [
        {"prompt_tokens": 7 + i, "completion_tokens": width, "total_tokens": 7 + i + width}
        for i in range(outputs)
    ]
    return Payload(ROWS, rows(_OWNER), rows(_OTHER), {"usage_by_output": usages})


def sequences(outputs: int, width: int) -> dict[int | str, tuple[int, ...]]:
    """Return the stamped rows by owner, for a `simulators.stamp.StampReader`."""
    known: dict[int | str, tuple[int, ...]] = {
        i: stamped_ids(_OWNER, i, width) for i in range(outputs)
    }
    for i in range(outputs):
        known[f"another request's output {i}"] = stamped_ids(_OTHER, i, width)
    return known


def assembled(payload: Payload) -> Any:
    """Return what is sent: the body that a fault has set, or the rows as one tensor.

    Rows of different widths make no tensor, and are sent as a list.
    """
    import torch

    if payload.body is not RECORDS:
        return payload.body
    if not payload.records:
        return torch.empty((0, len(payload.foreign[0])), dtype=torch.int64)
    if len({len(row) for row in payload.records}) > 1:
        return list(payload.records)
    return torch.stack(payload.records)
