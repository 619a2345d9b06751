"""The rules by which a preprocessor turns a picture, a clip or a sound into a grid and a count.

Every rule is a parameter, so that a skew can be one honest setting against another: sides rounded
half to even against half up, a merge size of 2 against 1, frames padded against cut.

Sources: transformers 5.19.0, models/qwen2_vl/image_processing_qwen2_vl.py, smart_resize (sides),
models/qwen2_vl/video_processing_qwen2_vl.py (frames); sglang 0.5.23,
srt/disaggregation/encoder/preprocessor.py, EncoderPreprocessor.get_num_tokens and
_get_feat_extract_output_lengths (tokens).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

#: (frames, rows, columns) of patches.
Grid = tuple[int, int, int]
#: (height, width) in pixels.
Size = tuple[int, int]

_ROUNDINGS: dict[str, Callable[[float], int]] = {
    "half-even": round,
    "half-up": lambda value: math.floor(value + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
#: Feature frames of one window, and the tokens that a whole one makes.
_WINDOW, _OF_WINDOW = 100, 13


@dataclass(frozen=True)
class Rules:
    """One setting of a preprocessor."""

    #: Pixels of a patch's side.
    patch: int = 14
    #: Patches of a token's side.
    merge: int = 2
    #: Frames of a patch.
    temporal: int = 2
    #: How a side is fitted to whole tokens: half-even, half-up, floor or ceil.
    rounding: str = "half-even"
    #: How frames are fitted to whole patches: ceil (the last one is repeated) or floor.
    frames: str = "ceil"
    #: Pixels of a picture: fewer are scaled up, more are scaled down.
    min_pixels: int = 28 * 28
    max_pixels: int = 28 * 28 * 1280
    #: Whether a side below one token is first scaled up to one, the other in proportion.
    small_side: bool = False
    #: Whether time is pooled away, so that a clip has the tokens of one frame.
    pools_time: bool = False
    #: Tokens that stand before those of each item, such as a class token.
    before: int = 0
    #: Whether each row of tokens ends in a separator.
    row_ends: bool = False
    #: How a sound is shortened: halves (two halvings), windows (of 100 feature frames) or kept (not
    #: at all: its length is told in tokens).
    sound: str = "halves"

    @property
    def token(self) -> int:
        """Pixels of a token's side."""
        return self.patch * self.merge


def resized(size: Size, rules: Rules) -> Size:
    """Return the size in pixels that a picture is scaled to: whole tokens on each side."""
    height, width = size
    if rules.small_side and min(size) < rules.token:
        if height < rules.token:
            height, width = rules.token, round(width * rules.token / height)
        if width < rules.token:
            height, width = round(height * rules.token / width), rules.token
    sides = (_fitted(height, rules), _fitted(width, rules))
    pixels = sides[0] * sides[1]
    if pixels > rules.max_pixels:
        return _scaled((height, width), rules, rules.max_pixels, math.floor)
    if pixels < rules.min_pixels:
        return _scaled((height, width), rules, rules.min_pixels, math.ceil)
    return sides


def _fitted(side: int, rules: Rules) -> int:
    return _ROUNDINGS[rules.rounding](side / rules.token) * rules.token


def _scaled(size: Size, rules: Rules, pixels: int, fit: Callable[[float], int]) -> Size:
    by = math.sqrt(pixels / (size[0] * size[1]))
    height, width = (max(1, fit(side * by / rules.token)) * rules.token for side in size)
    return height, width


def grid_of_picture(size: Size, rules: Rules) -> Grid:
    """Return the grid of patches of one picture."""
    height, width = resized(size, rules)
    return 1, height // rules.patch, width // rules.patch


def grid_of_clip(frames: int, size: Size, rules: Rules) -> Grid:
    """Return the grid of patches of a clip of so many frames."""
    _, rows, columns = grid_of_picture(size, rules)
    return _ROUNDINGS[rules.frames](frames / rules.temporal), rows, columns


def tokens_of_grid(grid: Grid, rules: Rules) -> int:
    """Return how many tokens the encoder makes of a grid."""
    times, rows, columns = grid
    times = 1 if rules.pools_time else times
    lines = times * (rows // rules.merge)
    cells = times * rows * columns // rules.merge**2
    return rules.before + cells + lines * rules.row_ends


def tokens_of_picture(size: Size, rules: Rules) -> int:
    """Return how many tokens the encoder makes of a picture."""
    return tokens_of_grid(grid_of_picture(size, rules), rules)


def tokens_of_clip(frames: int, size: Size, rules: Rules) -> int:
    """Return how many tokens the encoder makes of a clip."""
    return tokens_of_grid(grid_of_clip(frames, size, rules), rules)


def tokens_of_sound(length: int, rules: Rules) -> int:
    """Return how many tokens the encoder makes of a sound of so many feature frames."""
    if rules.sound == "kept":
        return rules.before + length
    if rules.sound == "halves":
        return rules.before + _half(_half(length) - 1)
    whole, rest = divmod(length, _WINDOW)
    return rules.before + whole * _OF_WINDOW + _half(_half(_half(rest)))


def _half(length: int) -> int:
    return (length - 1) // 2 + 1
