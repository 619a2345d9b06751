"""kernel-causal-pad: cached frames, a chunk and padding become what a causal convolution gets.

- The padding is six whole numbers: columns left and right, rows above and below, frames in front
  and behind. The two of columns are equal, the two of rows too, and none stands behind. The frames
  in front are at least as many as are cached: the rest of them is zeros.
- Cache and chunk are (batch, channels, frames, rows, columns), on one device, of one dtype, and
  differ in frames only. A cache is there where one was left.
- Where the kernel of `pad` gets them, neither has gaps; where that of `keep` does, no element lies
  2**31 elements or more from the first.
- All is the request's; each cached frame and each new one is the request's own, in its place.

Payload, by upstream's names: `x`, `cache_x` (None or "Rep" where nothing is cached) and `padding`.
Request: `entry`, `shape` of the chunk, `cached` frames, `padding` and `dtype`.

Entries: `pad` (`fused_causal_conv3d_cat_pad`), `caller` (`causal_conv3d_cat_pad`) and `keep`
(`_run_cached_causal_conv`, from 0.5.18 on). No clause is guarded by a text: the kernel's function
asserts without one, and the callers fall back to torch, which is right wherever torch has a meaning
for it. With as many frames in front as none, the callers leave the cache out and say nothing.

The kernel of `keep` counts in 32 bits unless its output is large, and forms each offset from
strides: of channels, or rows of the batch, that lie 2**30 elements apart, the third is read from
elsewhere. The encoder hands on frames of a whole video, where channels lie so far apart. Where a
stride alone does not fit into 32 bits, it is passed in 64, and all is right. The kernel of `pad`
always counts in 32 bits: that takes an output of 2**31 elements, which no case has. Nor has any a
place further off than margins reach.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER
from contracts.source import Source

PAD, CALLER, KEEP = "pad", "caller", "keep"
_FILE = "multimodal_gen/runtime/layers/parallel_conv.py"
_SIDES = 6
_DIMENSIONS = 5
_INT32 = 2**31
_MARKER = "Rep"

PADDING_SIX = Clause("padding-six", "The padding is six numbers.", incidental=("ValueError",))
CACHE_KIND = Clause(
    "cache-kind", "A cache is there where one was left, and is (batch, channels, frames, ..)."
)
CACHE_HERE = Clause("cache-here", "Cache and chunk are on one device.")
CHUNK_FORM = Clause("chunk-form", "A chunk is (batch, channels, frames, rows, columns).")
FRONT_HOLDS = Clause("front-holds", "The frames in front are as many as are cached, or more.")
PADDING_EVEN = Clause(
    "padding-even", "Both numbers of columns are equal, of rows too, and none stands behind."
)
CACHE_FITS = Clause("cache-fits", "Cache and chunk differ in frames only.")
PADDING_WHOLE = Clause("padding-whole", "The padding is whole numbers.", incidental=("TypeError",))
PADDING_LIST = Clause("padding-list", "The padding is a list, that its reader may change.")
DTYPE_ONE = Clause("dtype-one", "Cache and chunk have one dtype.")
NO_GAPS = Clause("no-gaps", "Cache and chunk lie without gaps, in the order of their dimensions.")
NEAR = Clause("near", "No element lies 2**31 elements or more from the first.")
FUSED = Clause(
    "fused",
    "The kernel is there where it is asked for.",
    guards=(
        Guard(
            "RuntimeError",
            "causal Conv3D cat/pad fusion is only available on CUDA",
            EVER,
            Source("0.5.23", _FILE, "fused_causal_conv3d_cat_pad"),
            unreachable="what asks for the kernel asks first whether this is CUDA",
        ),
    ),
)
SHAPE_ASKED = Clause("shape-asked", "The chunk has the request's shape.")
CACHED_ASKED = Clause("cached-asked", "As many frames are cached as were left.")
PADDING_ASKED = Clause("padding-asked", "The padding is the request's.")
DTYPE_ASKED = Clause("dtype-asked", "Cache and chunk are of the request's dtype.")
CHUNK_IDENTITY = Clause("chunk-identity", "New frame i is the chunk's frame i.", identity=True)
CACHE_IDENTITY = Clause(
    "cache-identity", "Cached frame i is the frame that was left as such.", identity=True
)
_CLAUSES = (
    PADDING_SIX,
    CACHE_KIND,
    CACHE_HERE,
    CHUNK_FORM,
    FRONT_HOLDS,
    PADDING_EVEN,
    CACHE_FITS,
    PADDING_WHOLE,
    PADDING_LIST,
    DTYPE_ONE,
    NO_GAPS,
    NEAR,
    FUSED,
    SHAPE_ASKED,
    CACHED_ASKED,
    PADDING_ASKED,
    DTYPE_ASKED,
    CHUNK_IDENTITY,
    CACHE_IDENTITY,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    new, cache, padding = payload["x"], payload["cache_x"], tuple(payload["padding"])
    entry = request["entry"]
    if len(padding) != _SIDES:
        yield Violation(PADDING_SIX, "padding", f"{_SIDES} numbers", str(len(padding)))
        return
    yield from _walk_kinds(new, cache, padding, request)
    if _is_cache(cache) and new.ndim == _DIMENSIONS:
        yield from _walk_fit(new, cache, padding, entry)
    whole = all(type(number) is int for number in padding)
    if not whole:
        yield Violation(PADDING_WHOLE, "padding", "whole numbers", str(padding))
    if entry == CALLER and isinstance(payload["padding"], tuple):
        fused = not any(_reasons(new, cache, padding))
        accident = () if fused or not _is_cache(cache) else ("TypeError",)
        yield Violation(PADDING_LIST, "padding", "a list", "a tuple", incidental=accident)
    if new.ndim == _DIMENSIONS:
        yield from _walk_layout(new, cache, entry)
    yield from _walk_asked(new, cache, padding, request)
    yield from _walk_rows(new, cache, request, owner_of)


def _is_cache(cache: Any) -> bool:
    return cache is not None and cache != _MARKER and cache.ndim == _DIMENSIONS


def _walk_kinds(
    new: Any, cache: Any, padding: Sequence[Any], request: Mapping[str, Any]
) -> Iterator[Violation]:
    entry, front = request["entry"], padding[4]
    if request["cached"] and (cache is None or isinstance(cache, str)):
        # A marker is no cache to the one function that knows it.
        accident = entry == PAD or (entry == CALLER and cache is not None and front > 0)
        said = "none" if cache is None else cache
        incidental = ("AttributeError",) if accident else ()
        yield Violation(CACHE_KIND, "cache_x", "a cache", said, incidental=incidental)
    if cache is not None and not isinstance(cache, str):
        if cache.ndim != _DIMENSIONS:
            by_front = ("AssertionError",) if front < cache.shape[2] else ()
            incidental = by_front if entry == PAD else ("RuntimeError",)
            said = f"{cache.ndim} dimensions"
            yield Violation(
                CACHE_KIND, "cache_x", f"{_DIMENSIONS} dimensions", said, incidental=incidental
            )
        if cache.device != new.device:
            # Torch's, of a tensor that has no data; and Triton's, of one that is not on its card.
            incidental = ("NotImplementedError", *(("ValueError",) if entry == PAD else ()))
            yield Violation(
                CACHE_HERE, "cache_x", str(new.device), str(cache.device), incidental=incidental
            )
    if new.ndim != _DIMENSIONS:
        # Of more dimensions than it indexes, torch's complaint comes where it joins both.
        short = "IndexError" if new.ndim < _DIMENSIONS else "RuntimeError"
        error = {PAD: "ValueError", CALLER: "RuntimeError", KEEP: short}[entry]
        said = f"{new.ndim} dimensions"
        yield Violation(CHUNK_FORM, "x", f"{_DIMENSIONS} dimensions", said, incidental=(error,))


def _walk_fit(new: Any, cache: Any, padding: Sequence[Any], entry: str) -> Iterator[Violation]:
    asserted = ("AssertionError",) if entry == PAD else ()
    if padding[4] < cache.shape[2]:
        wanted = f"{cache.shape[2]} frames or more"
        yield Violation(FRONT_HOLDS, "padding", wanted, str(padding[4]), incidental=asserted)
    if padding[0] != padding[1] or padding[2] != padding[3] or padding[5] != 0:
        yield Violation(
            PADDING_EVEN, "padding", "a, a, b, b, c, 0", str(padding), incidental=asserted
        )
    if _but_frames(new) != _but_frames(cache):
        accident = ("RuntimeError",) if entry != PAD and padding[4] > 0 else ()
        wanted, said = str(_but_frames(new)), str(_but_frames(cache))
        yield Violation(CACHE_FITS, "cache_x", wanted, said, incidental=accident)
    if new.dtype != cache.dtype:
        yield Violation(DTYPE_ONE, "cache_x", str(new.dtype), str(cache.dtype))


def _but_frames(tensor: Any) -> tuple[int, ...]:
    batch, channels, _, rows, columns = tensor.shape
    return batch, channels, rows, columns


def _reasons(new: Any, cache: Any, padding: Sequence[Any]) -> Iterator[bool]:
    """Yield each of the caller's questions whether it has to do without the kernel."""
    if not _is_cache(cache) or new.ndim != _DIMENSIONS:
        yield True
        return
    yield not (new.is_contiguous() and cache.is_contiguous())
    yield new.dtype != cache.dtype or _but_frames(new) != _but_frames(cache)
    yield padding[0] != padding[1] or padding[2] != padding[3] or padding[5] != 0
    yield padding[4] < cache.shape[2]
    yield not (padding[0] or padding[2])


def _walk_layout(new: Any, cache: Any, entry: str) -> Iterator[Violation]:
    for name, tensor in (("x", new), ("cache_x", cache if _is_cache(cache) else None)):
        if tensor is None or tensor.is_meta:
            continue
        if entry == PAD and not tensor.is_contiguous():
            yield Violation(NO_GAPS, name, "no gaps", f"strides {tuple(tensor.stride())}")
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = sum((size - 1) * stride for size, stride in steps if size)
        if entry == KEEP and last >= _INT32:
            yield Violation(NEAR, name, f"less than {_INT32} elements", str(last))


def _walk_asked(
    new: Any, cache: Any, padding: Sequence[Any], request: Mapping[str, Any]
) -> Iterator[Violation]:
    if tuple(new.shape) != tuple(request["shape"]):
        yield Violation(SHAPE_ASKED, "x", str(tuple(request["shape"])), str(tuple(new.shape)))
    count = cache.shape[2] if _is_cache(cache) else 0
    if count != request["cached"]:
        yield Violation(CACHED_ASKED, "cache_x", f"{request['cached']} frames", str(count))
    if padding != tuple(request["padding"]):
        yield Violation(PADDING_ASKED, "padding", str(request["padding"]), str(padding))
    for name, tensor in (("x", new), ("cache_x", cache)):
        kind = str(getattr(tensor, "dtype", request["dtype"]))
        if kind != request["dtype"]:
            yield Violation(DTYPE_ASKED, name, request["dtype"], kind)


def _walk_rows(
    new: Any, cache: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    for clause, where, tensor, stream in (
        (CHUNK_IDENTITY, "x", new, "new"),
        (CACHE_IDENTITY, "cache_x", cache, "cached"),
    ):
        if owner_of is None:
            yield Unchecked(clause, "whose rows they are can be told only by a stamp reader")
        elif hasattr(tensor, "ndim") and tensor.ndim == _DIMENSIONS and not tensor.is_meta:
            yield from _walk_frames(clause, where, tensor, stream, owner_of)


def _walk_frames(
    clause: Clause, where: str, tensor: Any, stream: str, owner_of: OwnerOf
) -> Iterator[Violation]:
    batch, channels, frames, _, _ = tensor.shape
    for b, c, f in (
        (b, c, f) for b in range(batch) for c in range(channels) for f in range(frames)
    ):
        wanted = f"{stream} frame {f} of batch row {b} channel {c}"
        for row, origin in enumerate(owner_of(tensor[b, c, f].tolist())):
            said = f"row {origin.position} of {origin.owner}" if origin else "no known stamp"
            if said != f"row {row} of {wanted}":
                place = f"{where}[{b}, {c}, {f}, {row}]"
                yield Violation(clause, place, f"row {row} of {wanted}", said)
                return


CONTRACT = Contract(
    "kernel-causal-pad",
    "Cached frames, a chunk and padding become what a causal convolution gets.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
