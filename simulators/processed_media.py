"""The honest output of an image processor: stamped pixel features, and the grids that cut them.

Each patch says which token it is a part of, and the simulated model makes the row of a token of
each group of patches that it is given. So what upstream hands to the model can be read from rows.
"""

from typing import TYPE_CHECKING, Any

from simulators.encoder import RULES, honest_items
from simulators.payload import PROCESSED, Payload

if TYPE_CHECKING:
    import torch

#: Patches that are merged into a token.
PATCHES = RULES.merge**2
#: Names of a processor's fields.
FEATURES, GRIDS = "pixel_values", "image_grid_thw"


def honest_output(count: int, pictures: str = "unlike") -> Payload:
    """Return the output for so many pictures, and that for as many of another request."""
    items = honest_items(count, pictures)
    ours, other = _fields(items.records), _fields(items.foreign)
    return Payload(PROCESSED, (ours,), (other,), {"merge_size": RULES.merge})


def _fields(items: tuple[Any, ...]) -> dict[str, Any]:
    import torch

    return {
        FEATURES: torch.cat([item.rows for item in items]).repeat_interleave(PATCHES, dim=0),
        GRIDS: torch.tensor([item.grid for item in items]),
    }


def modelled_rows(features: "torch.Tensor") -> "torch.Tensor":
    """Return the rows that the model makes of pixel features, (patches, width)."""
    return features[::PATCHES]
