"""The honest items that a model's own preprocessor keeps apart: features, modality and cache key.

One record for each item, and beside them the grids that the processor tells of all. An item's key
is what a cache finds its rows by: of its features, unless the preprocessor gives it one.
"""

from typing import TYPE_CHECKING, NamedTuple

from simulators.encoder import honest_items
from simulators.payload import MEDIA, Payload
from simulators.processed_media import PATCHES

if TYPE_CHECKING:
    from typing import Any

    import torch


class MediaItem(NamedTuple):
    """One item, as it goes to the model."""

    #: Stamped pixel features, (patches, width), float32.
    features: "torch.Tensor"
    #: image, video or audio.
    modality: str
    #: The key that the preprocessor gives it; None where it is made of the features.
    key: int | None


def honest_media(count: int, pictures: str = "unlike", keyed: bool = False) -> Payload:
    """Return so many pictures as a model's preprocessor keeps them, and as many foreign ones.

    Args:
        count: How many, at most 8 of unlike sizes.
        pictures: How large they are: `unlike`, `alike`, or the tokens of each.
        keyed: Whether the preprocessor gives each a key.
    """
    items = honest_items(count, pictures)
    ours = tuple(_item(item, keyed) for item in items.records)
    others = tuple(_item(item, keyed) for item in items.foreign)
    return Payload(MEDIA, ours, others, {"grids": tuple(item.grid for item in items.records)})


def _item(item: "Any", keyed: bool) -> MediaItem:
    features = item.rows.repeat_interleave(PATCHES, dim=0)
    return MediaItem(features, "image", 1000 + item.owner if keyed else None)
