"""The contract of encoder-precomputed-layout, alone: items and rows by hand."""

from typing import Any

import pytest

from contracts import encoder_precomputed_layout, ending
from contracts.contract import Violation
from simulators.placeholder_rows import (
    WIDTH,
    Layout,
    PlaceholderReader,
    honest_precomputed,
    owner_name,
)

HONEST = honest_precomputed(Layout(2, mixed=True))
FIRST, SECOND = HONEST.records
IMAGES, VIDEOS = HONEST.beside["received"]


def check(items: Any, received: Any, dealt: bool = False) -> list[Violation]:
    """Return the violations of an image with three rows and a video with four."""
    request = {
        "places": [FIRST["offsets"], SECOND["offsets"]],
        "modalities": ["image", "video"],
        "width": WIDTH,
        "owners": [owner_name(0, 0), owner_name(0, 1)],
    }
    payload = {"items": list(items), "received": received, "dealt": dealt}
    return list(encoder_precomputed_layout.check(payload, request, PlaceholderReader()))


def refusal(found: list[Violation]) -> str:
    """Return what upstream says to the first violation that ends the call."""
    end = ending(found, "0.5.20")
    if end is None:
        return ""
    return end.refusal(end.clause.guards[0]) if end.clause.guards else end.clause.name


def test_honest_rows_break_nothing() -> None:
    """Whether the processor dealt them out itself or not; in any order of modalities."""
    assert check((FIRST, SECOND), (IMAGES, VIDEOS)) == []
    assert check((FIRST, SECOND), (VIDEOS, IMAGES), dealt=True) == []


@pytest.mark.parametrize(
    ("items", "received", "text"),
    [
        (
            ({**FIRST, "rows": FIRST["rows"].tolist()}, SECOND),
            (IMAGES, VIDEOS),
            "EPD multimodal items must contain tensor embeddings; got list for image",
        ),
        (
            (FIRST, {**SECOND, "rows": SECOND["rows"][1:]}),
            (IMAGES, VIDEOS),
            "Precomputed multimodal embedding length mismatch for video: expected 4 rows from "
            "prompt offsets, got 3",
        ),
        (
            (FIRST, {**SECOND, "modality": "audio"}),
            (IMAGES, VIDEOS),
            "EPD processor returned an unexpected embedding modality: audio",
        ),
        (
            (FIRST, SECOND),
            (IMAGES, VIDEOS, ("audio", None)),
            "EPD encoder output must contain tensor embeddings; got NoneType for audio",
        ),
        (
            (FIRST,),
            (IMAGES, VIDEOS),
            "Precomputed multimodal embedding consumption mismatch for video: received 4 rows, "
            "consumed 0",
        ),
        ((FIRST, SECOND), (IMAGES, VIDEOS, ("text image", IMAGES[1])), "received-member"),
    ],
)
def test_each_refusal_says_what_is_true(items: Any, received: Any, text: str) -> None:
    """With the modality and the numbers."""
    assert refusal(check(items, received)) == text


def test_one_short_item_hides_the_next() -> None:
    """Items are read one by one, then what was received."""
    short = {**FIRST, "rows": FIRST["rows"][1:]}
    odd = {**SECOND, "rows": None}

    assert "mismatch for image: expected 3" in refusal(check((short, odd), (IMAGES, VIDEOS)))
    assert "got NoneType for video" in refusal(check((odd, short), (IMAGES, VIDEOS)))


@pytest.mark.parametrize(
    ("item", "clauses"),
    [
        ({"rows": SECOND["rows"][:3]}, {"row-identity"}),
        ({"rows": FIRST["rows"].flip(0)}, {"row-identity"}),
        ({"rows": FIRST["rows"].half()}, {"rows-form"}),
        ({"offsets": [(3, 5)]}, {"offsets-place"}),
        ({"offsets": [(-9, -7)]}, {"offsets-place"}),
        ({"offsets": None}, {"offsets-there"}),
    ],
)
def test_what_is_only_counted_is_let_through(item: Any, clauses: set[str]) -> None:
    """The count is right, and upstream asks no more."""
    found = check(({**FIRST, **item}, SECOND), (IMAGES, VIDEOS))

    assert {violation.clause.name for violation in found} == clauses
    assert refusal(found) == ""


def test_rows_that_were_not_received_cannot_be_cut() -> None:
    """Where the processor cuts them itself."""
    assert refusal(check((FIRST, SECOND), (VIDEOS,), dealt=True)) == "modality-received"
    assert refusal(check((FIRST, SECOND), (("image", None), VIDEOS), dealt=True)) == (
        "modality-received"
    )
