"""Honest degrees of parallelism, and a sequence whose tokens say where they stand.

A token's number is its position and 1, in every latent of its patch; positions in the rotary
embedding are read back from cosines and sines of frequency 1.
"""

import cmath
from typing import TYPE_CHECKING

from simulators.payload import DEGREES, Payload

if TYPE_CHECKING:
    import torch

#: Latents on a side of a patch; a patch is one token.
PATCH = 2
#: Coordinates that are told apart: 44 is nearly seven times around.
_COORDINATES = range(44)
_NEAR = 1e-3


def honest_degrees(ranks: int, heads: int) -> Payload:
    """Return what a launcher tells of ranks that share a sequence by Ulysses alone.

    Args:
        ranks: How many there are.
        heads: How many heads the model has.
    """
    # The flag is on by default, on one rank too.
    degrees = {"sp": ranks, "ulysses": ranks, "ring": 1, "heads": heads, "shard": True}
    return Payload(DEGREES, (degrees,))


def numbered_latents(frames: int, rows: int, columns: int) -> "torch.Tensor":
    """Return the latents of a grid of tokens, (1, 1, frames, height, width), float32."""
    import torch

    numbers = torch.arange(1, frames * rows * columns + 1, dtype=torch.float32)
    grid = numbers.reshape(1, 1, frames, rows, columns)
    return grid.repeat_interleave(PATCH, -1).repeat_interleave(PATCH, -2)


def token_of(number: float) -> int | None:
    """Return the position of the token that carries a number; None if none does."""
    return int(number) - 1 if number == int(number) and number >= 1 else None


def coordinate_of(cosine: float, sine: float) -> int | None:
    """Return the coordinate that was turned into a cosine and a sine; None if none was."""
    turned = complex(cosine, sine)
    near = [c for c in _COORDINATES if abs(cmath.rect(1, c) - turned) < _NEAR]
    return near[0] if near else None
