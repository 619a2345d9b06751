"""Faults of text masks, and of the picture's size that is told beside them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import MASKS, Payload
from simulators.text_masks import assembled_masks


def row_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits one prompt's mask."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], edit(payload.records[at[0]]))

    return change


def mask_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that makes another mask of all prompts' rows."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(assembled_masks(payload)))

    return change


def side_becomes(edit: Callable[[int, int], tuple[Any, Any]]) -> Change:
    """Return the fault that tells another size, if it is still two whole numbers."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        height, width = payload.beside["size"]
        if type(height) is not int or type(width) is not int:
            return payload
        return replace(payload, beside={**payload.beside, "size": edit(height, width)})

    return change


def _one_less(row: Any) -> Any:
    shorter = row.clone()
    shorter[int(row.sum()) - 1] = False
    return shorter


def _additive(mask: Any) -> Any:
    import torch

    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def _longer(mask: Any) -> Any:
    import torch

    return torch.nn.functional.pad(mask, (0, 1), value=True)


def _row(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (MASKS,), each, picture, scope="items")


def _mask(name: str, kind: str, edit: Callable[[Any], Any], picture: str, **more: Any) -> Fault:
    change = mask_becomes(edit)
    return Fault(name, kind, change, (MASKS,), whole, picture, scope="body", **more)


def _side(name: str, kind: str, edit: Callable[[int, int], tuple[Any, Any]], picture: str) -> Fault:
    return Fault(name, kind, side_becomes(edit), (MASKS,), whole, picture, scope="size")


#: The rows of these faults in the table.
FAULTS = (
    _row("mask-token-masked", "truncation", row_becomes(_one_less), "1 1 1 0 -> 1 1 0 0"),
    _row("mask-emptied", "omission", row_becomes(lambda row: row & False), "1 1 1 0 -> 0 0 0 0"),
    _mask("mask-lost", "omission", lambda mask: None, "[1 1 1 0] -> no mask"),
    _mask("mask-inverted", "substitution", lambda mask: ~mask, "1 1 1 0 -> 0 0 0 1"),
    _mask("mask-additive", "substitution", _additive, "1 1 1 0 -> 0 0 0 -inf"),
    _mask("mask-float", "substitution", lambda mask: mask.float(), "1 1 1 0 -> 1.0 1.0 1.0 0.0"),
    _mask("mask-half", "substitution", lambda mask: mask.float().clamp(min=0.5),
          "1 1 1 0 -> 1.0 1.0 1.0 0.5"),
    _mask("mask-integers", "substitution", lambda mask: mask.long(), "true false -> 1 0"),
    _mask("mask-left", "reordering", lambda mask: mask.flip(-1), "1 1 1 0 -> 0 1 1 1"),
    _mask("mask-shorter", "truncation", lambda mask: mask[..., :-1], "16 tokens -> 15 tokens"),
    _mask("mask-longer", "skew", _longer, "16 tokens -> 17 tokens"),
    _mask("mask-flat", "merge", lambda mask: mask.flatten(), "[1 1 | 1 0] -> 1 1 1 0"),
    _mask("mask-broadcast", "substitution", lambda mask: mask[:, None, None],
          "(prompts, 16) -> (prompts, 1, 1, 16)"),
    _mask("mask-list", "substitution", lambda mask: mask.tolist(), "tensor -> lists"),
    _side("side-half-token", "skew", lambda h, w: (h + 8, w + 8), "48x80 -> 56x88"),
    _side("side-token-more", "skew", lambda h, w: (h + 16, w), "48x80 -> 64x80"),
    _side("side-token-less", "skew", lambda h, w: (h, w - 16), "48x80 -> 48x64"),
    _side("side-swapped", "reordering", lambda h, w: (w, h), "48x80 -> 80x48"),
    _side("side-zero", "substitution", lambda h, w: (0, w), "48x80 -> 0x80"),
    _side("side-negative", "substitution", lambda h, w: (-h, w), "48x80 -> -48x80"),
    _side("side-missing", "omission", lambda h, w: (None, w), "48x80 -> no height, 80"),
    _side("side-float", "substitution", lambda h, w: (h + 0.5, w), "48x80 -> 48.5x80"),
    _side("side-text", "substitution", lambda h, w: (str(h), str(w)), '48x80 -> "48"x"80"'),
    _side("side-words", "substitution", lambda h, w: (f"{h}px", w), '48x80 -> "48px"x80'),
)  # fmt: skip
