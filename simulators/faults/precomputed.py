"""Faults of what an encoder sent for a prompt: rows of a modality, and what they are said to be.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import PRECOMPUTED, Payload

_Pairs = tuple[tuple[str, Any], ...]


def received_becomes(edit: Callable[[_Pairs], _Pairs]) -> Change:
    """Return the fault that edits what was received, all modalities of it."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        received = edit(payload.beside["received"])
        return replace(payload, beside={**payload.beside, "received": received})

    return change


def first_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the rows of the first modality, while they are rows."""

    def edited(pairs: _Pairs) -> _Pairs:
        import torch

        rows = pairs[0][1] if pairs else None
        if not isinstance(rows, torch.Tensor) or rows.dim() != 2 or len(rows) < 2:
            return pairs
        return ((pairs[0][0], edit(rows)), *pairs[1:])

    return received_becomes(edited)


def modality_becomes(modality: str) -> Change:
    """Return the fault that says an item to be of another modality."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], {**payload.records[at[0]], "modality": modality})

    return change


def _doubled(rows: Any) -> Any:
    import torch

    return torch.cat((rows, rows[-1:]))


def _swapped(rows: Any) -> Any:
    changed = rows.clone()
    changed[0], changed[-1] = rows[-1], rows[0]
    return changed


def _renamed(pairs: _Pairs) -> _Pairs:
    return tuple(("audio", rows) for _, rows in pairs[:1]) + pairs[1:]


def _by_name(pairs: _Pairs) -> _Pairs:
    return (*pairs, *((f"text {modality}", rows) for modality, rows in pairs[:1]))


def _nothing(pairs: _Pairs) -> _Pairs:
    return (*pairs, *(("audio", rows[:0]) for _, rows in pairs[:1] if hasattr(rows, "dim")))


def _beyond(pairs: _Pairs) -> _Pairs:
    return (*pairs, *(("audio", rows) for _, rows in pairs[:1]))


def _rows(name: str, kind: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = first_becomes(edit)
    return Fault(f"received-{name}", kind, change, (PRECOMPUTED,), whole, picture, scope="body")


def _all(
    name: str, kind: str, edit: Callable[[_Pairs], _Pairs], picture: str, benign: bool = False
) -> Fault:
    change, form = received_becomes(edit), (PRECOMPUTED,)
    name = f"received-{name}"
    return Fault(name, kind, change, form, whole, picture, scope="body", benign=benign)


#: The rows of these faults in the table.
FAULTS = (
    _rows("row-less", "truncation", lambda rows: rows[:-1], "images: 6 rows -> 5 rows"),
    _rows("first-lost", "omission", lambda rows: rows[1:], "images: 1 2 3 4 -> 2 3 4"),
    _rows("row-more", "duplication", _doubled, "images: 1 2 3 4 -> 1 2 3 4 4"),
    _rows("emptied", "truncation", lambda rows: rows[:0], "images: 6 rows -> none"),
    _rows("rotated", "reordering", lambda rows: rows.roll(1, 0), "images: 1 2 3 4 -> 4 1 2 3"),
    _rows("two-swapped", "reordering", _swapped, "images: 1 2 3 4 -> 4 2 3 1"),
    _rows("batched", "substitution", lambda rows: rows[None], "images: (6, 8) -> (1, 6, 8)"),
    _rows("list", "substitution", lambda rows: rows.tolist(), "images: tensor -> lists"),
    _rows("numpy", "substitution", lambda rows: rows.numpy(), "images: tensor -> numpy array"),
    _rows("null", "omission", lambda rows: None, "images: tensor -> null"),
    _all("missing", "omission", lambda pairs: pairs[1:], "images, videos -> videos"),
    _all("renamed", "substitution", _renamed, "images -> audio"),
    _all("by-name", "duplication", _by_name, 'images -> images, and "image"'),
    _all("beyond", "duplication", _beyond, "images -> images, and audio"),
    _all("beyond-null", "substitution", lambda pairs: (*pairs, ("audio", None)),
         "images -> images, and audio: null"),
    _all("beyond-empty", "substitution", _nothing, "images -> images, and no row of audio",
         benign=True),
    Fault("item-of-audio", "substitution", modality_becomes("audio"), (PRECOMPUTED,), each,
          "[image image] -> [image audio]", scope="items"),
    Fault("item-of-video", "substitution", modality_becomes("video"), (PRECOMPUTED,), each,
          "[image image] -> [image video]", scope="items"),
)  # fmt: skip
