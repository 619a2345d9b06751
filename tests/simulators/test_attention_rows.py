"""Attention over stamped rows says which rows it saw: read back from a real attention."""

import pytest
import torch

from contracts.contract import Origin
from simulators.attention_rows import (
    MOST_ROWS,
    WIDTH,
    ValueReader,
    looked_for,
    near,
    stamped_rows,
    weighed,
)

SIZES = [1, 2, 3, 7, 8, 16, 31, MOST_ROWS]
HEADS = 4


def attention(rows: int, seen: list[int]) -> torch.Tensor:
    """Return torch's attention of every query over the keys and values of some rows.

    Returns:
        (rows, HEADS, WIDTH), float32.
    """
    queries, keys, values = (part.transpose(1, 2) for part in stamped_rows(rows, HEADS))
    made = torch.nn.functional.scaled_dot_product_attention(
        queries, keys[:, :, seen], values[:, :, seen]
    )
    return made.transpose(1, 2)[0]


def by_hand(rows: int, seen: list[int], token: int, head: int) -> torch.Tensor:
    """Return the output of one query, from the formula, one row after the other."""
    queries, keys, values = (part[0, :, head].double() for part in stamped_rows(rows, HEADS))
    scores = [float(queries[token] @ keys[row]) / WIDTH**0.5 for row in seen]
    weights = [2.718281828459045 ** (score - max(scores)) for score in scores]
    together = sum(weight * values[row] for weight, row in zip(weights, seen, strict=True))
    return together / sum(weights)  # type: ignore[no-any-return]


@pytest.mark.parametrize("rows", SIZES)
def test_an_even_head_gives_exactly_the_value_that_is_looked_for(rows: int) -> None:
    """Every other weight is nothing, for each token and head."""
    made, reader = attention(rows, [*range(rows)]), ValueReader(rows)
    _, _, values = stamped_rows(rows, HEADS)

    for head in range(0, HEADS, 2):
        sought = [looked_for(token, head, rows) for token in range(rows)]
        assert torch.equal(made[:, head], values[0, sought, head])
        assert reader([(head, row) for row in made[:, head]]) == [Origin(0, row) for row in sought]
        assert sorted(sought) == [*range(rows)]


def test_the_row_that_is_looked_for_is_half_a_sequence_away() -> None:
    """With two ranks, on the other one; and another one in each even head."""
    assert [looked_for(token, 0, 8) for token in range(8)] == [4, 5, 6, 7, 0, 1, 2, 3]
    assert [looked_for(0, head, 8) for head in (0, 2, 4)] == [4, 5, 6]
    assert [looked_for(token, 2, 5) for token in range(5)] == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("rows", SIZES)
def test_an_odd_head_gives_what_is_weighed(rows: int) -> None:
    """From the formula, in float64, and near what torch makes of it."""
    made, whole = attention(rows, [*range(rows)]), weighed(rows, HEADS)

    for head in range(1, HEADS, 2):
        for token in range(rows):
            assert near(made[token, head], whole[token, head])
        expected = by_hand(rows, [*range(rows)], rows - 1, head)
        assert whole[rows - 1, head].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_a_part_is_weighed_as_attention_over_it_alone() -> None:
    """As on a rank that exchanges nothing."""
    made, part = attention(8, [5, 6, 7]), weighed(8, HEADS, 5, 3)

    for token in range(8):
        assert near(made[token, 1], part[token, 1])
        assert not near(made[token, 1], weighed(8, HEADS)[token, 1])
    assert torch.equal(weighed(8, HEADS, 5), part)


@pytest.mark.parametrize("rows", [2, 3, 8, MOST_ROWS])
def test_a_doubled_missing_or_foreign_row_is_seen_by_every_query(rows: int) -> None:
    """In each odd head, whichever row it is."""
    whole, every = weighed(rows, HEADS), [*range(rows)]
    for wrong in range(rows):
        doubled = [*every, wrong]
        missing = [row for row in every if row != wrong]
        foreign = [(wrong + 1) % rows if row == wrong else row for row in every]
        for seen in (doubled, missing, foreign):
            made = attention(rows, seen)
            for head in range(1, HEADS, 2):
                unlike = [not near(made[token, head], whole[token, head]) for token in every]
                assert all(unlike), (wrong, seen, head)


@pytest.mark.parametrize("rows", [3, 4, 7, 8, MOST_ROWS])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_missing_row_is_not_read_back_in_an_even_head(rows: int, lost: int) -> None:
    """Its query meets the neighbours halfway, and their mean is not taken for it."""
    reader = ValueReader(rows)
    for first in range(rows):
        gone = {(first + step) % rows for step in range(min(lost, rows - 1))}
        made = attention(rows, [row for row in range(rows) if row not in gone])
        for token in range(rows):
            for head in range(0, HEADS, 2):
                (read,) = reader([(head, made[token, head])])
                sought = looked_for(token, head, rows)
                assert (read == Origin(0, sought)) == (sought not in gone), (gone, token, head)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_values_of_even_heads_are_exact_in_short_floats(dtype: torch.dtype) -> None:
    """All that there may be."""
    _, _, values = stamped_rows(MOST_ROWS, 24)

    for head in range(0, 24, 2):
        assert torch.equal(values[0, :, head].to(dtype).float(), values[0, :, head])


NAN = float("nan")


@pytest.mark.parametrize(
    "edits",
    [
        {1: 0},
        {1: 9},
        {1: 2.5},
        {1: 3},
        {1: NAN},
        {2: 2},
        {0: 0},
        {3: 4},
        {4: -1},
        {7: 1},
        dict.fromkeys(range(WIDTH), 0),
        dict.fromkeys(range(WIDTH), NAN),
    ],
    ids=str,
)
def test_what_is_no_tokens_value_is_nobodys(edits: dict[int, float]) -> None:
    """Out of range, between two tokens, another one's, of another head, or poison."""
    reader = ValueReader(8)
    honest = stamped_rows(8, 2)[2][0, 1, 0].tolist()
    changed = [edits.get(column, number) for column, number in enumerate(honest)]

    assert reader([(0, honest)]) == [Origin(0, 1)]
    assert reader([(0, changed)]) == [None]
    assert reader([(2, honest)]) == [None]
