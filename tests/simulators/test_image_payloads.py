"""Honest groups, results, pictures and sizes satisfy their contracts; faults by hand."""

import json
from typing import Any

import pytest
import torch

from contracts import (
    ar_distributed_output,
    ar_grouped,
    ar_grouped_shapes,
    image_crop,
    image_resolution,
)
from simulators.denoiser_results import PICTURE, frames_of, honest_results, sequences
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.picture_size import honest_size
from simulators.request_group import honest_group
from simulators.rng import stream
from simulators.stamp import StampReader
from simulators.stamped_frames import FrameReader, assembled_frames, honest_frames


def faulty(payload: Payload, name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return a payload with one fault."""
    return FAULTS[name].change(payload, at, stream(0))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_honest_payloads_break_nothing(count: int) -> None:
    """Whatever their number."""
    group = list(honest_group([f"p {i}" for i in range(2 * count)], 64, 96, 2).records)
    results = {"ar_error": None, "results": list(honest_results(count, 3).records)}
    frames = assembled_frames(honest_frames(count, (64, 96), (60, 90)))
    size = honest_size(64, 96).records[0]
    cut = {"outputs": count, "decoded": (64, 96), "asked": (60, 90)}

    assert not list(ar_grouped.check(group, {}))
    assert not list(ar_grouped_shapes.check(group, {}))
    assert not list(
        ar_distributed_output.check(
            results, {"clients": count, "outputs": 3}, StampReader(sequences(count, 3))
        )
    )
    assert not list(
        image_crop.check({"frames": frames, "target": (60, 90)}, cut, FrameReader(count, 64, 96))
    )
    assert not list(image_resolution.check(size, {"user": False}))


def test_a_result_goes_out_as_the_head_reads_it() -> None:
    """First what it is, in JSON, then the bytes of each tensor."""
    record = honest_results(1, 2).records[0]
    head, pictures = frames_of(record, "request 0")

    assert json.loads(head) == {
        "tensor_descriptors": [
            {
                "field_name": "output",
                "shape": [2, *PICTURE],
                "dtype": "float32",
                "list_index": -1,
            }
        ],
        "scalar_fields": {"request_id": "request 0", "peak_memory_mb": 0.0},
    }
    assert torch.frombuffer(bytearray(pictures), dtype=torch.float32).tolist() == (
        record["output"].flatten().tolist()
    )
    assert len(frames_of({**record, "lost": 1}, "request 0")) == 1
    assert len(frames_of({**record, "output": None, "error": "no"}, None)) == 1


def test_a_pixel_says_whose_it_is_and_where_it_stands() -> None:
    """Ours by number, others by name, and what is no stamp by nothing."""
    read = FrameReader(2, 4, 6)

    assert read([0.0, 23.0, 24.0]) == [(0, 0), (0, 23), (1, 0)]
    assert read([48.0]) == [("another request's frame 0", 0)]
    assert read([-1.0, 0.5, 96.0]) == [None, None, None]


@pytest.mark.parametrize(
    ("name", "size", "asked"),
    [
        ("canvas-taller", (65, 96), (65, 96)),
        ("canvas-twelve-less", (52, 84), (52, 84)),
        ("canvas-swapped", (96, 64), (64, 96)),
        ("canvas-negative", (-64, 96), (-64, 96)),
    ],
)
def test_a_size_changes_as_the_picture_says(name: str, size: Any, asked: Any) -> None:
    """With the asked size or without it."""
    (record,) = faulty(honest_size(64, 96), name).records

    assert (record["height"], record["width"]) == size
    assert record["asked"] == asked


def test_a_request_changes_alone_and_a_group_together() -> None:
    """The one at the place, or all."""
    honest = honest_group(["a", "b", "c", "d"], 64, 96, 1)

    def sizes(payload: Payload) -> list[tuple[int, int]]:
        return [(one["height"], one["width"]) for one in payload.records]

    assert sizes(faulty(honest, "request-transposed", (1,))) == [(64, 96), (96, 64)]
    assert sizes(faulty(honest, "group-unaligned")) == [(65, 100), (65, 100)]


def test_swapped_ids_leave_the_pictures_where_they_are() -> None:
    """Each result says that it is the other's."""
    honest = honest_results(2, 1)
    swapped = faulty(honest, "result-id-swapped", (0, 1))

    assert [record["request"] for record in swapped.records] == [1, 0]
    assert [record["output"] is old["output"] for record, old in
            zip(swapped.records, honest.records, strict=True)] == [True, True]  # fmt: skip


def test_a_target_is_larger_than_what_is_decoded() -> None:
    """By one pixel, in one side."""
    honest = honest_frames(1, (64, 96), (60, 90))

    assert faulty(honest, "target-taller").beside["target"] == (65, 90)
    assert faulty(honest, "target-wider").beside["target"] == (60, 97)
