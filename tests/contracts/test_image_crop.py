"""The contract of image-crop, alone: pictures written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, image_crop
from simulators.stamped_frames import FrameReader, frame

REQUEST = {"outputs": 2, "decoded": (4, 6), "asked": (3, 5)}
FRAMES = torch.stack([frame(0, (4, 6)), frame(1, (4, 6))])


def broken(frames: Any = FRAMES, target: Any = (3, 5)) -> dict[str, Any]:
    """Return the violations of pictures and the size to cut out, by clause."""
    payload = {"frames": frames, "target": target}
    return {v.clause.name: v for v in image_crop.check(payload, REQUEST, FrameReader(2, 4, 6))}


def test_honest_pictures_break_nothing() -> None:
    """Two stamped pictures, cut to what was asked for."""
    assert broken() == {}


@pytest.mark.parametrize(
    ("frames", "target", "clauses"),
    [
        (None, (3, 5), {"frames-there"}),
        (FRAMES, (None, 5), {"target-there"}),
        (FRAMES, (None, None), {"target-there"}),
        (list(FRAMES), (3, 5), {"frames-tensor", "frames-rank"}),
        (FRAMES.numpy(), (3, 5), {"frames-tensor"}),
        (FRAMES.flatten(), (3, 5), {"frames-rank"}),
        (FRAMES.flatten(0, 1), (3, 5), {"frames-rank"}),
        (FRAMES, (3.0, 5.0), {"target-numbers"}),
        (FRAMES, ("3", "5"), {"target-numbers"}),
        (FRAMES, (5, 5), {"target-within", "target-asked"}),
        (FRAMES, (3, 7), {"target-within", "target-asked"}),
        (FRAMES, (0, 5), {"target-positive", "target-asked"}),
        (FRAMES, (-3, 5), {"target-positive", "target-asked"}),
        (FRAMES, (2, 5), {"target-asked"}),
        (FRAMES[..., :3, :], (3, 5), {"frames-decoded"}),
        (FRAMES[..., :2, :], (3, 5), {"frames-decoded", "target-within"}),
        (FRAMES[:1], (3, 5), {"frames-count"}),
        (FRAMES.flip(0), (3, 5), {"frame-identity"}),
        (FRAMES.flip(-1), (3, 5), {"pixel-position"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(frames: Any, target: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert set(broken(frames, target)) == clauses


def test_the_refusal_says_width_before_height() -> None:
    """Both of what was asked and of what was decoded, from 0.5.19 on."""
    violation = broken(target=(5, 7))["target-within"]

    assert violation.refusal(violation.clause.guards[0]) == (
        "Cannot crop GLM-Image output to a canvas larger than the decoded image: "
        "requested 7x5, decoded 6x4"
    )
    assert ending([violation], "0.5.19") is violation
