"""Honest preprocessor and encoder agree; rows say whose they are; their faults, by hand."""

from itertools import chain
from typing import Any

import pytest
import torch

from contracts import encoder_slice, encoder_stage, encoder_validate
from contracts.contract import Origin
from simulators.encoded_forms import FORMS, returned_rows
from simulators.encoder import ALIKE, RULES, UNLIKE, WIDTH, honest_items, owner_of, stamped_rows
from simulators.encoder_rules import tokens_of_grid, tokens_of_picture
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream


def faulty(name: str, at: tuple[int, ...] = (), count: int = 3) -> Payload:
    """Return so many items with one fault."""
    return FAULTS[name].change(honest_items(count), at, stream(0))


def counts(payload: Payload) -> list[Any]:
    """Return what is told of each item."""
    return [item.count for item in payload.records]


def origins(payload: Payload) -> list[tuple[int | str, int] | None]:
    """Return whose each row is."""
    return [o and tuple(o) for o in owner_of(returned_rows(payload).tolist())]


def row_range(owner: int | str, *positions: int) -> list[tuple[int | str, int]]:
    """Return some rows of one owner."""
    return [(owner, position) for position in positions]


@pytest.mark.parametrize("pictures", ["unlike", "alike", "2,4,1280,7"])
def test_what_the_one_counts_is_what_the_other_makes(pictures: str) -> None:
    """An honest batch breaks no clause of any of its seams."""
    payload = honest_items(4, pictures)
    request = {
        "counts": counts(payload),
        "items": [1, 3],
        "names": ["request 0", "request 1"],
        "chosen": [0, 1, 2, 3],
        "width": WIDTH,
        "dtype": "torch.float32",
    }
    passed = {"rows": returned_rows(payload), "counts": counts(payload)}

    for contract in (encoder_slice, encoder_validate, encoder_stage):
        assert list(contract.check(passed, request, owner_of)) == []
    for item in payload.records:
        assert len(item.rows) == item.count == tokens_of_grid(item.grid, RULES)


def test_the_pictures_are_of_the_counts_that_are_said() -> None:
    """All unlike, or all alike."""
    assert [tokens_of_picture(size, RULES) for size in UNLIKE] == [6, 12, 8, 16, 10, 18, 14, 20]
    assert counts(honest_items(3, "alike")) == [tokens_of_picture(ALIKE, RULES)] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rows_are_exact_in_every_dtype_of_a_model(dtype: torch.dtype) -> None:
    """Up to 16384 rows."""
    rows = stamped_rows(7, 16384).to(dtype)

    assert owner_of(rows.tolist()) == [Origin(7, position) for position in range(16384)]


def test_a_row_that_was_changed_anywhere_is_nobodys() -> None:
    """In any of its columns; so is one of another width."""
    row = stamped_rows(3, 300)[299]
    for column in range(WIDTH):
        other = row.clone()
        other[column] += 1
        assert owner_of([other.tolist()]) == [None]
    assert owner_of([row.tolist()[:4], row.tolist() * 2, [0.0] * WIDTH]) == [None] * 3
    assert owner_of([[float("nan")] * WIDTH]) == [None]


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("embedding-last-lost", (0,), row_range(0, 0, 1, 2, 3, 4)),
        ("embedding-first-lost", (0,), row_range(0, 1, 2, 3, 4, 5)),
        ("embedding-middle-lost", (0,), row_range(0, 0, 1, 2, 4, 5)),
        ("embedding-half-lost", (0,), row_range(0, 0, 1, 2)),
        ("embedding-lost", (0,), []),
        ("embedding-last-twice", (0,), row_range(0, 0, 1, 2, 3, 4, 5, 5)),
        ("embedding-middle-twice", (0,), row_range(0, 0, 1, 2, 3, 3, 4, 5)),
        ("embedding-twice", (0,), row_range(0, *range(6), *range(6))),
        ("embedding-reversed", (0,), row_range(0, 5, 4, 3, 2, 1, 0)),
        ("embedding-rotated", (0,), row_range(0, 5, 0, 1, 2, 3, 4)),
        ("embedding-zeros", (0,), [None] * 6),
        ("embedding-nan", (0,), [None] * 6),
        ("embedding-one-nan", (0,), [None, *row_range(0, 1, 2, 3, 4, 5)]),
        ("embedding-stale", (0,), row_range("another request's item 0", *range(6))),
        ("embeddings-class-row", (), row_range(0, *range(7))),
        ("embeddings-line-ends", (), row_range(0, *range(8))),
        ("embeddings-half-up", (), row_range(0, *range(9))),
        ("embeddings-unmerged", (), row_range(0, *range(30))),
    ],
)
def test_the_rows_of_one_item_change_as_the_picture_says(name: str, at: Any, expected: Any) -> None:
    """And its count does not."""
    changed = faulty(name, at, count=1)

    assert origins(changed) == expected
    assert counts(changed) == [6]


def test_the_rows_of_two_items_change_as_the_picture_says() -> None:
    """And their counts do not."""
    ours = [row_range(0, *range(6)), row_range(1, *range(12))]

    assert origins(faulty("embeddings-swapped", (0, 1), 2)) == [*ours[1], *ours[0]]
    assert origins(faulty("embeddings-doubled", (0, 1), 2)) == [*ours[0], *ours[0]]
    moved = list(chain(ours[0], ours[1][-2:], ours[1][:-2]))
    assert origins(faulty("embeddings-moved", (0, 1), 2)) == moved
    assert counts(faulty("embeddings-swapped", (0, 1), 2)) == [6, 12]


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("count-one-less", (1,), [6, 11, 8]),
        ("count-one-more", (1,), [6, 13, 8]),
        ("count-double", (1,), [6, 24, 8]),
        ("count-zero", (1,), [6, 0, 8]),
        ("count-negative", (1,), [6, -12, 8]),
        ("count-float", (1,), [6, 12.0, 8]),
        ("count-fraction", (1,), [6, 12.5, 8]),
        ("count-tensor", (1,), [6, torch.tensor(12), 8]),
        ("counts-swapped", (0, 1), [12, 6, 8]),
        ("counts-moved", (0, 1), [8, 10, 8]),
        ("counts-minus-moved", (0, 1), [-2, 20, 8]),
        ("counts-on-first", (), [26, 0, 0]),
        ("counts-unmerged", (), [30, 54, 35]),
        ("counts-floor", (), [4, 8, 6]),
        ("counts-ceil", (), [9, 15, 12]),
        ("counts-patch-16", (), [4, 8, 6]),
        ("counts-class-token", (), [7, 13, 9]),
    ],
)
def test_counts_change_as_the_picture_says(name: str, at: Any, expected: list[Any]) -> None:
    """And the rows do not."""
    changed = faulty(name, at)

    assert counts(changed) == expected
    assert [type(c) for c in counts(changed)] == [type(c) for c in expected]
    assert torch.equal(returned_rows(changed), returned_rows(honest_items(3)))


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("wider", (18, 16)),
        ("narrower", (18, 4)),
        ("folded", (18, 2, 4)),
        ("padded", (2, 12, 8)),
        ("transposed", (8, 18)),
        ("vector", (144,)),
        ("cube", (18, 1, 8)),
        ("strided", (18, 8)),
    ],
)
def test_rows_are_returned_in_another_form(form: str, shape: tuple[int, ...]) -> None:
    """Of the same two items."""
    assert tuple(returned_rows(faulty(f"embeddings-{form}", (), 2)).shape) == shape


@pytest.mark.parametrize("form", ["float16", "bfloat16", "float64", "int32"])
def test_rows_are_returned_in_another_dtype(form: str) -> None:
    """With the same numbers in them."""
    rows = returned_rows(faulty(f"embeddings-{form}", (), 2))

    assert str(rows.dtype) == f"torch.{form}"
    assert torch.equal(rows.float(), returned_rows(honest_items(2)))


def test_every_form_can_be_made_of_nothing() -> None:
    """A batch that an earlier fault left without items."""
    made = {form: FORMS[form]([]) for form in FORMS}

    assert {
        form: len(rows.flatten() if form != "list" else rows) for form, rows in made.items()
    } == dict.fromkeys(FORMS, 0)
