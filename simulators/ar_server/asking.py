"""Requests as the GLM-Image stage sends them.

Source: sglang 0.5.23, multimodal_gen/runtime/pipelines_core/stages/model_specific_stages/
glm_image.py, GlmImageAR.generate_prior_tokens_batch and generate_prior_tokens
"""

from collections.abc import Sequence
from typing import Any

from simulators.prior_grid import prior_grids


def batch_request(
    prompts: Sequence[Sequence[int]], height: int, width: int, seed: int | None = None
) -> dict[str, Any]:
    """Return the body of a batch request: one image of one size for each prompt.

    Args:
        prompts: Token ids of each prompt; at least one prompt.
        height: Pixels, at least 32.
        width: Likewise.
        seed: Sampling seed of the first prompt, one more for each next; `None` sends none.
    """
    rows = [single_request(prompt, height, width) for prompt in prompts]
    if seed is not None:
        for offset, row in enumerate(rows):
            row["sampling_params"]["sampling_seed"] = seed + offset
    return {field: [row[field] for row in rows] for field in rows[0]}


def single_request(prompt: Sequence[int], height: int, width: int) -> dict[str, Any]:
    """Return the body of a request for one image."""
    grids = prior_grids(height, width)
    count = sum(rows * columns for _, rows, columns in grids) + 1
    return {
        "input_ids": list(prompt),
        "image_data": [{"image_grid_thw": grids}],
        "sampling_params": {"temperature": 1.0, "max_new_tokens": count, "ignore_eos": True},
    }
