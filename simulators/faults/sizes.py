"""Faults of a picture's size: one that fits no grid, that is no size, or another than asked for."""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import SIZE, Payload

Edit = Callable[[int, int], tuple[Any, Any]]


def asked(edit: Edit) -> Change:
    """Return the fault that asks for another size, and tells that size on."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return _told(payload, edit, is_asked=True)

    return change


def told(edit: Edit) -> Change:
    """Return the fault that tells another size on than was asked for."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return _told(payload, edit, is_asked=False)

    return change


def _told(payload: Payload, edit: Edit, is_asked: bool) -> Payload:
    size = payload.records[0]
    height, width = size["height"], size["width"]
    if type(height) is not int or type(width) is not int:
        return payload
    changed = edit(height, width)
    wanted = changed if is_asked else size["asked"]
    return payload.with_record(0, {"height": changed[0], "width": changed[1], "asked": wanted})


def _row(name: str, kind: str, change: Change, picture: str, **more: Any) -> Fault:
    return Fault(name, kind, change, (SIZE,), whole, picture, scope="size", **more)


#: The rows of these faults in the table.
FAULTS = (
    _row("canvas-taller", "skew", asked(lambda h, w: (h + 1, w)), "64x96 -> 65x96"),
    _row("canvas-wider", "skew", asked(lambda h, w: (h, w + 1)), "64x96 -> 64x97"),
    _row("canvas-one-less", "skew", asked(lambda h, w: (h - 1, w - 1)), "64x96 -> 63x95"),
    _row("canvas-half-token", "skew", asked(lambda h, w: (h + 16, w + 16)), "64x96 -> 80x112"),
    _row("canvas-twelve-less", "skew", asked(lambda h, w: (h - 12, w - 12)), "512x512 -> 500x500"),
    _row("canvas-mixed", "skew", asked(lambda h, w: (h + 1, w + 4)), "64x96 -> 65x100"),
    _row("canvas-sliver", "truncation", asked(lambda h, w: (16, 16)), "64x96 -> 16x16"),
    _row("canvas-zero", "substitution", asked(lambda h, w: (0, w)), "64x96 -> 0x96"),
    _row("canvas-nothing", "substitution", asked(lambda h, w: (0, 0)), "64x96 -> 0x0"),
    _row("canvas-negative", "substitution", asked(lambda h, w: (-h, w)), "64x96 -> -64x96"),
    _row("canvas-missing", "omission", asked(lambda h, w: (None, None)), "64x96 -> nothing"),
    _row("canvas-height-missing", "omission", asked(lambda h, w: (None, w)),
         "64x96 -> no height, 96"),
    _row("canvas-text", "substitution", asked(lambda h, w: (str(h), str(w))), '64x96 -> "64"x"96"'),
    _row("canvas-huge", "skew", asked(lambda h, w: (16 * h, 16 * w)), "64x96 -> 1024x1536",
         benign=True),
    _row("canvas-strip", "skew", asked(lambda h, w: (32, 256 * w)), "64x96 -> 32x24576",
         benign=True),
    _row("canvas-swapped", "reordering", told(lambda h, w: (w, h)),
         "64x96 asked -> 96x64 told on"),
    _row("canvas-doubled", "skew", told(lambda h, w: (2 * h, 2 * w)),
         "64x96 asked -> 128x192 told on"),
    _row("canvas-token-less", "skew", told(lambda h, w: (h - 32, w - 32)),
         "64x96 asked -> 32x64 told on"),
)  # fmt: skip
