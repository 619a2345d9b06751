"""GLM-Image's token grids."""

import pytest

from contracts.clauses.prior_tokens import PriorShape, prior_shape
from simulators.prior_grid import prior_grids


@pytest.mark.parametrize(
    ("size", "grids"),
    [
        # Worked out by hand from the processor's rule.
        ((1024, 1024), [[1, 32, 32], [1, 16, 16]]),
        ((64, 96), [[1, 2, 3], [1, 13, 19]]),
        ((32, 32), [[1, 1, 1], [1, 16, 16]]),
        ((500, 500), [[1, 15, 15], [1, 16, 16]]),
    ],
)
def test_the_large_grid_comes_first_and_the_preview_is_of_one_size(
    size: tuple[int, int], grids: list[list[int]]
) -> None:
    """32 pixels a token, rounded down, and a preview of about 256 tokens."""
    assert prior_grids(*size) == grids


def test_the_large_grid_stands_behind_the_preview() -> None:
    """The offset is the preview's size, and the end is not needed."""
    shape = prior_shape(prior_grids(1024, 1024))

    assert shape == PriorShape(offset=256, height=32, width=32)
    assert shape.needed == 256 + 1024
