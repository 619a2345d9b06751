"""kernel-causal-pad: cached frames, a chunk and padding become what a causal convolution gets.

Driven: `fused_causal_conv3d_cat_pad`, which launches the kernel (entry `pad`);
`causal_conv3d_cat_pad`, which falls back to torch where its checks say so (`caller`); and, from
0.5.18 on, `_run_cached_causal_conv`, which has `cat_pad_channels_last_3d` make what the convolution
gets and the next cache in one launch, and falls back too (`keep`). Read: whose row stands where, in
every frame of every channel; of `keep`, in the next cache too; whether the whole is what torch
makes by writing frame after frame; and whether anything beside the tensors was written.

Provided: see `harness.consumers.wan_parts`. Where Triton's interpreter runs it: torch's device
module, and tensors that say that they are on a card. Their device is a name that torch takes for
the CPU, whose `type` is a card's. A chunk whose batch rows lie far apart has no margins.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Lacking, Lie, Output, outcome_of
from harness.consumers.wan_parts import WanParts
from harness.kernels.launch import as_its_twin, beside, landed, rows_of
from harness.kernels.margins import Margins
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.chunked_frames import (
    CACHED,
    NEW,
    Sizes,
    frame_name,
    frame_reader,
    honest_chunk,
    is_far,
    stamped,
    told_cache,
    told_new,
    told_padding,
)
from simulators.payload import Payload

#: Frames that are kept for the next chunk, as upstream's `CACHE_T` has it.
_KEPT = 2
_ZEROS = "padding"
#: A frame by its stream and number; None is one of padding.
_Frame = tuple[str, int] | None


class _Place(str):
    """What torch takes for the CPU, and what says that it is a card."""

    type = "cuda"


class _OnCard(torch.Tensor):
    """A tensor of the CPU that says it is on a card."""

    is_cuda = True
    device = property(lambda self: _Place("cpu"))


class KernelCausalPad:
    """The consumer of kernel-causal-pad."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._parts = WanParts(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be told."""
        return self._passed(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the convolution gets, and what is kept."""
        payload = lie.told(_honest(dims))

        def call() -> Output:
            margins = Margins()
            new = told_new(payload, self._device)
            new = self._as_card(new if is_far(payload) else margins.around(new, "the chunk"))
            cache = told_cache(payload, self._device)
            if isinstance(cache, torch.Tensor) and not cache.is_meta:
                cache = self._as_card(margins.around(cache, "the cache"))
            with margins:
                made = self._made(new, cache, told_padding(payload), dims)
            return _read(made, dims, margins.written())

        return Run(
            outcome_of(self._upstream, lambda: landed(self._device, call)),
            self._passed(payload, dims),
        )

    def _as_card(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.as_subclass(_OnCard) if self._device.type == "cpu" else tensor

    def _made(
        self, new: torch.Tensor, cache: Any, padding: Any, dims: Mapping[str, str]
    ) -> list[torch.Tensor]:
        """Return what the convolution gets and, where it is kept, the next cache."""
        if dims["entry"] == "pad":
            made = [self._parts.pad(new, cache, padding)]
        elif dims["entry"] == "caller":
            made = [self._parts.caller()(new, cache, padding)]
        else:
            run = self._parts.cached_run(_sizes(dims).channels, padding)
            if run is None:
                raise Lacking("this release has no cat_pad_channels_last_3d")
            caches = [cache]
            made = [run(new, caches), *caches]
        return [tensor.as_subclass(torch.Tensor) for tensor in made]

    def _passed(self, payload: Payload, dims: Mapping[str, str]) -> Passed:
        sizes = _sizes(dims)
        told = {
            "x": told_new(payload),
            "cache_x": told_cache(payload),
            "padding": told_padding(payload),
        }
        request = {
            "entry": dims["entry"],
            "shape": sizes.shape,
            "cached": sizes.cached,
            "padding": sizes.padding,
            "dtype": f"torch.{dims['dtype']}",
        }
        return Passed(told, request, frame_reader(sizes))


def _sizes(dims: Mapping[str, str]) -> Sizes:
    rows, columns = map(int, dims["shape"].split("x"))
    pad_rows, pad_columns = map(int, dims["pad"].split("x"))
    counts = {name: int(dims[name]) for name in ("batch", "channels", "frames", "cached", "front")}
    return Sizes(rows=rows, columns=columns, pad_rows=pad_rows, pad_columns=pad_columns, **counts)


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_chunk(_sizes(dims), dims["dtype"])


def _read(made: Sequence[torch.Tensor], dims: Mapping[str, str], written: str) -> Output:
    sizes = _sizes(dims)
    frames: list[_Frame] = [None] * (sizes.front - sizes.cached)
    frames += [(CACHED, i) for i in range(sizes.cached)] + [(NEW, i) for i in range(sizes.frames)]
    places = (
        ("what the convolution gets", frames, (sizes.pad_rows, sizes.pad_columns)),
        ("the next cache", frames[-_KEPT:], (0, 0)),
    )
    facts, found = {}, list[Span]()
    for tensor, (place, wanted, pad) in zip(made, places, strict=False):
        facts[f"the form of {place}"] = f"{tuple(tensor.shape)}, {tensor.dtype}"
        own: list[Span] = []
        for batch in range(sizes.batch):
            for channel in range(sizes.channels):
                wants = _wants(wanted, sizes, pad[0], batch, channel)
                has = _whose(tensor, sizes, pad[1], batch, channel)
                own += rows_of(f"{place}, batch row {batch} channel {channel},", wants, has)
        if all(span.right for span in own):
            own += as_its_twin(tensor, _twin(wanted, sizes, dims["dtype"], pad))
        found += own
    return Output((*found, *beside(written)), facts, list(made))


def _wants(
    frames: Sequence[_Frame], sizes: Sizes, pad: int, batch: int, channel: int
) -> list[Whose]:
    """Return whose each row should be, of all frames of a channel, one after the other."""
    wants: list[Whose] = []
    for frame in frames:
        for row in range(-pad, sizes.rows + pad):
            is_padding = frame is None or not 0 <= row < sizes.rows
            name = _ZEROS if frame is None else frame_name(*frame, batch, channel)
            wants.append(Whose(_ZEROS, len(wants)) if is_padding else Whose(name, row))
    return wants


def _whose(
    tensor: torch.Tensor, sizes: Sizes, pad: int, batch: int, channel: int
) -> list[Whose | None]:
    if tensor.ndim != 5 or batch >= tensor.shape[0] or channel >= tensor.shape[1]:
        return []
    read, has = frame_reader(sizes), list[Whose | None]()
    for row in tensor[batch, channel].flatten(0, 1).tolist():
        inner, around = row[pad : len(row) - pad], [*row[:pad], *row[len(row) - pad :]]
        (origin,) = read([inner])
        if not any(row):
            has.append(Whose(_ZEROS, len(has)))
        elif origin is None or any(around):
            has.append(None)
        else:
            has.append(Whose(str(origin.owner), origin.position))
    return has


def _twin(frames: Sequence[_Frame], sizes: Sizes, dtype: str, pad: tuple[int, int]) -> torch.Tensor:
    """Return what torch makes by writing each frame to its place in zeros."""
    streams = {
        CACHED: stamped(CACHED, sizes, sizes.cached, dtype),
        NEW: stamped(NEW, sizes, sizes.frames, dtype),
    }
    rows, columns = pad
    shape = (sizes.rows + 2 * rows, sizes.columns + 2 * columns)
    twin = torch.zeros(
        sizes.batch, sizes.channels, len(frames), *shape, dtype=getattr(torch, dtype)
    )
    for place, frame in enumerate(frames):
        if frame is not None:
            stream, number = frame
            inner = twin[:, :, place, rows : rows + sizes.rows, columns : columns + sizes.columns]
            inner.copy_(streams[stream][:, :, number])
    return twin
