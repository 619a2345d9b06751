"""Honest image data of one prompt: the rows of its grids, large one first."""

from typing import Any

from simulators.payload import GRIDS, RECORDS, Payload
from simulators.prior_grid import prior_grids

#: Pixels by which the other request's picture is larger; its grids differ in both rows.
_OTHER = 96


def honest_grids(height: int, width: int) -> Payload:
    """Return a payload of the grids for a picture's size; the foreign ones are of another size."""
    other = prior_grids(height + _OTHER, width + 2 * _OTHER)
    rows = [tuple(row) for row in prior_grids(height, width)]
    return Payload(GRIDS, tuple(rows), tuple(tuple(row) for row in other))


def grids_of(payload: Payload) -> list[Any]:
    """Return the rows as they are sent."""
    return [list(row) if isinstance(row, tuple) else row for row in payload.records]


def image_data(payload: Payload) -> Any:
    """Return what is sent: the body that a fault has set, or one object with the rows."""
    if payload.body is not RECORDS:
        return payload.body
    return [{"image_grid_thw": grids_of(payload)}]
