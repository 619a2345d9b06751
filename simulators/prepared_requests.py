"""The honest preprocessor of a batch: what it made of each request, and how many items each has.

One record for each request, so that a request that is lost or swapped takes its items with it. A
preprocessor hands on all records as one: features, grids and counts one after the other, and
beside them the layout, how many items each request has.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from simulators.encoder import honest_items
from simulators.encoder_rules import Grid
from simulators.payload import PREPARED, Payload
from simulators.processed_media import PATCHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


class Prepared(NamedTuple):
    """One request: what the preprocessor made of it, and what it tells of it."""

    #: How many items it is said to have: one number, when honest.
    told: tuple[Any, ...]
    grids: tuple[Grid, ...]
    counts: tuple[Any, ...]
    #: Stamped pixel features, (patches, width), float32.
    features: "torch.Tensor"


def honest_requests(layout: "Sequence[int]", pictures: str = "unlike") -> Payload:
    """Return a batch of requests, and as many of another batch.

    Args:
        layout: How many pictures each request has, at most 8 together.
        pictures: How large they are: `unlike`, `alike`, or the tokens of each.
    """
    items = honest_items(sum(layout), pictures)
    ours, others = _grouped(items.records, layout), _grouped(items.foreign, layout)
    return Payload(PREPARED, ours, others, {"error": ""})


def _grouped(items: tuple[Any, ...], layout: "Sequence[int]") -> tuple[Prepared, ...]:
    import torch

    found, first = [], 0
    for count in layout:
        mine = items[first : first + count]
        first += count
        features = torch.cat([item.rows for item in mine]).repeat_interleave(PATCHES, dim=0)
        grids, counts = tuple(item.grid for item in mine), tuple(item.count for item in mine)
        found.append(Prepared((count,), grids, counts, features))
    return tuple(found)
