"""Chunks of frames are honest, their rows tell whose they are, and layouts keep the elements."""

import pytest
import torch

from contracts import kernel_causal_pad
from contracts.contract import Origin
from simulators.chunked_frames import (
    CACHED,
    MARKER,
    NEW,
    OLDER,
    Sizes,
    frame_name,
    frame_reader,
    honest_chunk,
    laid_out,
    stamped,
    told_cache,
    told_new,
    told_padding,
)
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream

EVERY = ("float32", "float16", "bfloat16", "int32", "int8")


def told(payload: Payload) -> dict[str, object]:
    """Return what a kernel is told by a payload."""
    return {
        "x": told_new(payload),
        "cache_x": told_cache(payload),
        "padding": told_padding(payload),
    }


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("entry", ["pad", "caller", "keep"])
def test_an_honest_chunk_breaks_nothing(entry: str, dtype: str) -> None:
    """In any dtype, with anything cached."""
    for cached in (0, 1, 2):
        sizes = Sizes(cached=cached, frames=3, channels=3)
        request = {
            "entry": entry,
            "shape": sizes.shape,
            "cached": cached,
            "padding": sizes.padding,
            "dtype": f"torch.{dtype}",
        }
        found = kernel_causal_pad.check(
            told(honest_chunk(sizes, dtype)), request, frame_reader(sizes)
        )
        assert list(found) == []


@pytest.mark.parametrize("dtype", EVERY)
def test_a_row_tells_whose_it_is(dtype: str) -> None:
    """Whatever the dtype; and what is no one's row has no origin."""
    sizes = Sizes()
    read = frame_reader(sizes)
    for name, request in ((NEW, 0), (CACHED, 1), (OLDER, 0)):
        frames = stamped(name, sizes, 2, dtype, request)
        owner = frame_name(name, 1, 0, 1, request)
        assert read(frames[0, 1, 1].tolist()) == [Origin(owner, row) for row in range(3)]
    rows = stamped(NEW, sizes, 2)[0, 0, 0]
    assert read(rows.flip(1).tolist()) == [None] * 3
    assert read(torch.zeros(1, 4).tolist()) == read([[float("nan")] * 4]) == [None]


def test_sizes_that_tell_nobody_apart_are_refused() -> None:
    """A row of one column has 120 values, and there are more rows."""
    with pytest.raises(ValueError, match="two rows are alike"):
        frame_reader(Sizes(columns=1, rows=20))


@pytest.mark.parametrize("word", ["channels-last", "turned", "columns-apart", "view"])
def test_a_layout_keeps_the_elements(word: str) -> None:
    """It has other strides, and that is all."""
    new = stamped(NEW, Sizes(), 2)
    made = laid_out(new, word)

    assert torch.equal(made, new)
    assert not made.is_contiguous()


def test_what_is_expanded_stands_in_one_place() -> None:
    """Nothing is copied."""
    new = stamped(NEW, Sizes(), 2)
    frames, batch = laid_out(new, "frames-expanded"), laid_out(new, "batch-expanded")

    assert frames.stride(2) == batch.stride(0) == 0
    assert torch.equal(frames[:, :, 1], new[:, :, 0])
    assert torch.equal(batch[1], new[0])


@pytest.mark.parametrize(
    ("fault", "dim", "apart"),
    [("far-apart", 0, 2**30), ("farther-apart", 0, 2**31), ("of-long-video", 1, 2**30)],
)
def test_what_is_far_apart_lies_in_one_pool_with_anothers(fault: str, dim: int, apart: int) -> None:
    """Off by 2**32 elements, as 32 bits would have the last one, lies another request's part."""
    count = 2**31 // apart + 1
    sizes = Sizes(batch=count, channels=1) if dim == 0 else Sizes(batch=1, channels=count)
    honest = honest_chunk(sizes, "int8")
    payload = FAULTS[f"chunk-new-{fault}"].change(honest, (), stream(0))
    new = told_new(payload)

    assert new.stride(dim) == apart
    assert torch.equal(new, honest.beside["new"])
    first = new.select(dim, 0)
    elsewhere = first.as_strided(first.shape, first.stride(), new.storage_offset() - 2**31)
    assert torch.equal(elsewhere, honest.beside["others"].select(dim, 0))


def test_the_forms_of_a_cache() -> None:
    """A tensor, one frame alone, one without data, the marker, and none."""
    honest = honest_chunk(Sizes())
    kinds = {
        name: told_cache(FAULTS[f"chunk-cache-{name}"].change(honest, (), stream(0)))
        for name in ("flat", "elsewhere", "marker", "none")
    }

    assert kinds["flat"].shape == (2, 2, 3, 4)
    assert kinds["elsewhere"].is_meta
    assert (kinds["marker"], kinds["none"]) == (MARKER, None)
    assert told_cache(honest.with_records([])).shape == (2, 2, 0, 3, 4)
    with pytest.raises(ValueError, match="no form of a cache"):
        told_cache(Payload(honest.form, (), (), {**honest.beside, "cache_form": "bent"}))
