"""Prior tokens of GLM-Image: how many, in what order, and where each stands.

The AR model writes a small preview grid first and the large grid after it, then one
end-of-image token. The diffusion stage takes the large grid and doubles it in both directions.
"""

from dataclasses import dataclass

#: Ids of the image codebook are 0 up to, but not including, this.
CODEBOOK_SIZE = 16384
#: The id that closes an image; it is asked for, and nothing relies on it.
END_OF_IMAGE = 16385


@dataclass(frozen=True)
class PriorShape:
    """Where the large grid stands in one reply item: after `offset` ids, `height` x `width`."""

    offset: int
    height: int
    width: int

    @property
    def needed(self) -> int:
        """Count of ids without which the large grid is incomplete."""
        return self.offset + self.height * self.width


def prior_shape(grids: list[list[int]]) -> PriorShape:
    """Return where the large grid stands, from a text-to-image `image_grid_thw`.

    Args:
        grids: Rows of [frames, height, width]; the large grid first, previews after it.
    """
    _, height, width = grids[0]
    return PriorShape(sum(h * w for _, h, w in grids[1:]), height, width)
