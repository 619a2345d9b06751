"""The contract of kernel-scale-shift, alone: states, a scale, a shift and a constant, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_scale_shift
from contracts.contract import Answer, Violation
from contracts.releases import RELEASES
from simulators.modulated_rows import (
    PARTS,
    Sizes,
    owner_name,
    owner_of,
    places_of,
    shape_of,
    stamped,
)

SIZES = Sizes(3, 4, 2, 16)
X, SCALE, SHIFT = (
    stamped(part, layout, SIZES)
    for part, layout in zip(PARTS, ("token", "frame", "token"), strict=True)
)
ROW, BY_REQUEST, TOKEN = (stamped("scale", layout, SIZES) for layout in ("row", "request", "token"))
ZERO = torch.zeros(1)
FRAMES_TEXT = "seq_len must be divisible by num_frames for 4D scale/shift"
FORM_TEXT = "scale must be 0D/1D(1)/2D/3D or 4D"


def request_of(gpu: str = "cuda", constant: float = 1.0) -> dict[str, Any]:
    """Return what is asked for: a scale by frames, and a shift by tokens."""
    layouts = dict(zip(PARTS, ("token", "frame", "token"), strict=True))
    return {
        "shapes": {part: shape_of(layout, SIZES) for part, layout in layouts.items()},
        "rows": {
            part: [(owner_name(part, owner), row) for owner, row in places_of(layout, SIZES)]
            for part, layout in layouts.items()
        },
        "dtype": "torch.float32",
        "constant": constant,
        "device": "cpu",
        "gpu": gpu,
    }


def check(gpu: str = "cuda", **told: Any) -> list[Violation]:
    """Return the violations of an honest payload with some of it changed."""
    payload = {"x": X, "scale": SCALE, "shift": SHIFT, "constant": 1.0, **told}
    return list(kernel_scale_shift.check(payload, request_of(gpu), owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def test_an_honest_payload_breaks_nothing() -> None:
    """Nor does a scale, or a shift, with gaps."""
    apart = torch.zeros(3, 4, 32)[..., ::2].copy_(SHIFT)
    assert check() == []
    assert check(shift=apart) == []


LIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"x": None}, ["tensors"]),
    ({"scale": 1.0}, ["tensors"]),
    ({"shift": None}, ["tensors"]),
    ({"x": X.to("meta")}, ["on-card"]),
    ({"scale": SCALE.to("meta")}, ["on-card"]),
    ({"x": torch.zeros(3, 4, 32)[..., ::2].copy_(X)}, ["without-gaps"]),
    ({"x": X[None]}, ["states-form", "shape-asked"]),
    ({"x": X.flatten(0, 1)}, ["states-form", "shape-asked"]),
    ({"x": X[:0]}, ["shape-asked"]),
    ({"scale": SCALE[:, :0]}, ["frames-some", "shape-asked"]),
    ({"scale": SCALE[:, [0, 1, 1]]}, ["frames-divide", "shape-asked"]),
    ({"scale": SCALE[..., :15]}, ["frames-width", "frames-enough", "shape-asked"]),
    ({"scale": SCALE.transpose(1, 2)}, ["frames-once", "shape-asked"]),
    ({"scale": SCALE[:, :1]}, ["shape-asked"]),
    ({"scale": SCALE[:1]}, ["frames-enough", "shape-asked"]),
    ({"shift": SHIFT[:, :3]}, ["shift-by-tokens", "shape-asked"]),
    ({"shift": SCALE}, ["shift-by-tokens", "shape-asked"]),
    ({"shift": SHIFT.flatten()}, ["shape-asked"]),
    ({"scale": SCALE[None]}, ["scale-form", "shape-asked"]),
    ({"scale": SCALE.flatten()}, ["scale-form", "shape-asked"]),
    ({"scale": SCALE.squeeze(2)}, ["spreads", "shape-asked"]),
    ({"scale": ROW, "shift": SHIFT[None]}, ["spreads", "shape-asked"]),
    ({"scale": ROW, "shift": SHIFT[:, :3]}, ["spreads", "shape-asked"]),
    ({"scale": ROW}, ["shape-asked"]),
    ({"scale": BY_REQUEST, "shift": SHIFT[0, 0]}, ["shape-asked"]),
    ({"scale": TOKEN.half()}, ["shape-asked", "dtype-asked"]),
    ({"scale": ZERO, "shift": ZERO}, ["shape-asked"]),
    ({"constant": 0.0}, ["constant-asked"]),
    ({"x": X.flip(0)}, ["states-identity"]),
    ({"scale": SCALE.flip(1)}, ["scale-identity"]),
    ({"shift": SHIFT.roll(1, 1)}, ["shift-identity"]),
    ({"shift": stamped("shift", "token", SIZES, is_foreign=True)}, ["shift-identity"]),
]


@pytest.mark.parametrize(("told", "clauses"), LIES)
def test_each_clause_is_broken_by_its_own_lie(told: dict[str, Any], clauses: list[str]) -> None:
    """In the order of upstream, and nothing else is said to be broken."""
    assert list(dict.fromkeys(v.clause.name for v in check(**told))) == clauses


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_refuses_the_same_two(release: str) -> None:
    """Frames that do not divide the tokens, and a scale of a form that there is not."""
    texts = {"frames-divide": FRAMES_TEXT, "scale-form": FORM_TEXT}
    for told, clauses in LIES:
        assert refusal(check(**told), release) == texts.get(clauses[0], "")


@pytest.mark.parametrize(
    ("told", "accident"),
    [
        ({"x": None}, ("AttributeError",)),
        ({"x": X.to("meta")}, ("AssertionError",)),
        ({"x": X.transpose(0, 1)}, ("AssertionError",)),
        ({"x": X[0]}, ("ValueError",)),
        ({"scale": SCALE[:, :0]}, ("ZeroDivisionError",)),
        ({"scale": SCALE[..., :15]}, ("RuntimeError",)),
        ({"scale": ROW, "shift": SHIFT[:2]}, ("RuntimeError",)),
        ({"shift": SCALE}, ("RuntimeError",)),
        ({"scale": SCALE[:1]}, None),
        ({"scale": SCALE.transpose(1, 2)}, None),
        ({"scale": ZERO, "shift": ZERO, "constant": 0.0}, None),
    ],
)
def test_what_is_not_checked_ends_by_accident_or_not_at_all(
    told: dict[str, Any], accident: tuple[str, ...] | None
) -> None:
    """By torch, by Python, or by an assert without words."""
    stop = ending(check(**told), "0.5.23")

    assert (stop.accident("0.5.23") if stop is not None else None) == accident


def test_a_shift_by_frames_is_for_the_cards_of_amd() -> None:
    """It may be one for all requests, and must have the frames of the scale."""
    by_frames = stamped("shift", "frame", SIZES)
    names = [[v.clause.name for v in check(gpu, shift=by_frames)] for gpu in ("cuda", "hip")]

    assert names == [["shift-by-tokens", "shape-asked"], ["shape-asked"]]
    assert check("hip", shift=by_frames[:1])[0].clause.name == "shape-asked"
    three = by_frames[:, [0, 1, 1]]
    assert check("hip", shift=three)[0].clause.name == "shift-by-tokens"


def test_a_row_of_channels_is_a_shift_and_no_scale() -> None:
    """The one spreads, the other is refused."""
    row = SHIFT[0, 0]

    assert check(scale=ROW, shift=row)[0].clause.name == "shape-asked"
    assert refusal(check(scale=row, shift=row)) == FORM_TEXT


def test_two_zeros_want_a_constant_of_one() -> None:
    """What is not zero, or has more numbers than one, is computed."""
    clause = kernel_scale_shift.ZEROS_WITH_ONE.name
    for scale in (ZERO, ZERO[0]):
        for constant in (0.0, 1.0):
            found = check(scale=scale, shift=ZERO, constant=constant)
            assert (clause in [v.clause.name for v in found]) == (constant == 0.0)
    for shift in (ZERO + 1, torch.zeros(1, 1), torch.zeros(16)):
        found = check(scale=ZERO, shift=shift, constant=0.0)
        assert clause not in [v.clause.name for v in found]


def test_where_there_are_no_states_nothing_else_is_looked_at() -> None:
    """The empty output is returned at once."""
    found = check(x=X[:0], scale=SCALE[:, [0, 1, 1]], shift=None)

    assert ending(found, "0.5.23") is None


def test_without_a_reader_identity_is_unchecked() -> None:
    """And whoever asks is told."""
    payload = {"x": X, "scale": SCALE, "shift": SHIFT, "constant": 1.0}
    said = kernel_scale_shift.answers(payload, request_of())

    for name in ("states-identity", "scale-identity", "shift-identity"):
        assert said[name] is Answer.UNCHECKED
    assert said["frames-divide"] is Answer.HELD
