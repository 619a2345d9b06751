"""Honest prompts and rows say whose is what; their faults, by hand."""

from typing import Any

import pytest
import torch

from contracts import embedding_scatter, encoder_precomputed_layout
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.placeholder_rows import (
    UNFILLED,
    VOCABULARY,
    WIDTH,
    Layout,
    PlaceholderReader,
    honest_placeholders,
    honest_precomputed,
    item_rows,
    owner_name,
    text_id,
    text_table,
)
from simulators.rng import stream

READ = PlaceholderReader()


def faulty(name: str, at: tuple[int, ...] = (), layout: Layout = Layout(2)) -> Payload:
    """Return the items of one request with one fault."""
    make = honest_precomputed if name.startswith(("received", "item")) else honest_placeholders
    return FAULTS[name].change(make(layout), at, stream(0))


@pytest.mark.parametrize(
    "layout", [Layout(1), Layout(3), Layout(4, 2, alike=True), Layout(4, 2, mixed=True)]
)
def test_honest_payloads_break_nothing(layout: Layout) -> None:
    """Whatever their layout; the layout of precomputed rows is that of one request."""
    payload = honest_placeholders(layout)
    request = {
        "width": WIDTH,
        "vocabulary": VOCABULARY,
        "windows": [(0, len(prompt)) for prompt in payload.beside["prompts"]],
        "owners": [owner_name(*layout.place(index)) for index in range(layout.items)],
    }
    passing = {"items": list(payload.records), "prompts": payload.beside["prompts"]}

    assert not list(embedding_scatter.check(passing, request, READ))

    alone = layout._replace(requests=1)
    payload = honest_precomputed(alone)
    told = {
        **request,
        "owners": [owner_name(0, index) for index in range(layout.items)],
        "places": [item["offsets"] for item in payload.records],
        "modalities": [item["modality"] for item in payload.records],
    }
    laid = {"items": list(payload.records), "received": payload.beside["received"], "dealt": True}

    assert not list(encoder_precomputed_layout.check(laid, told, READ))


def test_a_prompt_is_text_with_runs_of_placeholders() -> None:
    """Items of the second request begin anew; its second item has a row more."""
    payload = honest_placeholders(Layout(4, 2, mixed=True))
    first, second = payload.records[2:]

    assert (first["request"], first["offsets"], first["modality"]) == (1, [(2, 4)], "image")
    assert (second["request"], second["offsets"], second["modality"]) == (1, [(7, 10)], "video")
    prompt = payload.beside["prompts"][1]
    text, a, b = (lambda at: text_id(1, at)), first["pad"], second["pad"]
    assert prompt == (
        text(0), text(1), a, a, a, text(5), text(6), b, b, b, b, text(11), text(12)
    )  # fmt: skip
    assert min(a, b) >= VOCABULARY


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_row_says_whose_it_is_in_every_float(dtype: torch.dtype) -> None:
    """Of an item, of another batch's, of the text, and where nothing was put."""
    rows, other = item_rows(3, 7, 12).to(dtype), item_rows(103, 7, 1).to(dtype)
    table = text_table().to(dtype)

    assert READ(rows.tolist()) == [Origin("request 3's item 7", place) for place in range(12)]
    assert READ(other.tolist()) == [Origin("another batch's request 3's item 7", 0)]
    assert READ(table[[text_id(2, 9)]].tolist()) == [Origin("request 2's text", 9)]
    assert READ(table[-1:].tolist()) == [Origin(UNFILLED, 0)]


def test_what_is_no_row_is_nobodys() -> None:
    """Out of step, not whole, not a number, or of another width."""
    rows = item_rows(1, 2, 3)
    bad = [
        rows.flatten()[3 : 3 + WIDTH], rows[0] + 0.5, rows[0] * float("nan"), -rows[0],
        rows[0, :-1], torch.zeros(WIDTH),
    ]  # fmt: skip

    assert [READ([row.tolist()]) for row in bad] == [[None]] * len(bad)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("placed-first-lost", [1, 2]),
        ("placed-middle-lost", [0, 2]),
        ("placed-last-lost", [0, 1]),
        ("placed-two-lost", [0]),
        ("placed-emptied", []),
        ("placed-first-doubled", [0, 0, 1, 2]),
        ("placed-last-doubled", [0, 1, 2, 2]),
        ("placed-two-more", [0, 1, 0, 1, 2]),
        ("placed-one-for-another", [0, 1, 0]),
        ("placed-reversed", [2, 1, 0]),
        ("placed-rotated", [2, 0, 1]),
    ],
)
def test_rows_change_as_the_picture_says(name: str, places: list[int]) -> None:
    """Those of the item at the place; its offsets and its placeholders do not."""
    honest, changed = honest_placeholders(Layout(2)), faulty(name, (0,))
    rows = changed.records[0]["rows"]

    assert [origin.position for origin in READ(rows.tolist()) if origin] == places
    assert changed.records[1] is not honest.records[1]
    assert changed.records[0]["offsets"] == honest.records[0]["offsets"]
    assert changed.beside == honest.beside


def test_a_moved_row_keeps_the_sum() -> None:
    """One fewer here, one more there."""
    first, second = faulty("placed-moved", (0, 1)).records

    assert READ(first["rows"].tolist()) == [Origin("request 0's item 0", p) for p in (0, 1)]
    assert READ(second["rows"].tolist())[:2] == [
        Origin("request 0's item 0", 2), Origin("request 0's item 1", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "offsets"),
    [
        ("offsets-later", [(3, 5)]),
        ("offsets-earlier", [(1, 3)]),
        ("offsets-longer", [(2, 5)]),
        ("offsets-longer-before", [(1, 4)]),
        ("offsets-shorter", [(2, 3)]),
        ("offsets-shorter-before", [(3, 4)]),
        ("offsets-half-open", [(2, 5), (6, 5)]),
        ("offsets-two-runs", [(2, 2), (3, 4)]),
        ("offsets-reversed", [(4, 2)]),
        ("offsets-negative", [(-998, -996)]),
        ("offsets-beyond", [(1002, 1004)]),
        ("offsets-none", []),
        ("offsets-null", None),
        ("offsets-lists", [[2, 4]]),
        ("offsets-twice", [(2, 4), (2, 4)]),
    ],
)
def test_offsets_change_as_the_picture_says(name: str, offsets: Any) -> None:
    """The placeholders of the first item stand at 2 to 4."""
    assert faulty(name, (0,)).records[0]["offsets"] == offsets


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("placeholder-first-lost", [3, 4]),
        ("placeholder-middle-lost", [2, 4]),
        ("placeholder-last-lost", [2, 3]),
        ("placeholder-two-lost", [2]),
        ("placeholder-all-lost", []),
        ("placeholder-more-before", [1, 2, 3, 4]),
        ("placeholder-more-behind", [2, 3, 4, 5]),
        ("placeholder-two-more", [2, 3, 4, 5, 6]),
        ("placeholder-later", [3, 4, 5]),
    ],
)
def test_placeholders_change_as_the_picture_says(name: str, places: list[int]) -> None:
    """In the prompt; what is lost there becomes text, and the prompt is as long."""
    honest, changed = honest_placeholders(Layout(2)), faulty(name, (0,))
    (before,), (after,) = honest.beside["prompts"], changed.beside["prompts"]
    pad = honest.records[0]["pad"]

    assert [place for place, token in enumerate(after) if token == pad] == places
    assert len(after) == len(before)
    assert all(after[p] == text_id(0, p) for p, token in enumerate(before)
               if token == pad and p not in places)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "received"),
    [
        ("received-missing", [("video", 4)]),
        ("received-renamed", [("audio", 3), ("video", 4)]),
        ("received-by-name", [("image", 3), ("video", 4), ("text image", 3)]),
        ("received-beyond", [("image", 3), ("video", 4), ("audio", 3)]),
        ("received-beyond-null", [("image", 3), ("video", 4), ("audio", None)]),
        ("received-beyond-empty", [("image", 3), ("video", 4), ("audio", 0)]),
        ("received-row-less", [("image", 2), ("video", 4)]),
        ("received-row-more", [("image", 4), ("video", 4)]),
        ("received-null", [("image", None), ("video", 4)]),
    ],
)
def test_what_was_received_changes_as_the_picture_says(name: str, received: Any) -> None:
    """The items do not."""
    told = faulty(name, layout=Layout(2, mixed=True)).beside["received"]

    assert [(one, None if rows is None else len(rows)) for one, rows in told] == received
