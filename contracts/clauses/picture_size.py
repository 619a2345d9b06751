"""What must hold for the size of a picture before its prior tokens are made.

GLM-Image's AR model has one token for 32 x 32 pixels. From 0.5.18 on upstream refuses a size that
does not fit that grid where tokens are made, and brings a user's own size to it before.
"""

from typing import Any

from contracts.clauses.ar_item import STAGE_FILE
from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span
from contracts.source import Source

#: Both sides of a picture are multiples of this where tokens are made.
ALIGNMENT = 32

SIZE_NUMBERS = Clause(
    "size-numbers", "Both sides of a picture are whole numbers.", incidental=("TypeError",)
)
SIZE_ALIGNED = Clause(
    "size-aligned",
    "Where tokens are made, both sides of a picture are multiples of 32.",
    guards=(
        Guard(
            "ValueError",
            "GLM-Image dimensions must be aligned before AR token generation, got {width}x{height}",
            Span("0.5.18"),
            Source("0.5.23", STAGE_FILE, "_validate_glm_image_resolution_alignment"),
        ),
    ),
)


def is_size(height: Any, width: Any) -> bool:
    """Return whether both sides are whole numbers."""
    return type(height) is int and type(width) is int


def is_aligned(height: int, width: int) -> bool:
    """Return whether both sides are multiples of 32."""
    return height % ALIGNMENT == 0 and width % ALIGNMENT == 0


def aligned(height: int, width: int) -> tuple[int, int]:
    """Return the size up to the next multiples of 32, the smallest 32x32."""
    up = (-(-side // ALIGNMENT) * ALIGNMENT for side in (height, width))
    rows, columns = (max(ALIGNMENT, side) for side in up)
    return rows, columns


def not_numbers(height: Any, width: Any, where: str) -> Violation:
    """Return the violation of a size that is not two whole numbers."""
    return Violation(SIZE_NUMBERS, where, "whole numbers", f"{height!r} x {width!r}")


def not_aligned(height: int, width: int, where: str) -> Violation:
    """Return the violation of a size that does not fit the grid of tokens."""
    fields = {"width": width, "height": height}
    got = f"{height}x{width}"
    return Violation(SIZE_ALIGNED, where, f"multiples of {ALIGNMENT}", got, fields)
