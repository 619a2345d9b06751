"""Honest media are told and made alike; what a fault tells or makes otherwise, by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_counts
from simulators.counted_media import (
    MODELS,
    honest_media,
    made_rows,
    sizes_of,
    tokens_of,
    told_fields,
)
from simulators.encoder import WIDTH, owner_of
from simulators.encoder_rules import Rules, tokens_of_sound
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream

EVERY = [(model, medium) for model, kind in MODELS.items() for medium in kind.media]


def faulty(name: str, at: tuple[int, ...] = (), medium: str = "video") -> Payload:
    """Return two media of one model with one fault."""
    sizes = {"video": "5x70x80,4x126x80", "audio": "250,199", "image": "70x80,126x80"}[medium]
    honest = honest_media("qwen3_omni_moe", medium, 2, sizes)
    return FAULTS[name].change(honest, at, stream(0))


def told(payload: Payload) -> list[Any]:
    """Return what is told of each medium."""
    return [item.told for item in payload.records]


@pytest.mark.parametrize(("model", "medium"), EVERY)
@pytest.mark.parametrize("sizes", ["unlike", "alike"])
def test_what_is_told_and_made_honestly_breaks_no_clause(
    model: str, medium: str, sizes: str
) -> None:
    """For every model and medium, of eight sizes and of one."""
    payload, rules = honest_media(model, medium, 8, sizes), MODELS[model].rules
    counts = [tokens_of(item.raw, rules) for item in payload.records]
    passed = {
        "fields": told_fields(payload),
        "rows": made_rows(payload),
        "made": counts,
        **{name: payload.beside[name] for name in ("model", "merge_size", "kernel")},
    }
    request = {
        "model": model,
        "medium": medium,
        "merge_size": 2,
        "kernel": (2, 2),
        "told": told(payload),
        "counts": counts,
        "items": [8],
        "names": ["request 0"],
        "width": WIDTH,
        "dtype": "torch.float32",
    }

    assert list(encoder_counts.check(passed, request, owner_of)) == []
    assert len(set(counts)) == (1 if sizes == "alike" else len(set(counts)))
    assert sum(counts) == len(passed["rows"])


def test_media_are_told_as_each_models_preprocessor_tells_them() -> None:
    """By hand: patches, tokens, or feature frames, under the model's own name."""
    clip = "5x70x80"

    assert told_fields(honest_media("mimo_v2", "video", 1, clip))["video_grid_thw"].tolist() == [
        [3, 4, 6]
    ]
    assert told(honest_media("muse_spark", "video", 1, clip)) == [(3, 2, 3)]
    assert list(told_fields(honest_media("kimi_vl", "image", 1))) == ["image_grid_hws"]
    assert list(told_fields(honest_media("kimi_k25", "image", 1))) == ["grid_thws"]
    sounds = told_fields(honest_media("mimo_v2", "audio", 2, "7,0"))
    assert sounds["audio_feature_lens_raw"].tolist() == [7, 0]


def test_a_sound_that_is_kept_has_its_length_in_tokens() -> None:
    """And what stands before it."""
    assert tokens_of_sound(250, Rules(sound="kept")) == 250
    assert tokens_of_sound(0, Rules(sound="kept", before=1)) == 1


def test_rows_say_whose_they_are() -> None:
    """Three moments of 2 x 3 tokens, then two of 4 x 3."""
    rows = made_rows(faulty("noop"))

    assert [tuple(o) for o in owner_of(rows[[0, 17, 18, -1]].tolist()) if o] == [
        (0, 0), (0, 17), (1, 0), (1, 23),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "medium", "rows"),
    [
        ("tally-made-pooled", "video", 18),
        ("tally-made-unmerged", "image", 84),
        ("tally-made-class-token", "video", 44),
        ("tally-made-line-ends", "video", 56),
        ("tally-made-frames-cut", "video", 36),
        ("tally-made-half-up", "image", 24),
        ("tally-made-ceil", "image", 24),
        ("tally-made-halves", "audio", 112),
        ("tally-made-windows", "audio", 59),
    ],
)
def test_rows_are_made_by_another_rule(name: str, medium: str, rows: int) -> None:
    """And what is told stays."""
    changed = faulty(name, medium=medium)

    assert len(made_rows(changed)) == rows
    assert told(changed) == told(faulty("noop", medium=medium))


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("tally-untold", (0,), [None, (2, 8, 6)]),
        ("tally-zero", (1,), [(3, 4, 6), (0, 0, 0)]),
        ("tally-frames-more", (0,), [(4, 4, 6), (2, 8, 6)]),
        ("tally-last-more", (0,), [(3, 4, 7), (2, 8, 6)]),
        ("tally-last-less", (1,), [(3, 4, 6), (2, 8, 5)]),
        ("tally-last-half", (1,), [(3, 4, 6), (2, 8, 6.5)]),
        ("tally-transposed", (1,), [(3, 4, 6), (2, 6, 8)]),
        ("tally-swapped", (0, 1), [(2, 8, 6), (3, 4, 6)]),
        ("tally-frames-moved", (0, 1), [(4, 4, 6), (1, 8, 6)]),
        ("tally-pooled-moved", (0, 1), [(1, 4, 6), (4, 8, 6)]),
        ("tally-last-moved", (1, 0), [(3, 4, 4), (2, 8, 8)]),
        ("tally-hundred-moved", (0, 1), [(3, 4, 106), (2, 8, -94)]),
        ("tally-sides-two", (), [(4, 6), (8, 6)]),
        ("tally-sides-more", (), [(1, 3, 4, 6), (1, 2, 8, 6)]),
        ("tally-sides-one", (), [(6,), (6,)]),
        ("tally-sides-none", (), [(), ()]),
    ],
)
def test_media_are_told_otherwise(name: str, at: tuple[int, ...], expected: list[Any]) -> None:
    """And the rows that are made stay."""
    changed = faulty(name, at)

    assert told(changed) == expected
    assert torch.equal(made_rows(changed), made_rows(faulty("noop")))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("tally-name-lost", set()),
        ("tally-name-other", {"audio_feature_lens_raw"}),
        ("tally-name-hws", {"image_grid_hws"}),
        ("tally-stale-thws", {"video_grid_thw", "grid_thws"}),
    ],
)
def test_fields_come_and_go(name: str, fields: set[str]) -> None:
    """By name; stale grids are those of the other order."""
    found = told_fields(faulty(name))

    assert set(found) == fields
    assert "grid_thws" not in found or found["grid_thws"].tolist() == [[2, 8, 6], [3, 4, 6]]


def test_forms_of_what_is_told() -> None:
    """A tensor of ints, of floats, or a list."""
    assert told_fields(faulty("noop"))["video_grid_thw"].dtype == torch.int64
    assert told_fields(faulty("tally-float"))["video_grid_thw"].dtype == torch.float32
    assert told_fields(faulty("tally-last-half", (0,)))["video_grid_thw"].dtype == torch.float32
    assert told_fields(faulty("tally-list"))["video_grid_thw"] == [[3, 4, 6], [2, 8, 6]]
    lengths = told_fields(faulty("tally-list", medium="audio"))
    assert lengths == {"audio_feature_lens_raw": [250, 199]}


def test_sizes_are_as_many_as_media() -> None:
    """Else they are refused."""
    assert sizes_of("audio", 2, "99,100") == ((99,), (100,))
    with pytest.raises(ValueError, match="1 sizes for 2 media"):
        sizes_of("audio", 2, "99")
