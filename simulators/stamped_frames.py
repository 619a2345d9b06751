"""Honest decoded pictures: every pixel says whose picture it belongs to and where it stands."""

from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import FRAMES, RECORDS, Payload

if TYPE_CHECKING:
    import torch

CHANNELS = 3
_OTHERS = "another request's frame"


class FrameReader:
    """Reads where each pixel of a picture of one size stood in the decoded picture.

    A number stands for picture, row and column; float32 holds it exactly while pictures times
    pixels stay below 2**24.
    """

    def __init__(self, count: int, height: int, width: int) -> None:
        self._count = count
        self._size = height * width

    def __call__(self, pixels: Any) -> list[Origin | None]:
        """Return the origin of each pixel of a flat list."""
        return [self._origin(pixel) for pixel in pixels]

    def _origin(self, pixel: float) -> Origin | None:
        picture, position = divmod(int(pixel), self._size)
        if int(pixel) != pixel or not 0 <= picture < 2 * self._count:
            return None
        if picture < self._count:
            return Origin(picture, position)
        return Origin(f"{_OTHERS} {picture - self._count}", position)


def honest_frames(count: int, decoded: tuple[int, int], target: tuple[int, int]) -> Payload:
    """Return `count` pictures of a decoded size, and the size to cut out of each.

    Args:
        count: How many.
        decoded: Height and width of each picture.
        target: Height and width to cut out.
    """
    ours = tuple(frame(index, decoded) for index in range(count))
    others = tuple(frame(count + index, decoded) for index in range(count))
    return Payload(FRAMES, ours, others, {"target": target})


def frame(picture: int, size: tuple[int, int]) -> "torch.Tensor":
    """Return one stamped picture, (3, height, width), float32, its channels alike."""
    import torch

    height, width = size
    first = picture * height * width
    plane = torch.arange(first, first + height * width, dtype=torch.float32)
    return plane.reshape(1, height, width).repeat(CHANNELS, 1, 1)


def assembled_frames(payload: Payload) -> Any:
    """Return what is cut: the body that a fault has set, or the pictures as one tensor."""
    import torch

    if payload.body is not RECORDS:
        return payload.body
    if not payload.records:
        return torch.empty((0, *payload.foreign[0].shape))
    return torch.stack(payload.records)
