"""Whose embedding rows came out of an encoder, in the words that its seams share."""

from functools import lru_cache

from harness.kernels.provenance import RowProvenance
from simulators.encoder import OWNERS, WIDTH, named


@lru_cache(maxsize=8)
def provenance(width: int = WIDTH) -> RowProvenance:
    """Return what reads rows of a width, on any device, as `simulators.encoder` stamps them."""
    return RowProvenance(OWNERS, named, width)


def item_name(owner: int | str) -> str:
    """Return what an item of the batch is called; another request's has its name already."""
    return f"item {owner}" if isinstance(owner, int) else owner
