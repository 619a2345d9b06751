"""How many tokens the EPD encoder counts for what it is told of a medium, by model and medium.

Source: sglang 0.5.23, srt/disaggregation/encoder/preprocessor.py, EncoderPreprocessor:
get_num_tokens, _kimi_tokens_from_patch_grid and _get_feat_extract_output_lengths. It is written
down in other words than upstream's, so that what is counted is computed twice.
"""

from collections.abc import Sequence
from math import prod

#: Models whose grids of pictures are read with or without frames, which do not count.
KIMI = ("kimi_vl", "kimi_k25")
#: The model whose grids and lengths are told in tokens.
IN_TOKENS = "muse_spark"
_WINDOWED, _KEPT = "qwen3_omni_moe", ("mimo_v2", IN_TOKENS)
#: Feature frames of a window, the tokens of a whole one, and the frames of a token in another.
_WINDOW, _OF_WINDOW, _OF_TOKEN = 100, 13, 8


def counted(
    sides: Sequence[float], model: str, medium: str, merge: int, kernel: Sequence[int]
) -> int:
    """Return the count for a grid with enough sides, or for a length.

    Args:
        sides: (frames, rows, columns), for Kimi's pictures (rows, columns) too, or (length,).
        model: The model's type.
        medium: image, video or audio.
        merge: Patches of a token's side, as the image processor says.
        kernel: Patches of a token's sides, as Kimi's configuration says.
    """
    if medium == "audio":
        return of_length(int(sides[0]), model)
    if model == IN_TOKENS:
        return int(prod(sides[:3]))
    if model in KIMI and medium == "image":
        return int(sides[-2]) * int(sides[-1]) // prod(kernel)
    return int(prod(sides[:3])) // merge**2


def of_length(length: int, model: str) -> int:
    """Return the count for a sound of so many feature frames.

    Two halvings, the first up and the second down; or 13 for each 100 and an eighth, up, of the
    rest; or as many as were told.
    """
    if model in _KEPT:
        return length
    if model == _WINDOWED:
        whole, rest = divmod(length, _WINDOW)
        return _OF_WINDOW * whole - (-rest // _OF_TOKEN)
    return -(-length // 2) // 2
