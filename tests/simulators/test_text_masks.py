"""Honest masks say whose they are; their faults, by hand."""

from typing import Any

import pytest

from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream
from simulators.text_masks import EVERY, MaskReader, assembled_masks, honest_masks


def faulty(name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return the masks of two ragged prompts with one fault."""
    return FAULTS[name].change(honest_masks(2, True, (48, 80)), at, stream(0))


def length(row: Any) -> int:
    """Return how many tokens a mask lets through."""
    return int(row.sum())


def test_the_number_of_tokens_says_whose_a_mask_is() -> None:
    """Ours, another request's, and nobody's."""
    payload, reader = honest_masks(2, True, (48, 80)), MaskReader(2, True)

    assert reader(payload.records[1].tolist()) == [Origin(1, i) for i in range(14)]
    assert reader(payload.foreign[0].tolist())[0] == Origin("another request's prompt 0", 0)
    assert set(reader(payload.records[1].flip(0).tolist())) == {None}
    assert [reader.length(prompt) for prompt in (0, 1)] == [16, 14]


def test_masks_without_padding_are_all_alike() -> None:
    """So one fits each prompt, and another request's does not."""
    payload, reader = honest_masks(2, False, (48, 80)), MaskReader(2, False)

    assert reader(payload.records[1].tolist())[15] == Origin(EVERY, 15)
    assert length(payload.foreign[0]) == 14


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mask-shorter", (2, 15)),
        ("mask-longer", (2, 17)),
        ("mask-flat", (32,)),
        ("mask-broadcast", (2, 1, 1, 16)),
    ],
)
def test_a_masks_form_changes_as_the_picture_says(name: str, shape: tuple[int, ...]) -> None:
    """And its values do not."""
    assert tuple(faulty(name).body.shape) == shape


def test_a_masks_values_change_as_the_picture_says() -> None:
    """Row 1 has 14 tokens and 2 of padding."""
    assert length(assembled_masks(faulty("mask-token-masked", (1,)))[1]) == 13
    assert length(assembled_masks(faulty("mask-emptied", (1,)))[1]) == 0
    assert length(faulty("mask-inverted").body[1]) == 2
    assert faulty("mask-half").body[1].min() == 0.5
    assert faulty("mask-additive").body[1].tolist()[-1] == float("-inf")
    assert faulty("mask-additive").body[1].tolist()[0] == 0.0
    assert faulty("mask-lost").body is None


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("side-half-token", (56, 88)),
        ("side-token-more", (64, 80)),
        ("side-token-less", (48, 64)),
        ("side-swapped", (80, 48)),
        ("side-zero", (0, 80)),
        ("side-negative", (-48, 80)),
        ("side-missing", (None, 80)),
        ("side-float", (48.5, 80)),
        ("side-text", ("48", "80")),
        ("side-words", ("48px", 80)),
    ],
)
def test_a_size_is_told_beside_the_masks(name: str, size: Any) -> None:
    """The masks themselves are honest."""
    assert faulty(name).beside["size"] == size
