"""Finds the smallest picture, clip or sound on which two honest settings of rules disagree.

A skew of counts between preprocessor and encoder shows on some inputs only, and a test that has
not one of them proves nothing. Small spaces are enumerated whole, smallest input first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from simulators.encoder_rules import (
    Rules,
    Size,
    tokens_of_clip,
    tokens_of_picture,
    tokens_of_sound,
)

#: Counts the tokens of one input under one setting.
Counts = Callable[[Any, Rules], int]


@dataclass(frozen=True)
class Disagreement:
    """The smallest input on which two settings count differently, and what each counts."""

    #: (height, width), a number of frames, or a number of feature frames.
    given: Any
    ours: int
    theirs: int


def smallest_picture(ours: Rules, theirs: Rules, most: int) -> Disagreement | None:
    """Return the picture of fewest pixels, sides up to `most`; the lower one of two alike."""
    sizes = [(height, width) for height in range(1, most + 1) for width in range(1, most + 1)]
    sizes.sort(key=pixels)
    return _first(sizes, tokens_of_picture, ours, theirs)


def pixels(size: Size) -> tuple[int, int]:
    """Return by what pictures are sorted: their pixels, then their height."""
    return size[0] * size[1], size[0]


def smallest_clip(ours: Rules, theirs: Rules, size: Size, most: int) -> Disagreement | None:
    """Return the clip of fewest frames, up to `most`, each of one size."""

    def count(frames: int, rules: Rules) -> int:
        return tokens_of_clip(frames, size, rules)

    return _first(range(1, most + 1), count, ours, theirs)


def smallest_sound(ours: Rules, theirs: Rules, most: int) -> Disagreement | None:
    """Return the sound of fewest feature frames, up to `most`."""
    return _first(range(1, most + 1), tokens_of_sound, ours, theirs)


def _first(inputs: Iterable[Any], count: Counts, ours: Rules, theirs: Rules) -> Disagreement | None:
    for given in inputs:
        one, other = count(given, ours), count(given, theirs)
        if one != other:
            return Disagreement(given, one, other)
    return None
