"""Faults of a camera's embedding, and of the scale and shift that were computed of one before."""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import CAMERA, Payload


def camera_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the embedding, if it is still a tensor of three dimensions."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        camera = payload.records[0]["camera"]
        if camera is None or isinstance(camera, list) or camera.dim() != 3:
            return payload
        return payload.with_record(0, {**payload.records[0], "camera": edit(camera)})

    return change


def camera_of_another(payload: Payload, at: Place, rng: Random) -> Payload:
    """camera, pair -> x, pair"""
    camera = payload.foreign[0]["camera"]
    return payload.with_record(0, {**payload.records[0], "camera": camera})


def pair_of_another(payload: Payload, at: Place, rng: Random) -> Payload:
    """camera, pair -> camera, pair of x"""
    pair = payload.foreign[0]["scale_shift"]
    return payload.with_record(0, {**payload.records[0], "scale_shift": pair})


def pair_becomes(edit: Callable[[Any, Any], Any]) -> Change:
    """Return the fault that edits scale and shift, if they are still two tensors, alike."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        pair = payload.records[0]["scale_shift"]
        if type(pair) is not tuple or len(pair) != 2:
            return payload
        if any(part is None or part.dim() != 3 for part in pair) or pair[0].shape != pair[1].shape:
            return payload
        return payload.with_record(0, {**payload.records[0], "scale_shift": edit(*pair)})

    return change


def both(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits scale and shift alike."""
    return pair_becomes(lambda scale, shift: (edit(scale), edit(shift)))


def _one_more(camera: Any) -> Any:
    import torch

    return torch.cat([camera, camera[:, -1:]], dim=1)


def _no_number(camera: Any) -> Any:
    broken = camera.clone() if camera.is_floating_point() else camera.float()
    broken[:, 0] = float("nan")
    return broken


def _stacked(scale: Any, shift: Any) -> Any:
    import torch

    return torch.stack((scale, shift))


def _cam(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (CAMERA,), whole, picture, scope="camera")


def _pair(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (CAMERA,), whole, picture, scope="pair")


#: The rows of these faults in the table.
FAULTS = (
    _cam("cam-lost", "omission", camera_becomes(lambda c: None), "camera -> no camera"),
    _cam("cam-other", "substitution", camera_of_another, "camera -> another request's"),
    _cam("cam-mirrored", "reordering", camera_becomes(lambda c: c.flip(1)),
         "tokens 1 2 3 -> 3 2 1"),
    _cam("cam-rotated", "skew", camera_becomes(lambda c: c.roll(1, 1)), "tokens 1 2 3 -> 3 1 2"),
    _cam("cam-batch-swapped", "reordering", camera_becomes(lambda c: c.flip(0)),
         "batch rows a b -> b a"),
    _cam("cam-zero", "substitution", camera_becomes(lambda c: 0 * c), "numbers -> zeros"),
    _cam("cam-nan", "substitution", camera_becomes(_no_number), "token 1 -> not a number"),
    _cam("cam-batch-one", "truncation", camera_becomes(lambda c: c[:1]),
         "batch rows a b -> a"),
    _cam("cam-token-less", "truncation", camera_becomes(lambda c: c[:, :-1]),
         "6 tokens -> 5 tokens"),
    _cam("cam-token-more", "duplication", camera_becomes(_one_more), "6 tokens -> 7 tokens"),
    _cam("cam-token-one", "truncation", camera_becomes(lambda c: c[:, :1]),
         "6 tokens -> 1 token"),
    _cam("cam-narrow", "truncation", camera_becomes(lambda c: c[..., :-1]),
         "8 columns -> 7 columns"),
    _cam("cam-flat", "merge", camera_becomes(lambda c: c.flatten(0, 1)),
         "(batch, 6, 8) -> (6 batch, 8)"),
    _cam("cam-transposed", "reordering", camera_becomes(lambda c: c.transpose(1, 2)),
         "(batch, 6, 8) -> (batch, 8, 6)"),
    _cam("cam-half", "substitution", camera_becomes(lambda c: c.half()), "float32 -> float16"),
    _cam("cam-integers", "substitution", camera_becomes(lambda c: c.long()), "float32 -> int64"),
    _cam("cam-list", "substitution", camera_becomes(lambda c: c.tolist()), "tensor -> lists"),
    _pair("pair-stale", "staleness", pair_of_another, "scale, shift -> another request's"),
    _pair("pair-lost", "omission", pair_becomes(lambda s, t: None),
          "scale, shift -> nothing"),
    _pair("pair-swapped", "reordering", pair_becomes(lambda s, t: (t, s)),
          "scale, shift -> shift, scale"),
    _pair("pair-mirrored", "reordering", both(lambda p: p.flip(1)), "tokens 1 2 3 -> 3 2 1"),
    _pair("pair-token-one", "truncation", both(lambda p: p[:, :1]), "6 tokens -> 1 token"),
    _pair("pair-batch-one", "truncation", both(lambda p: p[:1]), "batch rows a b -> a"),
    _pair("pair-column-one", "truncation", both(lambda p: p[..., :1]), "8 columns -> 1 column"),
    _pair("pair-token-less", "truncation", both(lambda p: p[:, :-1]), "6 tokens -> 5 tokens"),
    _pair("pair-wide", "skew", both(lambda p: p.repeat(1, 1, 2)), "8 columns -> 16 columns"),
    _pair("pair-dimension-more", "skew", both(lambda p: p[None]),
          "(batch, 6, 8) -> (1, batch, 6, 8)"),
    _pair("pair-batch-doubled", "duplication", both(lambda p: p.repeat(2, 1, 1)),
          "batch rows a b -> a b a b"),
    _pair("pair-shift-short", "truncation", pair_becomes(lambda s, t: (s, t[:, :1])),
          "6 scales, 6 shifts -> 6 scales, 1 shift"),
    _pair("pair-half", "substitution", both(lambda p: p.half()), "float32 -> float16"),
    _pair("pair-stacked", "merge", pair_becomes(_stacked), "scale, shift -> one tensor of both"),
    _pair("pair-scale-alone", "omission", pair_becomes(lambda s, t: s), "scale, shift -> scale"),
    _pair("pair-single", "omission", pair_becomes(lambda s, t: (s,)),
          "(scale, shift) -> (scale)"),
    _pair("pair-three", "duplication", pair_becomes(lambda s, t: (s, t, t)),
          "(scale, shift) -> (scale, shift, shift)"),
    _pair("pair-shift-none", "omission", pair_becomes(lambda s, t: (s, None)),
          "scale, shift -> scale, nothing"),
)  # fmt: skip
