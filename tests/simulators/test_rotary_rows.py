"""Rows and the angles that turn them: honest first; what comes out can be told apart."""

import math

import pytest
import torch

from contracts import kernel_rotary
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream
from simulators.rotary_rows import (
    FORMS,
    UNTURNED,
    Sizes,
    Turned,
    angle,
    angle_owner,
    honest_angles,
    row_owner,
    rows_of_part,
    told_angles,
)

SIZES = Sizes(2, 3)


def faulty(name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return the angles of three tokens of two sequences with one fault."""
    return FAULTS[name].change(honest_angles(SIZES, positions=True), at, stream(0))


def by_hand(row: list[float], position: int, request: int = 0) -> list[float]:
    """Return a row turned by an angle, column by column."""
    cos, sin = angle(position, len(row), request)
    turned = []
    for pair, (c, s) in enumerate(zip(cos, sin, strict=True)):
        first, second = row[2 * pair], row[2 * pair + 1]
        turned += [first * c - second * s, second * c + first * s]
    return turned


@pytest.mark.parametrize("entry", ["rows", "pair", "flashinfer"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_honest_payload_breaks_nothing(entry: str, dtype: str) -> None:
    """At any entry, whichever dtype the rows have."""
    payload = honest_angles(SIZES, dtype, positions=entry == "flashinfer")
    cos, sin = told_angles(payload)
    positions = payload.beside["positions"]
    told = {
        **{name: payload.beside[name] for name in ("q", "k", "head_size")},
        **{"cos": cos, "sin": sin, "cache": torch.cat([cos, sin], 1)},
        "positions": None if positions is None else torch.tensor(positions),
    }
    request = {
        "entry": entry,
        "shape": SIZES.shape,
        "dtype": f"torch.{dtype}",
        "interleaved": False,
    }

    assert list(kernel_rotary.check(told, request, Turned(SIZES).owner_of)) == []


@pytest.mark.parametrize("request_number", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_turned_row_says_which_it_was_and_which_angle_turned_it(
    request_number: int, dtype: str
) -> None:
    """Exactly, in every dtype, of this request and of another one."""
    reader = Turned(SIZES)
    rows = rows_of_part("k", SIZES, dtype, request_number).flatten(0, 1)
    for row, position in ((0, 0), (4, 1), (5, 4)):
        turned = by_hand(rows[row, 1].tolist(), position, request_number)
        rounded = torch.tensor(turned, dtype=getattr(torch, dtype)).tolist()

        origin = Origin(row_owner("k", 1, request_number), row)
        assert reader.read([rounded]) == [(origin, Origin(angle_owner(request_number), position))]
        assert reader.owner_of([rows[row, 1].tolist()]) == [origin]


def test_other_turns_are_told_from_the_right_one() -> None:
    """By no angle, and by one whose lanes are swapped or that turns back; else nobody's."""
    reader = Turned(SIZES)
    row = rows_of_part("q", SIZES)[0, 0, 0].tolist()
    (cos, sin), half = angle(1, 8), 4

    assert reader.owner_of([[*cos, *sin]]) == [Origin("the request", 1)]
    assert reader.owner_of([[*sin, *cos]]) == [Origin("the request (swapped)", 1)]
    assert reader.owner_of([[*cos, *(-s for s in sin)]]) == [Origin("the request (backwards)", 1)]
    assert reader.owner_of([[1] * half + [0] * half]) == [UNTURNED]
    (pair,) = reader.read([row])
    assert pair is not None
    assert pair[1] == UNTURNED
    assert reader.read([[math.nan, *row[1:]], row[::-1], row[:-2]]) == [None] * 3


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("tokens", [1, 8, 16])
@pytest.mark.parametrize("width", [8, 16, 66])
def test_no_two_rows_and_angles_turn_out_alike(batch: int, tokens: int, width: int) -> None:
    """Else it would be an error, and no case could say whose they are."""
    sizes = Sizes(batch, tokens, 3, width)

    assert Turned(sizes).read([by_hand(rows_of_part("q", sizes)[0, 0, 2].tolist(), 0)]) == [
        (Origin("q head 2", 0), Origin("the request", 0))
    ]


def test_the_same_angles_are_told_in_other_forms() -> None:
    """Of cosines and of sines alike, but where a form is that of one of them."""
    told = {form: told_angles(faulty(f"rope-{form}")) for form in FORMS if form}
    cos, sin = told_angles(honest_angles(SIZES))

    assert told["full"][0][1].tolist() == [n for n in cos[1].tolist() for _ in range(2)]
    assert told["doubled"][1][1].tolist() == sin[1].tolist() * 2
    shapes = {form: tuple(map(tuple, (lane.shape for lane in lanes)))
              for form, lanes in told.items() if form != "list"}  # fmt: skip
    assert shapes["deep"] == ((1, 3, 4),) * 2
    assert shapes["stacked"] == ((2, 3, 4),) * 2
    assert shapes["flat"] == ((12,),) * 2
    assert shapes["across"] == ((4, 3),) * 2
    assert shapes["narrower"] == ((3, 3),) * 2
    assert shapes["wider"] == ((3, 5),) * 2
    assert shapes["sine-row-less"] == ((3, 4), (2, 4))
    assert shapes["cosine-row-less"] == ((2, 4), (3, 4))
    assert shapes["sine-narrower"] == ((3, 4), (3, 3))
    assert shapes["sine-full"] == ((3, 4), (3, 8))
    assert told["list"] == (cos.tolist(), sin.tolist())
    for form in ("apart", "float16", "float64", "int32"):
        assert all(lane.tolist() == own.tolist() for lane, own in zip(told[form], (cos, sin),
                                                                     strict=True))  # fmt: skip
    assert not told["apart"][0].is_contiguous()
    assert told["expanded"][0].tolist() == [cos[0].tolist()] * 3
    assert told["elsewhere"][0].is_meta


def test_an_unknown_form_is_an_error() -> None:
    """It is no form that is honest."""
    payload = honest_angles(SIZES)
    payload.beside["form"] = "round"  # type: ignore[index]

    with pytest.raises(ValueError, match="round"):
        told_angles(payload)


A, B, C, NEXT = (angle(position, 8) for position in range(4))


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("rope-angle-swapped", (1,), (A, B[::-1], C)),
        ("rope-angle-none", (2,), (A, B, ((1,) * 4, (0,) * 4))),
        ("rope-angle-backwards", (0,), ((A[0], tuple(-n for n in A[1])), B, C)),
        ("rope-swapped", (), (A[::-1], B[::-1], C[::-1])),
        ("rope-none", (), (((1,) * 4, (0,) * 4),) * 3),
        ("rope-shifted", (), (B, C, NEXT)),
        ("rope-stale", (), tuple(angle(position, 8, 1) for position in range(3))),
        ("omission", (1,), (A, C)),
        ("reordering-rotate", (), (B, C, A)),
        ("rope-full", (), (A, B, C)),
    ],
)
def test_angles_change_as_the_picture_says(
    name: str, at: tuple[int, ...], told: tuple[object, ...]
) -> None:
    """And nothing beside them, but for the form."""
    assert faulty(name, at).records == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("less", (0, 1, 2, 0, 1)),
        ("more", (0, 1, 2, 0, 1, 2, 2)),
        ("first", (0,)),
        ("rolled", (1, 2, 0, 1, 2, 0)),
        ("past-end", (1, 2, 3, 1, 2, 3)),
        ("negative", (-1, 0, 1, -1, 0, 1)),
        ("alike", (0,) * 6),
        ("row", ((0, 1, 2, 0, 1, 2),)),
        ("list", [0, 1, 2, 0, 1, 2]),
        ("null", None),
    ],
)
def test_positions_change_as_the_picture_says(name: str, told: object) -> None:
    """Those of both sequences."""
    assert faulty(f"rope-positions-{name}").beside["positions"] == told


@pytest.mark.parametrize(
    ("name", "part", "shape"),
    [
        ("rope-q-token-less", "q", (2, 2, 2, 8)),
        ("rope-q-headless", "q", (3, 8)),
        ("rope-q-no-tokens", "q", (2, 0, 2, 8)),
        ("rope-q-deep", "q", (1, 2, 3, 2, 8)),
        ("rope-k-flat", "k", (6, 2, 8)),
        ("rope-both-narrower", "k", (2, 3, 2, 7)),
        ("rope-both-pair-less", "q", (2, 3, 2, 6)),
    ],
)
def test_rows_change_as_the_picture_says(name: str, part: str, shape: tuple[int, ...]) -> None:
    """Queries, keys or both."""
    assert tuple(faulty(name).beside[part].shape) == shape


def test_views_hold_the_same_rows() -> None:
    """With room between tokens, between columns, or with the heads of a sequence first."""
    honest = honest_angles(SIZES).beside["q"]
    for name in ("tokens-apart", "columns-apart", "heads-first"):
        changed = faulty(f"rope-q-{name}").beside["q"]

        assert torch.equal(honest, changed)
        assert not changed.is_contiguous()
