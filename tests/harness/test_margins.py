"""Margins keep a tensor as it is, and tell what was written beside it."""

import pytest
import torch

from harness.kernels.margins import POISON, Margins, margined, poison_of

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_in_margins_is_the_same_tensor(dtype: torch.dtype) -> None:
    """Values, shape, strides and dtype, with gaps, mirrored axes and rows over one another."""
    whole = torch.arange(48).reshape(6, 8).to(dtype)
    for tensor in (whole, whole[::2], whole[:, 2:5], whole.t(), whole[:1].expand(4, 8), whole[:0]):
        made = margined(tensor, "it")

        assert torch.equal(made.tensor, tensor)
        assert made.tensor.stride() == tensor.stride()
        assert made.tensor.dtype == dtype
        assert made.written() == ""


def test_gaps_between_rows_are_margins_too() -> None:
    """A write there is told apart from one at the ends."""
    made = margined(torch.zeros(6, 8)[::2], "it")
    made.buffer[made.first + 8] = 1.0
    made.buffer[made.first - 1] = 1.0
    made.buffer[made.first + 40] = 1.0

    said = "1 before it, 1 between its rows, 1 behind it"
    assert made.written() == f"elements outside of it written: {said}"


def test_a_write_into_the_tensor_is_none_beside_it() -> None:
    """Whatever it writes, poison included."""
    made = margined(torch.zeros(4), "it")
    made.tensor.fill_(float("nan"))

    assert made.written() == ""


def test_what_upstream_allocates_is_poison_until_it_is_written() -> None:
    """By any of the functions that leave memory as it is; those that fill it are left alone."""
    like = torch.zeros(2, 3)
    with Margins() as margins:
        made = [
            torch.empty(2, 3),
            torch.empty_like(like),
            like.new_empty(2, 3),
            torch.empty(2, 3, dtype=torch.int32),
        ]
        filled = torch.zeros(2, 3)

    assert [bool(one.isnan().all()) for one in made[:3]] == [True] * 3
    assert made[3].unique().tolist() == [POISON]
    assert len(margins.known) == 4
    assert torch.equal(filled, like)
    assert torch.empty(0).numel() == 0


def test_the_poison_of_a_margin_can_be_chosen() -> None:
    """As for an index that must not lead far away."""
    made = margined(torch.zeros(4, dtype=torch.int64), "it", poison=-1)

    assert int(made.buffer[0]) == -1
    assert poison_of(torch.bool) is True
