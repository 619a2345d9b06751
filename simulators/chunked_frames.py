"""Frames of a video in chunks, as a causal convolution gets them: each row says whose it is.

A chunk is (batch, channels, frames, rows, columns); before it go the last frames of the chunk
before, from a cache. Numbers are whole and from 1 to 120, exact in every dtype: a mix of whose
frame it is, its place in batch and channels, its number, the row and the column. No two rows of a
reader's table are alike, so that a row tells whose it is.

A payload has one record for each cached frame, (batch, channels, rows, columns).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import CHUNKED, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

#: Whose a frame is: of this chunk, of the cache, or of the chunk before the last.
NEW, CACHED, OLDER = "new", "cached", "older"
_STREAMS = (NEW, CACHED, OLDER)
#: Frames, rows, columns, channels and rows of the batch, at most.
MOST = 32
_NUMBERS = 120
#: How a cache is told: a tensor, a tensor of one frame without a dimension for frames, one that
#: has no data, none at all, or upstream's marker of a first chunk.
FORMS = ("tensor", "flat", "elsewhere", "none", "marker")
MARKER = "Rep"
#: Dimensions whose parts lie far apart, and how many elements apart: their multiples outgrow 32
#: bits, or they do.
_FAR = {"far-apart": (0, 2**30), "farther-apart": (0, 2**31), "of-long-video": (1, 2**30)}


@dataclass(frozen=True)
class Sizes:
    """The sizes of a chunk, of what is cached, and of the padding around both."""

    batch: int = 2
    channels: int = 2
    frames: int = 2
    cached: int = 2
    rows: int = 3
    columns: int = 4
    #: Rows above and below, columns left and right, and frames in front, those of the cache too.
    pad_rows: int = 1
    pad_columns: int = 1
    front: int = 2

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """The chunk's."""
        return self.batch, self.channels, self.frames, self.rows, self.columns

    @property
    def padding(self) -> tuple[int, ...]:
        """Columns left and right, rows above and below, frames in front and behind."""
        columns, rows = self.pad_columns, self.pad_rows
        return columns, columns, rows, rows, self.front, 0


@lru_cache(maxsize=65536)
def _row(
    owner: int, batch: int, channel: int, frame: int, row: int, columns: int
) -> tuple[int, ...]:
    occurrence, first = batch * MOST + channel, (frame * MOST + row) * MOST
    return tuple(1 + mix(owner, occurrence, first + c) % _NUMBERS for c in range(columns))


@lru_cache(maxsize=64)
def _frames(stream: str, request: int, sizes: Sizes, count: int) -> "torch.Tensor":
    import torch

    owner = _owner(stream, request)
    values = torch.empty(sizes.batch, sizes.channels, count, sizes.rows, sizes.columns)
    for batch, channel, frame, row in _places(sizes, count):
        told = _row(owner, batch, channel, frame, row, sizes.columns)
        values[batch, channel, frame, row] = torch.tensor(told)
    return values


def _owner(stream: str, request: int) -> int:
    return len(_STREAMS) * request + _STREAMS.index(stream)


def _places(sizes: Sizes, count: int) -> list[tuple[int, int, int, int]]:
    return [
        (batch, channel, frame, row)
        for batch in range(sizes.batch)
        for channel in range(sizes.channels)
        for frame in range(count)
        for row in range(sizes.rows)
    ]


def stamped(
    stream: str, sizes: Sizes, count: int, dtype: str = "float32", request: int = 0
) -> "torch.Tensor":
    """Return the frames of one stream of a request.

    Args:
        stream: `NEW`, `CACHED` or `OLDER`.
        sizes: All but the number of frames.
        count: The number of frames.
        dtype: Name of torch's dtype.
        request: 0 for ours, 1 for another one.
    """
    import torch

    return _frames(stream, request, sizes, count).to(getattr(torch, dtype)).clone()


def frame_name(stream: str, frame: int, batch: int, channel: int, request: int = 0) -> str:
    """Return who owns the rows of one frame, in words."""
    named = f"{'another request ' * request}{stream} frame {frame}"
    return f"{named} of batch row {batch} channel {channel}"


def frame_reader(sizes: Sizes) -> Callable[[Any], list[Origin | None]]:
    """Return the reader of stamps: the origin of each row of numbers, None if it has none.

    Raises:
        ValueError: if two rows are alike: sizes so small tell nobody apart.
    """
    known = _known(sizes)

    def owner_of(rows: Any) -> list[Origin | None]:
        return [known.get(tuple(row)) for row in rows]

    return owner_of


@lru_cache(maxsize=64)
def _known(sizes: Sizes) -> Mapping[tuple[int, ...], Origin]:
    count = max(sizes.frames, sizes.cached, 1)
    known: dict[tuple[int, ...], Origin] = {}
    for stream in _STREAMS:
        for request in (0, 1):
            owner = _owner(stream, request)
            for batch, channel, frame, row in _places(sizes, count):
                told = _row(owner, batch, channel, frame, row, sizes.columns)
                if told in known:
                    raise ValueError(f"two rows are alike in {sizes}")
                name = frame_name(stream, frame, batch, channel, request)
                known[told] = Origin(name, row)
    return known


def honest_chunk(sizes: Sizes, dtype: str = "float32") -> Payload:
    """Return the cached frames of a request, and beside them its next chunk.

    Beside them stand `new` (the chunk) and `others` (another request's), `older` (frames of the
    chunk before the last, as many as are cached), `padding`, `padding_as` (`list` or `tuple`),
    the `cache_form`, and the layouts `cache_layout` and `new_layout`: see `laid_out`.
    """
    count = sizes.cached
    cached = [stamped(CACHED, sizes, count, dtype, request).unbind(2) for request in (0, 1)]
    beside = {
        "new": stamped(NEW, sizes, sizes.frames, dtype),
        "others": stamped(NEW, sizes, sizes.frames, dtype, request=1),
        "older": stamped(OLDER, sizes, max(count, 1), dtype).unbind(2),
        "padding": sizes.padding,
        "padding_as": "list",
        "cache_form": "tensor" if count else "none",
        "cache_layout": "",
        "new_layout": "",
    }
    return Payload(CHUNKED, cached[0], cached[1], beside)


def told_padding(payload: Payload) -> Any:
    """Return the padding as it is told, a new list or a tuple."""
    padding = payload.beside["padding"]
    return list(padding) if payload.beside["padding_as"] == "list" else tuple(padding)


def told_new(payload: Payload, device: Any = "cpu") -> "torch.Tensor":
    """Return the chunk as it is told, on a device."""
    new, others = payload.beside["new"], payload.beside["others"]
    word = payload.beside["new_layout"]
    if word in _FAR:
        return _far_apart(new.to(device), others.to(device), *_FAR[word])
    return laid_out(new.to(device), word)


def told_cache(payload: Payload, device: Any = "cpu") -> Any:
    """Return the cache as it is told, on a device: a tensor, None or the marker.

    Raises:
        ValueError: if there is no such form.
    """
    import torch

    form = payload.beside["cache_form"]
    if form not in FORMS:
        raise ValueError(f"no form of a cache is called {form!r}")
    if form in ("none", "marker"):
        return None if form == "none" else MARKER
    if not payload.records:
        of_one = payload.foreign[0] if payload.foreign else payload.beside["new"][:, :, 0]
        return of_one.unsqueeze(2)[:, :, :0].to(device)
    if form == "flat":
        return payload.records[-1].to(device)
    stacked = torch.stack([frame.to(device) for frame in payload.records], dim=2)
    if form == "elsewhere":
        return stacked.to("meta")
    return laid_out(stacked, payload.beside["cache_layout"])


def is_far(payload: Payload) -> bool:
    """Return whether the chunk lies over so much memory that no margins go around it."""
    return payload.beside["new_layout"] in _FAR


def laid_out(tensor: "torch.Tensor", word: str) -> "torch.Tensor":
    """Return the same elements laid out in another way.

    Args:
        tensor: (batch, channels, frames, rows, columns), without gaps.
        word: Empty for as it is; `channels-last`; `turned` (columns of rows lie side by side);
            `columns-apart` (every second column of a larger tensor); `view` (the last frames of a
            longer tensor). Or, where elements become others: `frames-expanded`, `batch-expanded`
            (the first one in all places, without a copy).

    Raises:
        KeyError: if there is no such layout.
    """
    return _LAYOUTS[word](tensor)


def _channels_last(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return tensor.contiguous(memory_format=torch.channels_last_3d)


def _view(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return torch.cat([tensor, tensor], dim=2)[:, :, tensor.shape[2] :]


_LAYOUTS: Mapping[str, "Callable[[Any], torch.Tensor]"] = {
    "": lambda t: t,
    "channels-last": _channels_last,
    "turned": lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2),
    "columns-apart": lambda t: t.repeat_interleave(2, dim=-1)[..., ::2],
    "view": _view,
    "frames-expanded": lambda t: t[:, :, :1].expand_as(t),
    "batch-expanded": lambda t: t[:1].expand_as(t),
}


def _far_apart(new: "torch.Tensor", others: "torch.Tensor", dim: int, apart: int) -> "torch.Tensor":
    """Return a chunk whose parts lie far apart, with another request's parts before them.

    Both are parts of one pool, most of which no one touches. A place that is off by 2**32
    elements, as one is that does not fit into 32 bits, is in the pool too.
    """
    import torch

    before, parts = 2**31 // apart, new.shape[dim]
    steps = list(new.contiguous().stride())
    steps[dim] = apart
    size = (before + parts - 1) * apart + new.numel()
    pool = torch.empty(size, dtype=new.dtype, device=new.device)
    own = pool.as_strided(new.shape, steps, before * apart)
    for slot in range(before):
        row = others.select(dim, slot % parts)
        at = own.select(dim, 0)
        pool.as_strided(row.shape, at.stride(), slot * apart).copy_(row)
    return own.copy_(new)
