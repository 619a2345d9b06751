"""Honest cameras say which row is whose, and what they make; their faults, by hand."""

import math
from typing import Any

import pytest
import torch

from contracts.contract import Origin
from simulators.camera_rows import (
    OTHER,
    CameraReader,
    hidden_rows,
    honest_camera,
    scale_shift,
    weights,
)
from simulators.faults import FAULTS
from simulators.rng import stream


def faulty(name: str) -> dict[str, Any]:
    """Return a camera of two batch rows with one fault."""
    record: dict[str, Any] = FAULTS[name].change(honest_camera(2, True), (), stream(0)).records[0]
    return record


def test_scale_and_shift_follow_the_formula() -> None:
    """One row, number by number."""
    camera = honest_camera(2, False).records[0]["camera"].double()
    row = camera[1, 3].tolist()

    def layer(name: str, given: list[float]) -> list[float]:
        matrix, bias = weights()[f"{name}.weight"].tolist(), weights()[f"{name}.bias"].tolist()
        sums = [sum(w * x for w, x in zip(line, given, strict=True)) for line in matrix]
        return [s + b for s, b in zip(sums, bias, strict=True)]

    silu = [x / (1 + math.exp(-x)) for x in layer("cam_injector.fc_in", row)]
    mixed = [a + b for a, b in zip(layer("cam_injector.fc_out", silu), row, strict=True)]
    scale, shift = scale_shift(camera)

    assert scale[1, 3].tolist() == pytest.approx(layer("cam_scale_layer", mixed))
    assert shift[1, 3].tolist() == pytest.approx(layer("cam_shift_layer", mixed))


def test_a_row_says_whose_it_is() -> None:
    """An embedding, a scale, a shift and a result; and what is nobody's."""
    payload, reader = honest_camera(2, True), CameraReader(2)
    ours, other = payload.records[0], payload.foreign[0]
    scale, shift = ours["scale_shift"]
    hidden = hidden_rows(2)[1, 2]

    assert reader([("camera", ours["camera"][1, 2])]) == [Origin(1, 2)]
    assert reader([("camera", other["camera"][0, 5])]) == [Origin(OTHER, 5)]
    assert reader([("scale", scale[0, 4]), ("shift", scale[0, 4])]) == [Origin(0, 4), None]
    assert reader.made(1, 2, (1 + scale[0, 3]) * hidden + shift[0, 3]) == Origin(0, 3)
    assert reader.made(1, 2, hidden) == Origin("no camera", 2)
    assert reader.made(1, 2, 3 * hidden) is None


def test_the_rows_of_all_cameras_differ() -> None:
    """By far more than float16 rounds."""
    payload = honest_camera(8, True)
    for part in (0, 1):
        both = [record["scale_shift"][part] for record in (*payload.records, *payload.foreign)]
        rows = torch.cat(both).flatten(0, 1)
        apart = (rows[:, None] - rows[None]).abs().amax(-1)
        assert apart.fill_diagonal_(1).min() > 0.05


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("cam-batch-one", (1, 6, 8)),
        ("cam-token-less", (2, 5, 8)),
        ("cam-token-more", (2, 7, 8)),
        ("cam-token-one", (2, 1, 8)),
        ("cam-narrow", (2, 6, 7)),
        ("cam-flat", (12, 8)),
        ("cam-transposed", (2, 8, 6)),
    ],
)
def test_a_camera_changes_as_the_picture_says(name: str, shape: tuple[int, ...]) -> None:
    """And its scale and shift do not."""
    assert tuple(faulty(name)["camera"].shape) == shape
    assert torch.equal(
        faulty(name)["scale_shift"][0], honest_camera(2, True).records[0]["scale_shift"][0]
    )


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("pair-token-one", [(2, 1, 8)] * 2),
        ("pair-batch-one", [(1, 6, 8)] * 2),
        ("pair-column-one", [(2, 6, 1)] * 2),
        ("pair-token-less", [(2, 5, 8)] * 2),
        ("pair-wide", [(2, 6, 16)] * 2),
        ("pair-dimension-more", [(1, 2, 6, 8)] * 2),
        ("pair-batch-doubled", [(4, 6, 8)] * 2),
        ("pair-shift-short", [(2, 6, 8), (2, 1, 8)]),
        ("pair-three", [(2, 6, 8)] * 3),
        ("pair-scale-alone", [(6, 8)] * 2),
    ],
)
def test_a_pair_changes_as_the_picture_says(name: str, shapes: Any) -> None:
    """And its camera does not."""
    assert [tuple(part.shape) for part in faulty(name)["scale_shift"]] == shapes


def test_a_stale_pair_is_another_requests() -> None:
    """Whole, and of the same shape."""
    stale = faulty("pair-stale")["scale_shift"]

    assert CameraReader(2)([("scale", stale[0][1, 0])]) == [Origin(OTHER, 0)]
