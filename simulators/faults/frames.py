"""Faults of decoded pictures and of the size that is to be cut out of them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import FRAMES, Payload
from simulators.stamped_frames import assembled_frames


def target_becomes(edit: Callable[[int, int], tuple[Any, Any]]) -> Change:
    """Return the fault that changes the size to cut out, if it is still two whole numbers."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        height, width = payload.beside["target"]
        if type(height) is not int or type(width) is not int:
            return payload
        return replace(payload, beside={**payload.beside, "target": edit(height, width)})

    return change


def beyond(taller: int, wider: int) -> Change:
    """Return the fault that asks for so much more than is decoded, and leaves a side at -1."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        decoded = payload.foreign[0].shape[-2:]
        height, width = payload.beside["target"]
        larger = (
            height if taller < 0 else decoded[0] + taller,
            width if wider < 0 else decoded[1] + wider,
        )
        return replace(payload, beside={**payload.beside, "target": larger})

    return change


def frames_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that makes other pictures of the tensor of them."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(assembled_frames(payload)))

    return change


def bordered(frames: Any) -> Any:
    """decoded on a canvas that is 16 pixels larger at the right and below"""
    import torch

    return torch.nn.functional.pad(frames, (0, 16, 0, 16), value=-1.0)


def _target(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (FRAMES,), whole, picture, scope="target")


def _frames(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    return Fault(name, kind, frames_become(edit), (FRAMES,), whole, picture, scope="body")


#: The rows of these faults in the table.
FAULTS = (
    _target("target-taller", "skew", beyond(1, -1), "60x90 of 64x96 -> 65x90 of 64x96"),
    _target("target-wider", "skew", beyond(-1, 1), "60x90 of 64x96 -> 60x97 of 64x96"),
    _target("target-larger", "skew", beyond(32, 32), "60x90 of 64x96 -> 96x128 of 64x96"),
    _target("target-decoded", "skew", beyond(0, 0), "60x90 of 64x96 -> 64x96 of 64x96"),
    _target("target-one-less", "skew", target_becomes(lambda h, w: (h - 1, w - 1)),
            "60x90 -> 59x89"),
    _target("target-swapped", "reordering", target_becomes(lambda h, w: (w, h)),
            "60x90 -> 90x60"),
    _target("target-zero", "substitution", target_becomes(lambda h, w: (0, w)), "60x90 -> 0x90"),
    _target("target-negative", "substitution", target_becomes(lambda h, w: (-h, w)),
            "60x90 -> -60x90"),
    _target("target-height-missing", "omission", target_becomes(lambda h, w: (None, w)),
            "60x90 -> no height, 90"),
    _target("target-missing", "omission", target_becomes(lambda h, w: (None, None)),
            "60x90 -> nothing"),
    _target("target-float", "substitution", target_becomes(lambda h, w: (float(h), float(w))),
            "60x90 -> 60.0x90.0"),
    _target("target-text", "substitution", target_becomes(lambda h, w: (str(h), str(w))),
            '60x90 -> "60"x"90"'),
    _frames("frames-halved", "truncation", lambda f: f[..., ::2, ::2], "64x96 -> 32x48"),
    _frames("frames-cut", "truncation", lambda f: f[..., :-8, :], "64x96 -> 56x96"),
    _frames("frames-bordered", "skew", bordered, "64x96 -> 80x112, bordered"),
    _frames("frames-transposed", "reordering", lambda f: f.transpose(-1, -2), "64x96 -> 96x64"),
    _frames("frames-mirrored", "reordering", lambda f: f.flip(-1), "left right -> right left"),
    _frames("frames-channels-last", "reordering", lambda f: f.movedim(-3, -1),
            "(frames, 3, 64, 96) -> (frames, 64, 96, 3)"),
    _frames("frames-merged", "merge", lambda f: f.flatten(0, 1),
            "(frames, 3, 64, 96) -> (3 frames, 64, 96)"),
    _frames("frames-vector", "substitution", lambda f: f.flatten(),
            "(frames, 3, 64, 96) -> one row of numbers"),
    _frames("frames-list", "substitution", list, "tensor of frames -> list of frames"),
    _frames("frames-numpy", "substitution", lambda f: f.numpy(), "tensor -> numpy array"),
    _frames("frames-none", "omission", lambda f: None, "tensor of frames -> nothing"),
    _frames("frames-byte", "substitution", lambda f: f.byte(), "float32 -> uint8"),
)  # fmt: skip
