"""The contract of lingbot-cam, alone: embeddings, scales and shifts written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, lingbot_cam
from contracts.contract import Violation
from simulators.camera_rows import CameraReader, honest_camera

HONEST = honest_camera(2, True)
CAMERA = HONEST.records[0]["camera"]
SCALE, SHIFT = HONEST.records[0]["scale_shift"]
STALE = HONEST.foreign[0]["scale_shift"]


def check(camera: Any = CAMERA, pair: Any = (SCALE, SHIFT), ready: bool = True) -> list[Violation]:
    """Return the violations of a camera, and of the scale and shift that come with it."""
    request = {"shape": (2, 6, 8), "dtype": "torch.float32", "ready": ready}
    payload = {"camera": camera, "scale_shift": pair}
    return list(lingbot_cam.check(payload, request, CameraReader(2)))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def test_an_honest_camera_breaks_nothing() -> None:
    """With what was computed of it before, and alone."""
    assert check() == []
    assert check(pair=None, ready=False) == []


@pytest.mark.parametrize(
    ("camera", "pair", "clauses"),
    [
        (None, (SCALE, SHIFT), {"camera-there"}),
        (CAMERA.tolist(), (SCALE, SHIFT), {"camera-tensor"}),
        (CAMERA[:, :-1], (SCALE, SHIFT), {"camera-shape"}),
        (CAMERA.half(), (SCALE, SHIFT), {"camera-dtype"}),
        (CAMERA.flip(0), (SCALE, SHIFT), {"camera-identity"}),
        (HONEST.foreign[0]["camera"], (SCALE, SHIFT), {"camera-identity"}),
        (CAMERA.flip(1), (SCALE, SHIFT), {"camera-position"}),
        (CAMERA, None, {"pair-there"}),
        (CAMERA, (SCALE,), {"pair-two"}),
        (CAMERA, torch.stack((SCALE, SHIFT)), {"pair-two"}),
        (CAMERA, SCALE, {"pair-two", "pair-shape"}),
        (CAMERA, (SCALE, None), {"pair-tensors"}),
        (CAMERA, (SCALE[:, :1], SHIFT), {"pair-shape"}),
        (CAMERA, (SCALE, SHIFT.half()), {"pair-dtype"}),
        (CAMERA, (SHIFT, SCALE), {"pair-identity"}),
        (CAMERA, STALE, {"pair-identity"}),
        (CAMERA, (SCALE.flip(1), SHIFT), {"pair-position"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(camera: Any, pair: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert names(check(camera, pair)) == clauses


def test_the_refusal_says_the_cameras_shape_first() -> None:
    """Behind it nothing is looked at, not even a stale pair."""
    (violation,) = check(CAMERA[:1], STALE)

    assert ending([violation], "0.5.16") is violation
    assert violation.refusal(violation.clause.guards[0]) == (
        "c2ws_plucker_emb shape must match hidden_states shape, got (1, 6, 8) vs (2, 6, 8)"
    )


def test_what_torch_can_repeat_ends_no_call() -> None:
    """A single token, a single row, one dimension more; but not 5 tokens of 6."""
    for part in (SCALE[:, :1], SCALE[:1], SCALE[..., :1], SCALE[None]):
        assert ending(check(pair=(part, part)), "0.5.23") is None
    assert ending(check(pair=(SCALE[:, :-1], SHIFT)), "0.5.23") is not None


def test_an_embedding_of_other_numbers_matters_only_where_it_is_computed_with() -> None:
    """Where scale and shift are there already, it is only measured."""
    assert ending(check(CAMERA.half()), "0.5.23") is None
    assert ending(check(CAMERA.half(), None, ready=False), "0.5.23") is not None
