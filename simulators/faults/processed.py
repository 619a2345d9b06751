"""Faults of a processor's output: features or grids missing, renamed, short, or contradictory."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import PROCESSED, Payload
from simulators.processed_media import FEATURES, GRIDS, PATCHES


def field_becomes(name: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits a field of the output, if it still is what it was."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        import torch

        value = payload.records[0].get(name)
        if not isinstance(value, torch.Tensor) or (name == GRIDS and value.shape[1:] != (3,)):
            return payload
        return payload.with_records([{**payload.records[0], name: edit(value)}])

    return change


def field_moves(name: str, to: str | None) -> Change:
    """Return the fault that drops a field, or gives it another name."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        fields = dict(payload.records[0])
        value = fields.pop(name, None)
        return payload.with_records([fields if to is None else {**fields, to: value}])

    return change


def field_beside(name: str, source: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that adds a field, made of another one."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        import torch

        fields = payload.records[0]
        if not isinstance(fields.get(source), torch.Tensor):
            return payload
        return payload.with_records([{**fields, name: edit(fields[source])}])

    return change


def features_foreign(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a a | b b] -> [x x | y y], of another request"""
    fields = {**payload.records[0], FEATURES: payload.foreign[0][FEATURES]}
    return payload.with_records([fields])


def merge_size_becomes(size: int | None) -> Change:
    """Return the fault by which the processor says another merge size, or none."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "merge_size": size})

    return change


def _scaled(grids: Any, rows: int, columns: int) -> Any:
    import torch

    return grids * torch.tensor([1, rows, columns])


def _longer(features: Any) -> Any:
    import torch

    return torch.cat([features, features[-PATCHES:]])


def _first_less(grids: Any) -> Any:
    changed = grids.clone()
    changed[0, 1] -= 2
    return changed


def _compensated(grids: Any) -> Any:
    # (1, 4, 6) and (1, 8, 6): two lines of patches move from the second to the first.
    changed = grids.clone()
    changed[0, 1] += 2
    changed[-1, 1] -= 2
    return changed


def _features(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (PROCESSED,), whole, picture, scope="features")


def _grids(name: str, kind: str, change: Change, picture: str, **more: Any) -> Fault:
    return Fault(name, kind, change, (PROCESSED,), whole, picture, scope="grids", **more)


def _merge() -> Any:
    import torch

    return torch.tensor([1, 2, 2])


def _column() -> Any:
    import torch

    return torch.tensor([0, 0, 1])


#: The rows of these faults in the table.
FAULTS = (
    _features("features-lost", "omission", field_moves(FEATURES, None),
              "{pixels, grids} -> {grids}"),
    _features("features-of-video", "substitution", field_moves(FEATURES, "pixel_values_videos"),
              "pixel_values -> pixel_values_videos"),
    _features("features-null", "omission", field_becomes(FEATURES, lambda features: None),
              "pixel_values -> null"),
    _features("features-list", "substitution", field_becomes(FEATURES, lambda f: f.tolist()),
              "a tensor -> lists"),
    _features("features-token-less", "truncation", field_becomes(FEATURES, lambda f: f[:-PATCHES]),
              "a0 a1 a2 -> a0 a1"),
    _features("features-first-less", "truncation", field_becomes(FEATURES, lambda f: f[PATCHES:]),
              "a0 a1 a2 -> a1 a2"),
    _features("features-none", "omission", field_becomes(FEATURES, lambda f: f[:0]),
              "a0 a1 a2 -> no patch"),
    _features("features-longer", "skew", field_becomes(FEATURES, _longer),
              "a0 a1 a2 -> a0 a1 a2 a2"),
    _features("features-shifted", "reordering",
              field_becomes(FEATURES, lambda f: f.roll(PATCHES, 0)), "a0 a1 a2 -> a2 a0 a1"),
    _features("features-reversed", "reordering", field_becomes(FEATURES, lambda f: f.flip(0)),
              "a0 a1 a2 -> a2 a1 a0"),
    _features("features-foreign", "substitution", features_foreign, "[a a | b b] -> [x x | y y]"),
    _grids("patch-grids-lost", "omission", field_moves(GRIDS, None), "{pixels, grids} -> {pixels}"),
    _grids("patch-grids-of-video", "substitution", field_moves(GRIDS, "video_grid_thw"),
           "image_grid_thw -> video_grid_thw"),
    _grids("patch-grids-null", "omission", field_becomes(GRIDS, lambda grids: None),
           "grids -> null"),
    _grids("patch-grids-renamed", "substitution", field_moves(GRIDS, "grid_thws"),
           "image_grid_thw -> grid_thws, which is read too", benign=True),
    _grids("patch-grids-flat", "substitution", field_becomes(GRIDS, lambda grids: grids[:, 1:]),
           "(1, 4, 6) -> (4, 6)"),
    _grids("patch-grids-one-less", "omission", field_becomes(GRIDS, lambda grids: grids[:-1]),
           "[a b] -> [a]"),
    _grids("patch-grids-one-more", "duplication",
           field_becomes(GRIDS, lambda g: g[[*range(len(g)), 0]]), "[a b] -> [a b a]"),
    _grids("patch-grids-swapped", "reordering", field_becomes(GRIDS, lambda grids: grids.flip(0)),
           "[a b] -> [b a]"),
    _grids("patch-grids-transposed", "reordering",
           field_becomes(GRIDS, lambda grids: grids[:, [0, 2, 1]]), "(1, 4, 6) -> (1, 6, 4)"),
    _grids("patch-grids-merged", "skew", field_becomes(GRIDS, lambda grids: grids // _merge()),
           "(1, 4, 6) in patches -> (1, 2, 3) in tokens"),
    _grids("patch-grids-doubled", "skew", field_becomes(GRIDS, lambda g: _scaled(g, 2, 2)),
           "(1, 4, 6) -> (1, 8, 12)"),
    _grids("patch-grids-line-less", "skew", field_becomes(GRIDS, _first_less),
           "(1, 4, 6) -> (1, 2, 6)"),
    _grids("patch-grids-compensated", "skew", field_becomes(GRIDS, _compensated),
           "[4x6 | 8x6] -> [6x6 | 6x6], the sum fits"),
    _grids("patch-grids-odd", "skew", field_becomes(GRIDS, lambda grids: grids - _column()),
           "(1, 4, 6) -> (1, 4, 5), which is no whole tokens"),
    _grids("patch-grids-zero", "omission", field_becomes(GRIDS, lambda grids: grids * 0),
           "(1, 4, 6) -> (0, 0, 0)"),
    _grids("patch-grids-float", "substitution", field_becomes(GRIDS, lambda grids: grids.float()),
           "(1, 4, 6) -> (1.0, 4.0, 6.0)"),
    _grids("patch-grids-stale-first", "staleness",
           field_beside("grid_thws", GRIDS, lambda grids: grids.flip(0)),
           "grids -> grids, and stale ones under a name that is read later"),
    _grids("patch-grids-stale-hws", "staleness",
           field_beside("image_grid_hws", GRIDS, lambda grids: grids[:, 1:] * 2),
           "grids -> grids, and stale ones under another name"),
    _grids("merge-size-one", "skew", merge_size_becomes(1), "merge size 2 -> 1"),
    _grids("merge-size-four", "skew", merge_size_becomes(4), "merge size 2 -> 4"),
    _grids("merge-size-missing", "omission", merge_size_becomes(None), "merge size 2 -> not said"),
)  # fmt: skip
