"""Rows for an exchange say whose they are; their forms, and the shards of a sequence, by hand."""

import pytest
import torch

from contracts.contract import Origin
from simulators.exchanged_rows import MOST_HEADS, WIDTH, changed, owner_of, shard_of, stamped

ROWS = stamped(range(5, 8), range(2, 4))


def read(rows: torch.Tensor, head: int = 0) -> list[Origin | None]:
    """Return the origins of the rows of one head of the first batch row."""
    return owner_of(rows[0, :, head].tolist())


def tokens(rows: torch.Tensor) -> list[int]:
    """Return the tokens of the rows of the first head."""
    return [origin.position for origin in read(rows) if origin is not None]


def test_every_row_of_every_head_says_whose_it_is() -> None:
    """A token and a head each."""
    assert tuple(ROWS.shape) == (1, 3, 2, WIDTH)
    assert ROWS.dtype == torch.float32
    assert read(ROWS, 0) == [Origin("head 2", token) for token in (5, 6, 7)]
    assert read(ROWS, 1) == [Origin("head 3", token) for token in (5, 6, 7)]


def test_no_two_rows_are_alike() -> None:
    """Of the largest sequence with the most heads."""
    rows = stamped(range(32), range(24)).reshape(-1, WIDTH)

    assert len({tuple(row) for row in rows.tolist()}) == 32 * 24


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_stamps_are_exact_in_short_floats(dtype: torch.dtype) -> None:
    """Whatever an exchange sends them in."""
    rows = stamped(range(32), range(24))

    assert torch.equal(rows.to(dtype).float(), rows)


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("", (1, 3, 2, 8)),
        ("flat", (3, 2, 8)),
        ("deep", (1, 1, 3, 2, 8)),
        ("half", (1, 3, 2, 8)),
        ("narrow", (1, 3, 2, 7)),
        ("twice", (2, 3, 2, 8)),
        ("row-less", (1, 2, 2, 8)),
        ("row-more", (1, 4, 2, 8)),
        ("mirrored", (1, 3, 2, 8)),
    ],
)
def test_a_form_changes_the_shape_as_it_says(form: str, shape: tuple[int, ...]) -> None:
    """And the rows that are given stay as they are."""
    before = ROWS.clone()

    assert tuple(changed(ROWS, form).shape) == shape
    assert torch.equal(ROWS, before)


def test_a_form_changes_the_rows_as_it_says() -> None:
    """Which of them, in which order, of which kind."""
    assert changed(ROWS, "") is ROWS
    assert tokens(changed(ROWS, "row-less")) == [5, 6]
    assert tokens(changed(ROWS, "row-more")) == [5, 6, 7, 7]
    assert tokens(changed(ROWS, "mirrored")) == [7, 6, 5]
    assert changed(ROWS, "half").dtype == torch.float16
    assert torch.equal(changed(ROWS, "twice")[1], ROWS[0])
    assert read(changed(ROWS, "narrow")) == [None] * 3


def test_an_unknown_form_is_said() -> None:
    """By its name."""
    with pytest.raises(ValueError, match="'sideways'"):
        changed(ROWS, "sideways")


@pytest.mark.parametrize(
    ("form", "rows", "expected"),
    [
        ("", (5, 3), [[0, 1, 2, 3, 4], [5, 6, 7]]),
        ("", (3, 0, 2), [[0, 1, 2], [], [3, 4]]),
        ("repeated", (5, 3), [[0, 1, 0, 1, 2, 3, 4], [0, 1, 5, 6, 7]]),
        ("joined", (4, 4), [[0, 1, 4, 5], [2, 3, 6, 7]]),
        ("joined", (2, 2, 2, 2), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("joined", (4, 2, 2), [[0, 1, 4, 5], [2, 6], [3, 7]]),
        ("joined", (6, 2), [[0, 1, 2, 4, 5, 6], [3, 7]]),
    ],
)
def test_a_rank_holds_the_rows_that_its_form_says(
    form: str, rows: tuple[int, ...], expected: list[list[int]]
) -> None:
    """One run, text before each run, or a run of each half."""
    assert [shard_of(form, rank, rows) for rank in range(len(rows))] == expected


@pytest.mark.parametrize("form", ["", "joined"])
@pytest.mark.parametrize("rows", [(5, 3), (3, 5), (4, 4), (3, 3, 2), (3, 2, 2, 2), (8, 0), (1, 7)])
def test_the_ranks_hold_every_row_once(form: str, rows: tuple[int, ...]) -> None:
    """As many as they are said to hold."""
    shards = [shard_of(form, rank, rows) for rank in range(len(rows))]

    assert [len(shard) for shard in shards] == list(rows)
    assert sorted(token for shard in shards for token in shard) == [*range(sum(rows))]


@pytest.mark.parametrize("column", range(WIDTH))
@pytest.mark.parametrize("number", [0, 0.5, float("nan"), float("inf"), -1])
def test_what_is_no_stamp_is_nobodys(column: int, number: float) -> None:
    """Poison, or a number that no row holds, in any of its columns."""
    row = ROWS[0, 1, 0].tolist()
    assert owner_of([row]) == [Origin("head 2", 6)]

    row[column] = number
    assert owner_of([row]) == [None]


def test_a_row_of_another_width_is_nobodys() -> None:
    """Narrower, or twice as wide; nor is a row of zeros a stamp."""
    row = ROWS[0, 1, 0].tolist()

    assert owner_of([row[:-1], row * 2, [0.0] * WIDTH]) == [None] * 3


def test_rows_may_be_as_wide_as_a_models() -> None:
    """The stamp is repeated, and so is each of its columns."""
    wide = stamped(range(3), range(MOST_HEADS - 2, MOST_HEADS), 20)

    assert tuple(wide.shape) == (1, 3, 2, 20)
    assert torch.equal(wide[..., 8:16], wide[..., :8])
    assert torch.equal(wide[..., 16:], wide[..., :4])
