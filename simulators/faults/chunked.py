"""Faults of the cached frames before a chunk of a video, of the chunk, and of their padding."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import CHUNKED, Payload

#: Gets a tensor.
Edit = Callable[[Any], Any]
Padding = tuple[Any, ...]
_SIDES = 6


def cache_becomes(edit: Edit) -> Change:
    """Return the fault that edits each cached frame, (batch, channels, rows, columns).

    Another request's are edited alike, so that one of them may still take a frame's place.
    """

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        edited = tuple(edit(frame) for frame in payload.records)
        return replace(payload, records=edited, foreign=tuple(map(edit, payload.foreign)))

    return change


def frames_become(pick: Callable[[Payload], tuple[Any, ...]]) -> Change:
    """Return the fault that puts other frames into the cache."""
    return lambda payload, at, rng: payload.with_records(pick(payload))


def new_becomes(edit: Edit) -> Change:
    """Return the fault that edits the chunk; an earlier one may have made it uneditable."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        new = payload.beside["new"]
        if new.ndim != 5 or not new.numel():
            return payload
        return replace(payload, beside={**payload.beside, "new": edit(new)})

    return change


def beside_becomes(edit: Callable[[Payload], dict[str, Any]]) -> Change:
    """Return the fault that changes what stands beside the frames."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **edit(payload)})

    return change


def padding_becomes(edit: Callable[[Padding], Padding]) -> Change:
    """Return the fault that tells another padding; an earlier one may have told no six numbers."""

    def edited(payload: Payload) -> dict[str, Any]:
        padding = payload.beside["padding"]
        return {"padding": edit(padding)} if len(padding) == _SIDES else {}

    return beside_becomes(edited)


def _other_dtype(tensor: Any) -> Any:
    return tensor.half() if tensor.element_size() == 4 else tensor.float()


def _last_twice(tensor: Any, dim: int) -> Any:
    return tensor[(slice(None),) * dim + ([*range(tensor.shape[dim]), -1],)]


def _longer(payload: Payload) -> tuple[Any, ...]:
    return (payload.beside["older"][-1], *payload.records)


def _older(payload: Payload) -> tuple[Any, ...]:
    older = payload.beside["older"]
    return tuple(older[: len(payload.records)]) or tuple(older)


def _of_last_chunk(payload: Payload) -> dict[str, Any]:
    """Return the chunk's place taken by frames that are in the cache already."""
    import torch

    new, frames = payload.beside["new"], payload.records
    if new.ndim != 5 or not frames or not new.shape[2]:
        return {}
    again = [frames[i % len(frames)] for i in range(new.shape[2])]
    return {"new": torch.stack(again, dim=2)}


def _cache(name: str, kind: str, edit: Edit, picture: str, scope: str = "cache") -> Fault:
    change = cache_becomes(edit)
    return Fault(f"chunk-cache-{name}", kind, change, (CHUNKED,), whole, picture, scope=scope)


def _frames(name: str, kind: str, pick: Any, picture: str) -> Fault:
    change = frames_become(pick)
    return Fault(f"chunk-cache-{name}", kind, change, (CHUNKED,), whole, picture, scope="cache")


def _new(name: str, kind: str, edit: Edit, picture: str, scope: str = "chunk") -> Fault:
    change = new_becomes(edit)
    return Fault(f"chunk-new-{name}", kind, change, (CHUNKED,), whole, picture, scope=scope)


def _padding(name: str, kind: str, edit: Callable[[Padding], Padding], picture: str) -> Fault:
    change = padding_becomes(edit)
    return Fault(f"chunk-pad-{name}", kind, change, (CHUNKED,), whole, picture, scope="padding")


def _beside(
    name: str, kind: str, picture: str, scope: str, benign: bool = False, **told: str
) -> Fault:
    change = beside_becomes(lambda payload: told)
    named = f"chunk-{name}"
    return Fault(named, kind, change, (CHUNKED,), whole, picture, scope=scope, benign=benign)


def _laid(name: str, picture: str, scope: str = "layout") -> tuple[Fault, Fault]:
    """Return the faults of one layout: of the cache, and of the chunk."""
    return (
        _beside(f"cache-{name}", "substitution", f"cache: {picture}", scope, cache_layout=name),
        _beside(f"new-{name}", "substitution", f"chunk: {picture}", scope, new_layout=name),
    )


#: The rows of these faults in the table.
FAULTS = (
    _frames("foreign", "staleness", lambda p: p.foreign, "cached a b -> x y, of another request"),
    _frames("stale", "staleness", _older, "cached a b -> the frames that were cached before them"),
    _frames("longer", "duplication", _longer, "cached b c -> a b c, a is the frame before"),
    _cache("rows-rolled", "skew", lambda t: t.roll(1, 2), "rows a b c of each -> c a b"),
    _cache("columns-mirrored", "reordering", lambda t: t.flip(3), "columns a b c -> c b a"),
    _cache("channels-mirrored", "reordering", lambda t: t.flip(1), "channels a b -> b a"),
    _cache("batch-mirrored", "reordering", lambda t: t.flip(0),
           "batch rows a b -> b a: each gets another's cache"),
    _cache("other-dtype", "substitution", _other_dtype,
           "float32 -> float16, and any other -> float32"),
    _cache("row-less", "truncation", lambda t: t[:, :, :-1], "cached 3 rows -> 2 rows", "form"),
    _cache("column-more", "duplication", lambda t: _last_twice(t, 3),
           "cached 4 columns -> 5 columns", "form"),
    _cache("sides-swapped", "reordering", lambda t: t.transpose(2, 3),
           "cached (rows, columns) -> (columns, rows)", "form"),
    _cache("channel-less", "truncation", lambda t: t[:, :-1],
           "cached 2 channels -> 1 channel", "form"),
    _cache("batch-one", "truncation", lambda t: t[:1],
           "cached 2 batch rows -> 1 batch row", "form"),
    _cache("batch-more", "duplication", lambda t: _last_twice(t, 0),
           "cached 2 batch rows -> 3 batch rows", "form"),
    _beside("cache-none", "omission", "cached a b -> none", "cache", cache_form="none"),
    _beside("cache-marker", "omission", "cached a b -> the marker of a first chunk", "cache",
            cache_form="marker"),
    _beside("cache-flat", "substitution", "cached (.., frames, ..) -> one frame alone, 4-D", "form",
            cache_form="flat"),
    _beside("cache-elsewhere", "substitution", "on the kernel's device -> on another one", "form",
            cache_form="elsewhere"),
    _new("foreign", "staleness", lambda t: t.roll(1, 0),
         "batch rows a b -> b a: each goes on with another's chunk"),
    _new("frames-mirrored", "reordering", lambda t: t.flip(2), "new frames a b -> b a"),
    _new("frame-less", "truncation", lambda t: t[:, :, :-1], "2 new frames -> 1 new frame"),
    _new("empty", "truncation", lambda t: t[:, :, :0], "2 new frames -> none"),
    _new("channel-less", "truncation", lambda t: t[:, :-1], "2 channels -> 1 channel"),
    _new("other-dtype", "substitution", _other_dtype,
         "float32 -> float16, and any other -> float32"),
    _new("flat", "substitution", lambda t: t[:, :, 0], "(.., frames, ..) -> one frame alone, 4-D"),
    _new("deep", "substitution", lambda t: t[None], "5 dimensions -> 6, one in front"),
    Fault("chunk-new-stale", "staleness", beside_becomes(lambda p: {"new": p.beside["others"]}),
          (CHUNKED,), whole, "new frames -> another request's", scope="chunk"),
    Fault("chunk-new-again", "duplication", beside_becomes(_of_last_chunk), (CHUNKED,), whole,
          "new frames -> those that are cached", scope="chunk"),
    *_laid("channels-last", "channels apart -> channels side by side"),
    *_laid("turned", "columns side by side -> rows side by side, the same elements"),
    *_laid("columns-apart", "side by side -> every second column of a larger tensor"),
    *_laid("view", "a tensor of its own -> the last frames of a longer one"),
    *_laid("frames-expanded", "frames a b -> frame a twice, in one place", "expanded"),
    *_laid("batch-expanded", "batch rows a b -> row a twice, in one place", "expanded"),
    _beside("new-far-apart", "skew", "batch rows side by side -> 2**30 elements apart", "far",
            new_layout="far-apart"),
    _beside("new-farther-apart", "skew", "batch rows side by side -> 2**31 elements apart", "far",
            new_layout="farther-apart"),
    _beside("new-of-long-video", "skew",
            "a chunk of its own -> frames of a video whose channels are 2**30 elements long", "far",
            new_layout="of-long-video"),
    _beside("pad-tuple", "substitution", "padding in a list -> in a tuple", "padding",
            padding_as="tuple"),
    _padding("columns-uneven", "skew", lambda p: (p[0], p[1] + 1, *p[2:]),
             "1 column on each side -> 1 and 2"),
    _padding("rows-uneven", "skew", lambda p: (*p[:2], p[2], p[3] + 1, *p[4:]),
             "1 row on each side -> 1 and 2"),
    _padding("behind", "skew", lambda p: (*p[:5], p[5] + 1), "0 frames behind -> 1 frame"),
    _padding("wider", "skew", lambda p: (p[0] + 1, p[1] + 1, *p[2:]),
             "1 column on each side -> 2"),
    _padding("crop", "truncation", lambda p: (p[0] - 2, p[1] - 2, *p[2:]),
             "1 column on each side -> -1, so that columns are cut off"),
    _padding("none", "omission", lambda p: (0, 0, 0, 0, *p[4:]), "rows and columns around -> none"),
    _padding("front-less", "truncation", lambda p: (*p[:4], p[4] - 1, p[5]),
             "2 frames in front -> 1 frame"),
    _padding("front-more", "skew", lambda p: (*p[:4], p[4] + 1, p[5]),
             "2 frames in front -> 3 frames"),
    _padding("front-none", "omission", lambda p: (*p[:4], 0, p[5]), "2 frames in front -> none"),
    _padding("all-none", "omission", lambda p: (0,) * _SIDES, "padding -> no padding at all"),
    _padding("by-frames", "reordering", lambda p: (*p[4:], *p[2:4], *p[:2]),
             "(columns, rows, frames) -> (frames, rows, columns)"),
    _padding("short", "truncation", lambda p: p[:-1], "6 numbers -> 5 numbers"),
    _padding("long", "skew", lambda p: (*p, 0, 0), "6 numbers -> 8 numbers"),
    _padding("floats", "substitution", lambda p: tuple(map(float, p)), "1 and 2 -> 1.0 and 2.0"),
)  # fmt: skip
