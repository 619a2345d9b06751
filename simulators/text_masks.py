"""Honest text masks: each prompt has another number of tokens, so that a mask says whose it is."""

from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import MASKS, RECORDS, Payload

if TYPE_CHECKING:
    import torch

#: Tokens that the text of every prompt is padded to.
TOKENS = 16
#: Owner of a mask that fits all prompts, since none of them is padded.
EVERY = "every prompt"
_STEP = 2


def honest_masks(count: int, ragged: bool, size: tuple[int, int]) -> Payload:
    """Return the mask of each prompt, those of another request, and the picture's size.

    Args:
        count: How many prompts, at most 4.
        ragged: Whether the prompts differ in length; else none of them is padded.
        size: Height and width of the picture.
    """
    ours = tuple(_mask(length) for length in _lengths(count, ragged))
    others = tuple(_mask(length) for length in _other_lengths(count, ragged))
    return Payload(MASKS, ours, others, {"size": size})


def _lengths(count: int, ragged: bool) -> list[int]:
    return [TOKENS - _STEP * index * ragged for index in range(count)]


def _other_lengths(count: int, ragged: bool) -> list[int]:
    first = count if ragged else 1
    return [TOKENS - _STEP * (first + index) for index in range(count)]


def _mask(length: int) -> "torch.Tensor":
    import torch

    return torch.arange(TOKENS) < length


def assembled_masks(payload: Payload) -> Any:
    """Return the mask as it passes: the body that a fault has set, or one row a prompt."""
    import torch

    if payload.body is not RECORDS:
        return payload.body
    if not payload.records:
        return torch.empty((0, TOKENS), dtype=torch.bool)
    return torch.stack(payload.records)


class MaskReader:
    """Reads whose tokens a mask lets through, from their number."""

    def __init__(self, count: int, ragged: bool) -> None:
        self._owners: dict[int, int | str] = {
            length: f"another request's prompt {index}"
            for index, length in enumerate(_other_lengths(count, ragged))
        }
        for index, length in enumerate(_lengths(count, ragged)):
            self._owners[length] = index if ragged or count == 1 else EVERY

    def __call__(self, mask: Any) -> list[Origin | None]:
        """Return the origin of each token that a mask lets through; `None` if it is nobody's."""
        row = [bool(token) for token in mask]
        length = sum(row)
        owner = self._owners.get(length)
        if owner is None or not all(row[:length]):
            return [None] * max(length, 1)
        return [Origin(owner, position) for position in range(length)]

    def length(self, prompt: int) -> int:
        """Return how many tokens a prompt has."""
        found = [n for n, owner in self._owners.items() if owner in (prompt, EVERY)]
        return found[0]
