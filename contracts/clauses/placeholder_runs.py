"""How runs of placeholders are counted: by the prompt, by the offsets, and by the rows.

An offset is a pair: the first position of a run in the prompt, and the last. A window is the part
of the prompt that is computed now, from its first position to the one behind its last.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Offset = tuple[int, int]
Window = tuple[int, int]


def length(offset: Offset) -> int:
    """Return how many positions a run has; negative where it ends before it begins."""
    return offset[1] - offset[0] + 1


def within(offsets: Iterable[Offset], window: Window) -> int:
    """Return how many positions of runs lie in the window."""
    spans = ((max(first, window[0]), min(last + 1, window[1])) for first, last in offsets)
    return sum(max(end - start, 0) for start, end in spans)


def _before(offset: Offset, position: int) -> int:
    first, last = offset
    if position > last:
        return length(offset)
    return max(position - first, 0)


def taken(rows: int, offsets: Sequence[Offset], window: Window) -> int:
    """Return how many rows the offsets take for the window, of so many that follow each other."""
    start, end = (sum(_before(offset, at) for offset in offsets) for at in window)
    return len(range(rows)[start:end])


def are_offsets(offsets: Any) -> bool:
    """Return whether offsets are a list of pairs of ints."""
    return isinstance(offsets, list) and all(
        isinstance(one, tuple) and len(one) == 2 and all(type(at) is int for at in one)
        for one in offsets
    )
