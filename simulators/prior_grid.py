"""GLM-Image's token grids for an image size, as its processor lays them out.

The large grid has one token for 32 x 32 pixels. A preview grid of the same proportions and of
about 16 x 16 tokens is written before it.
"""

import math

PIXELS_PER_TOKEN = 32
_PREVIEW_SIDE = 16


def prior_grids(height: int, width: int) -> list[list[int]]:
    """Return `image_grid_thw` for text-to-image: the large grid, then the preview.

    Args:
        height: Pixels, at least 32; what is over a multiple of 32 is cut off.
        width: Likewise.

    Returns:
        Two rows of [frames, rows, columns].

    Source:
        transformers 5.19.0, models/glm_image/processing_glm_image.py,
        GlmImageProcessor._get_target_shape
    """
    rows, columns = height // PIXELS_PER_TOKEN, width // PIXELS_PER_TOKEN
    ratio = rows / columns
    preview_rows = int(math.sqrt(ratio) * _PREVIEW_SIDE)
    preview_columns = int(math.sqrt(1 / ratio) * _PREVIEW_SIDE)
    return [[1, rows, columns], [1, preview_rows, preview_columns]]
