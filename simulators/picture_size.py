"""The honest size of one picture: what was asked for is what is told on."""

from simulators.payload import SIZE, Payload


def honest_size(height: int, width: int) -> Payload:
    """Return a size in pixels, as it was `asked` for and as it is told on."""
    record = {"height": height, "width": width, "asked": (height, width)}
    return Payload(SIZE, (record,))
