"""Stamped hidden states, scales and shifts: honest first, and each output tells of all three."""

from itertools import product

import pytest
import torch

from contracts import kernel_scale_shift
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.modulated_rows import (
    LAYOUTS,
    LEAST_WIDTH,
    MOST_REQUESTS,
    MOST_TOKENS,
    PARTS,
    OutputReader,
    Sizes,
    honest_modulation,
    owner_name,
    owner_of,
    place_of,
    places_of,
    shape_of,
    stamped,
    twin_of,
)
from simulators.rng import stream

SIZES = Sizes(3, 6, 2, 16)
DTYPES = ("float32", "float16", "bfloat16")


def modulated(scale: str, shift: str, constant: float, sizes: Sizes = SIZES) -> torch.Tensor:
    """Return what torch makes of an honest payload, by spreading and broadcasting."""
    x, *told = honest_modulation((scale, shift), sizes, constant, "float64").records
    spread = []
    for layout, tensor in zip((scale, shift), told, strict=True):
        if layout == "frame":
            each = sizes.tokens // sizes.frames
            spread.append(tensor.expand(-1, -1, each, -1).flatten(1, 2))
        else:
            spread.append(tensor[:, None] if layout == "request" else tensor)
    return torch.as_tensor(x * (constant + spread[0]) + spread[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", ["scale", "shift"])
def test_each_row_says_whose_it_is_in_every_dtype(part: str, layout: str, dtype: str) -> None:
    """Whichever way it is laid out; one number says that it is for all."""
    for is_foreign in (False, True):
        tensor = stamped(part, layout, SIZES, dtype, is_foreign)
        rows = tensor.reshape(len(list(places_of(layout, SIZES))), -1).tolist()

        assert (tuple(tensor.shape), str(tensor.dtype)) == (
            shape_of(layout, SIZES),
            f"torch.{dtype}",
        )
        assert owner_of(rows) == [
            Origin(owner_name(part, request, is_foreign), number)
            for request, number in places_of(layout, SIZES)
        ]


def test_poison_short_rows_and_mixed_rows_are_nobodys() -> None:
    """Nor is a row of zeros."""
    (row,) = stamped("scale", "channel", SIZES).tolist()
    mixed = [*row[:-1], row[-1] + 1]

    assert owner_of([row]) == [Origin("scale of all", 0)]
    assert owner_of([[float("nan")] * 8, [0.0] * 8, [1.0, 1.0], [9.0], mixed]) == [None] * 5


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_an_output_tells_whose_row_scale_and_shift_it_is_made_of(constant: float) -> None:
    """For any two layouts, each token."""
    for layouts in product(LAYOUTS, LAYOUTS):
        reader = OutputReader(layouts, SIZES, constant)
        made = modulated(*layouts, constant)
        for request, token in product(range(SIZES.requests), range(SIZES.tokens)):
            places = [place_of(layout, SIZES, request, token) for layout in layouts]
            wanted = [
                Origin(owner_name("x", request), token),
                *(Origin(owner_name(p, o), n) for p, (o, n) in zip(PARTS[1:], places, strict=True)),
            ]
            assert list(reader.origins(made[request, token].tolist())) == wanted


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_the_twin_is_what_broadcasting_makes(constant: float) -> None:
    """Taken by the numbers of the rows."""
    for layouts in product(LAYOUTS, LAYOUTS):
        honest = honest_modulation(layouts, SIZES, constant)

        assert torch.equal(twin_of(honest, layouts, SIZES), modulated(*layouts, constant))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["frame", "token", "single"])
def test_every_float_computes_it_exactly(layout: str, dtype: str) -> None:
    """Also for the largest batch."""
    sizes = Sizes(MOST_REQUESTS, MOST_TOKENS, 8, 64)
    layouts = (layout, layout)
    x, scale, shift = honest_modulation(layouts, sizes, 1.0, dtype).records
    if layout == "frame":
        scale, shift = (t.expand(-1, -1, 3, -1).flatten(1, 2) for t in (scale, shift))
    made = x * (1.0 + scale) + shift

    assert made.dtype == getattr(torch, dtype)
    assert torch.equal(made.double(), twin_of(honest_modulation(layouts, sizes), layouts, sizes))


@pytest.mark.parametrize("column", range(16))
def test_an_output_with_one_element_of_another_is_nobodys(column: int) -> None:
    """Whichever it is."""
    made = modulated("frame", "token", 1.0)
    row = made[1, 2].clone()
    row[column] += 1

    assert OutputReader(("frame", "token"), SIZES, 1.0).origins(row.tolist()) == (None,) * 3


def test_a_shift_in_the_place_of_a_scale_is_told() -> None:
    """Both are of one request, and lie alike."""
    x, scale, shift = honest_modulation(("row", "row"), SIZES).records
    made = x * (1.0 + shift) + scale

    origins = OutputReader(("row", "row"), SIZES, 1.0).origins(made[2, 3].tolist())

    names = ("x of request 2", "shift of request 2", "scale of request 2")
    assert tuple(o.owner if o else "" for o in origins) == names


def test_what_came_out_as_it_went_in_is_told() -> None:
    """Nothing was applied to it."""
    x = stamped("x", "token", SIZES)

    origins = OutputReader(("frame", "token"), SIZES, 0.0).origins(x[1, 4].tolist())

    assert origins == (
        Origin("x of request 1", 4),
        Origin("no modulation", 0),
        Origin("no modulation", 0),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", [("frame", "token"), ("frame", "frame"), ("row", "vector")])
@pytest.mark.parametrize("sizes", [SIZES, Sizes(1, 1, 1, LEAST_WIDTH)])
def test_an_honest_payload_breaks_nothing(
    sizes: Sizes, layouts: tuple[str, str], dtype: str
) -> None:
    """Of any layout that upstream takes."""
    payload = honest_modulation(layouts, sizes, 1.0, dtype)
    every = dict(zip(PARTS, ("token", *layouts), strict=True))
    request = {
        "shapes": {part: shape_of(layout, sizes) for part, layout in every.items()},
        "rows": {
            part: [(owner_name(part, r), n) for r, n in places_of(layout, sizes)]
            for part, layout in every.items()
        },
        "dtype": f"torch.{dtype}",
        "constant": 1.0,
        "device": "cpu",
        "gpu": "hip",
    }
    told = {**dict(zip(PARTS, payload.records, strict=True)), **payload.beside}

    assert list(kernel_scale_shift.check(told, request, owner_of)) == []


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mod-channel-less", (3, 2, 1, 15)),
        ("mod-channel-more", (3, 2, 1, 17)),
        ("mod-channel-one", (3, 2, 1, 1)),
        ("mod-request-less", (2, 2, 1, 16)),
        ("mod-request-more", (4, 2, 1, 16)),
        ("mod-request-one", (1, 2, 1, 16)),
        ("mod-deeper", (1, 3, 2, 1, 16)),
        ("mod-flat", (96,)),
        ("mod-joined", (6, 1, 16)),
        ("mod-single", (1,)),
        ("mod-empty", (0, 2, 1, 16)),
        ("mod-row-less", (3, 1, 1, 16)),
        ("mod-row-more", (3, 3, 1, 16)),
        ("mod-turned", (2, 3, 1, 16)),
        ("mod-frames-doubled", (3, 4, 1, 16)),
        ("mod-frames-repeated", (3, 4, 1, 16)),
        ("mod-frames-none", (3, 0, 1, 16)),
        ("mod-frames-wide", (3, 2, 2, 16)),
        ("mod-frames-squeezed", (3, 2, 16)),
        ("mod-frames-aside", (3, 1, 2, 16)),
        ("mod-frames-joined", (1, 6, 1, 16)),
    ],
)
def test_the_scale_changes_as_the_picture_says(name: str, shape: tuple[int, ...]) -> None:
    """And no other tensor."""
    honest = honest_modulation(("frame", "token"), SIZES)

    changed = FAULTS[name].change(honest, (1,), stream(0))

    assert tuple(changed.records[1].shape) == shape
    assert [changed.records[i] is honest.records[i] for i in (0, 2)] == [True, True]


def test_a_view_with_room_between_its_elements_holds_the_same() -> None:
    """It is no lie: only strides differ."""
    honest = honest_modulation(("frame", "token"), SIZES)
    for name in ("mod-columns-apart", "mod-requests-apart"):
        for part in (1, 2):
            changed = FAULTS[name].change(honest, (part,), stream(0)).records[part]

            assert torch.equal(changed, honest.records[part])
            assert changed.stride() != honest.records[part].stride()
            assert FAULTS[name].benign
