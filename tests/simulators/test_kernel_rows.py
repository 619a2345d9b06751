"""Stamped rows of queries, keys and values: honest first, and each element counts."""

import pytest
import torch

from contracts import kernel_pack_qkv
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.kernel_rows import PARTS, honest_qkv, owner_of, stamped
from simulators.rng import stream

DTYPES = ("float32", "float16", "bfloat16", "int32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", PARTS)
def test_each_row_says_whose_it_is_in_every_dtype(part: str, dtype: str) -> None:
    """Part, head and number; whole numbers are exact."""
    rows = stamped(part, (9, 3, 7), dtype)

    assert str(rows.dtype) == f"torch.{dtype}"
    for head in range(3):
        wanted = [Origin(f"{part} head {head}", row) for row in range(9)]
        assert owner_of(rows[:, head].tolist()) == wanted


def test_another_requests_rows_are_told_apart() -> None:
    """By every element of them."""
    ours, theirs = stamped("k", (5, 2, 8)), stamped("k", (5, 2, 8), request=1)

    assert owner_of(theirs[:, 1].tolist())[2] == Origin("another request k head 1", 2)
    assert bool((ours != theirs)[..., 0].all())


@pytest.mark.parametrize("column", range(8))
def test_a_row_with_one_element_of_another_is_nobodys(column: int) -> None:
    """Whichever it is."""
    rows = stamped("v", (4, 2, 8))
    mixed = rows[1, 0].clone()
    mixed[column] = 77

    assert owner_of([mixed.tolist()]) == [None]


def test_poison_short_rows_and_parts_that_there_are_not_are_nobodys() -> None:
    """Nor is a row of zeros."""
    assert owner_of([[float("nan")] * 8, [0.0] * 8, [1.0, 1.0], [5.0, 1.0, 1.0, 9.0]]) == [None] * 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "world"), [((6, 8, 16), 2), ((1, 4, 5), 4), ((0, 2, 4), 1)])
def test_an_honest_payload_breaks_nothing(
    shape: tuple[int, int, int], world: int, dtype: str
) -> None:
    """With memory for the output, and without."""
    request = {
        "shape": shape,
        "dtype": f"torch.{dtype}",
        "world_size": world,
        "device_types": ["cpu"],
        "takes_out": True,
    }
    for brings in (True, False):
        payload = honest_qkv(shape, world, dtype, out=brings)
        told = {**dict(zip(PARTS, payload.records, strict=True)), **payload.beside}

        assert list(kernel_pack_qkv.check(told, request, owner_of)) == []


def test_a_view_with_room_between_its_rows_holds_the_same() -> None:
    """It is no lie: only strides differ."""
    honest = honest_qkv((6, 8, 16), 2)
    for name in ("qkv-rows-apart", "qkv-heads-apart", "qkv-columns-apart"):
        changed = FAULTS[name].change(honest, (0,), stream(0)).records[0]

        assert torch.equal(changed, honest.records[0])
        assert changed.stride() != honest.records[0].stride()
        assert FAULTS[name].benign == (changed.stride(-1) == 1)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("qkv-row-less", (5, 8, 16)),
        ("qkv-row-more", (7, 8, 16)),
        ("qkv-no-rows", (0, 8, 16)),
        ("qkv-head-less", (6, 7, 16)),
        ("qkv-head-more", (6, 9, 16)),
        ("qkv-narrower", (6, 8, 15)),
        ("qkv-wider", (6, 8, 17)),
        ("qkv-deep", (1, 6, 8, 16)),
        ("qkv-flat", (6, 128)),
    ],
)
def test_one_shape_changes_as_the_picture_says(name: str, shape: tuple[int, ...]) -> None:
    """And no other tensor."""
    changed = FAULTS[name].change(honest_qkv((6, 8, 16), 2), (1,), stream(0))

    assert tuple(changed.records[1].shape) == shape
    assert [tuple(changed.records[i].shape) for i in (0, 2)] == [(6, 8, 16)] * 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("world-one-more", 3),
        ("world-double", 4),
        ("world-zero", 0),
        ("world-negative", -2),
        ("world-float", 2.0),
        ("world-text", "2"),
        ("world-null", None),
    ],
)
def test_another_number_of_ranks_is_told(name: str, told: object) -> None:
    """As another kind of thing, too."""
    changed = FAULTS[name].change(honest_qkv((6, 8, 16), 2), (), stream(0)).beside["world_size"]

    assert (changed, type(changed)) == (told, type(told))
