"""Faults are pure: they change a copy, at their place, and leave alone what they cannot change."""

import copy
from collections import Counter
from functools import cache
from typing import Any
from unittest import mock

import pytest
import torch

from simulators import counted_media
from simulators.ar_server.asking import batch_request
from simulators.assigned_items import honest_assignment
from simulators.camera_rows import honest_camera
from simulators.chunked_frames import Sizes, honest_chunk
from simulators.decode_batch import Batch, honest_decode
from simulators.degrees import honest_degrees
from simulators.denoiser_results import honest_results
from simulators.embedding_parts import honest_parts
from simulators.encode_request import honest_encode
from simulators.encoder import honest_items
from simulators.encoder_urls import honest_urls
from simulators.faults import _TABLE, FAULTS, Fault
from simulators.generate_request import honest_request
from simulators.http_answer import json_answer
from simulators.kernel_rows import honest_qkv, stamped
from simulators.kv_chunks import honest_chunks
from simulators.media_items import honest_media
from simulators.modulated_rows import Sizes as BatchSizes
from simulators.modulated_rows import honest_modulation
from simulators.payload import (
    ANGLES,
    ANSWER,
    ASKED_MEDIA,
    ASSIGNED,
    CAMERA,
    CHUNKED,
    CHUNKS,
    DECODE,
    DEGREES,
    DESTINATIONS,
    EMBEDDINGS,
    ENCODE,
    FRAMES,
    GRIDS,
    GROUP,
    INDICES,
    MASKS,
    MEDIA,
    MODULATIONS,
    PARTS,
    PLACEHOLDERS,
    PRECOMPUTED,
    PREPARED,
    PROCESSED,
    RECORDS,
    REPLY,
    REQUEST,
    RESULTS,
    ROWS,
    SEEDS,
    SIZE,
    SPLITS,
    STATES,
    TALLY,
    TENSORS,
    URLS,
    JsonItem,
    Payload,
    plain,
)
from simulators.picture_size import honest_size
from simulators.placeholder_rows import Layout, honest_placeholders, honest_precomputed
from simulators.prepared_requests import honest_requests
from simulators.prior_rows import assembled, honest_rows
from simulators.processed_media import honest_output
from simulators.receive_urls import honest_registrations
from simulators.request_group import honest_group
from simulators.requested_media import honest_asked_media
from simulators.rng import stream
from simulators.rotary_rows import Sizes as RotarySizes
from simulators.rotary_rows import honest_angles
from simulators.scheduler import honest_batch
from simulators.seed_values import honest_seeds
from simulators.stamped_frames import honest_frames
from simulators.stateful_sequences import Sizes as StateSizes
from simulators.stateful_sequences import honest_sequences
from simulators.text_masks import honest_masks
from simulators.varlen_rows import honest_varlen

#: Clips of unlike sizes, none of them a square of tokens.
CLIPS = ("3x70x80", "6x126x80", "5x70x100", "4x70x130")


def reply(count: int) -> Payload:
    """Return a payload of so many reply items and as many foreign ones."""

    def item(name: str) -> JsonItem:
        ids = [ord(name[-1]) + i for i in range(4)]
        meta = {"prompt_tokens": 1, "completion_tokens": 4, "finish_reason": None}
        return JsonItem({"text": name, "output_ids": ids, "meta_info": meta}, b"")

    letters = "abcdefgh"[:count]
    return Payload(REPLY, tuple(map(item, letters)), tuple(item(f"x{c}") for c in letters))


@cache
def payload(form: str, count: int) -> Payload:
    """Return an honest payload of a form, made once: no fault changes it."""
    if form == ROWS:
        return honest_rows(count, 8)
    if form == GROUP:
        return honest_group([f"prompt {i}" for i in range(2 * count)], 64, 96, 2)
    if form == RESULTS:
        return honest_results(count, 2)
    if form == FRAMES:
        return honest_frames(count, (8, 12), (6, 9))
    if form == CHUNKS:
        return honest_chunks(count, head_start=2)
    if form == CAMERA:
        return honest_camera(2, True)
    if form == DEGREES:
        return honest_degrees(4, 8)
    if form == EMBEDDINGS:
        # One is so small that rules differ on it which differ on no other.
        return honest_items(count, ",".join(["23x3", "126x80", "70x100", "126x100"][:count]))
    if form == PROCESSED:
        return honest_output(count)
    if form == TALLY:
        return counted_media.honest_media("mimo_v2", "video", count, ",".join(CLIPS[:count]))
    if form == MEDIA:
        return honest_media(count, keyed=True)
    if form == PREPARED:
        return honest_requests(range(1, count + 1), "alike")
    if form == MASKS:
        return honest_masks(count, True, (48, 80))
    if form == PLACEHOLDERS:
        return honest_placeholders(Layout(count))
    if form == PRECOMPUTED:
        return honest_precomputed(Layout(count))
    if form == PARTS:
        return honest_parts(count, "image", "float16")
    if form == ENCODE:
        return honest_encode(count, "image", hashed=True)
    if form == ASKED_MEDIA:
        return honest_asked_media(count)
    if form == DESTINATIONS:
        return honest_registrations(count)
    if form == ASSIGNED:
        return honest_assignment(count, 2 * count + 1, "image", "http")
    if form == URLS:
        return honest_urls(count, "http")
    if form == TENSORS:
        three = honest_qkv((6, 8, 4), 2, out=True)
        fourth = stamped("k", (6, 8, 4), "float32", request=2)
        ours, others = (*three.records, three.foreign[0]), (*three.foreign, fourth)
        return Payload(TENSORS, ours[:count], others[:count], three.beside)
    if form == INDICES:
        return honest_varlen([2, count - 2], heads=2, width=4)
    if form == STATES:
        return honest_sequences(StateSizes((2, 3, 1, 2)[:count], value_heads=2), "bfloat16")
    if form == DECODE:
        return honest_decode(Batch(count))
    if form == CHUNKED:
        return honest_chunk(Sizes(cached=count, front=count))
    if form == ANGLES:
        return honest_angles(RotarySizes(2, count), positions=True)
    if form == MODULATIONS:
        three = honest_modulation(("frame", "token"), BatchSizes(3, 6, 2, 8))
        ours, others = (*three.records, three.foreign[0]), (*three.foreign, three.records[0])
        return Payload(MODULATIONS, ours[:count], others[:count], three.beside)
    if form == SIZE:
        return honest_size(64, 96)
    if form == SPLITS:
        return honest_batch([5, 3, 4, 2][:count], 12, "ring")
    if form == GRIDS:
        rows = tuple((1, 2 + i, 7 - i) for i in range(count))
        return Payload(GRIDS, rows, tuple((1, 20 + i, 9) for i in range(count)))
    if form == SEEDS:
        return honest_seeds("list", count)
    if form == REQUEST:
        return honest_request(batch_request([[1, 2 + i] for i in range(count)], 64, 96, seed=5))
    if form == ANSWER:
        items = [plain(record) for record in reply(count).records]
        return Payload(ANSWER, (json_answer(200, items),), beside={"url": "http://server"})
    return reply(count)


def same(a: Any, b: Any) -> bool:
    """Return whether two records are alike, tensors within them too."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def shown(changed: Payload) -> Any:
    """Return what a reply has become, as names of items."""
    if changed.body is not RECORDS:
        return changed.body
    return [plain(record)["text"] for record in changed.records]


def told(tensor: torch.Tensor) -> str:
    """Return all of a tensor as text: torch's own leaves out what is large, and is slow."""
    numbers = [] if tensor.is_meta else tensor.tolist()
    form = tuple(tensor.shape), tensor.stride()
    return f"{tensor.dtype} {form} {tensor.device} {numbers}"


@mock.patch.object(torch.Tensor, "__repr__", told)
def whole(changed: Payload) -> str:
    """Return all of a payload as text, so that any change shows."""
    if changed.form == ROWS:
        return repr(assembled(changed)) + repr(changed.beside)
    if changed.form == PROCESSED:
        fields = [
            (k, type(v), getattr(v, "tolist", lambda v=v: v)())
            for k, v in changed.records[0].items()
        ]
        return repr(fields) + repr(changed.beside)
    bodies = [a.body for a in changed.records] if changed.form == ANSWER else []
    return repr(changed) + repr(bodies) + repr(changed.beside)


@cache
def after_each(form: str) -> list[Payload]:
    """Return what each fault of a form makes of an honest payload, at its first place."""
    fit = [fault for fault in FAULTS.values() if form in fault.forms]
    firsts = [(fault, list(fault.places(3))[:1]) for fault in fit]
    return [
        fault.change(payload(form, 3), at, stream(0)) for fault, places in firsts for at in places
    ]


EVERY = [
    pytest.param(fault, form, id=f"{name}-{form}")
    for name, fault in FAULTS.items()
    for form in fault.forms
]


@pytest.mark.parametrize(("fault", "form"), EVERY)
def test_a_fault_changes_a_copy(fault: Fault, form: str) -> None:
    """The honest payload is as it was, whatever the place."""
    for at in fault.places(4):
        honest = payload(form, 4)
        before = copy.deepcopy(honest)
        fault.change(honest, at, stream(0))
        assert all(same(a, b) for a, b in zip(honest.records, before.records, strict=True))
        assert same(honest.beside, before.beside)


@pytest.mark.parametrize(("fault", "form"), EVERY)
def test_a_fault_other_than_noop_changes_something_at_each_place(fault: Fault, form: str) -> None:
    """And at no two places the same thing."""
    seen = []
    for at in fault.places(4):
        changed = fault.change(payload(form, 4), at, stream(0))
        seen.append(whole(changed))
    untouched = whole(payload(form, 4))

    assert len(set(seen)) == len(seen)
    assert (untouched in seen) == (fault.name == "noop")


@pytest.mark.parametrize(("fault", "form"), EVERY)
def test_a_fault_can_follow_any_other(fault: Fault, form: str) -> None:
    """A fault leaves alone what an earlier one took away, and never raises."""
    for changed in after_each(form):
        for at in [at for at in fault.places(3) if fault.fits(changed, at)]:
            assert isinstance(fault.change(changed, at, stream(0)), Payload)


def test_no_two_rows_of_the_table_share_a_name() -> None:
    """The second would silently take the place of the first."""
    names = [fault.name for fault in _TABLE]

    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert list(FAULTS) == names


#: Four ranks hold 5, 3, 4 and 2 rows.
SPLITS_BY_HAND = {
    ("splits-stale", ()): [7, 5, 6, 4],
    ("splits-total", ()): [14],
    ("splits-per-request", ()): [3, 3, 3, 3, 2],
    ("splits-floor", ()): [3, 3, 3, 3],
    ("splits-ceil", ()): [4, 4, 4, 4],
    ("splits-moved", ()): [6, 3, 4, 1],
    ("splits-huge-alike", ()): [99, 99, 99, 99],
    ("splits-negative", ()): [-5, 13, 4, 2],
    ("split-one-less", (1,)): [5, 2, 4, 2],
    ("split-one-more", (1,)): [5, 4, 4, 2],
    ("split-zero", (3,)): [5, 3, 4, 0],
    ("split-minus", (0,)): [-5, 3, 4, 2],
    ("split-null", (2,)): [5, 3, None, 2],
    ("split-fraction", (1,)): [5, 3.5, 4, 2],
    ("split-text", (1,)): [5, "3", 4, 2],
    ("split-nested", (1,)): [5, [3], 4, 2],
    ("rows-repeated", ()): [7, 5, 6, 4],
}


@pytest.mark.parametrize(("name", "at"), SPLITS_BY_HAND)
def test_splits_change_as_the_picture_says(name: str, at: Any) -> None:
    """One of them, or all; what the ranks hold stays as it was."""
    changed = FAULTS[name].change(payload(SPLITS, 4), at, stream(0))

    assert list(changed.records) == SPLITS_BY_HAND[name, at]
    assert changed.body is RECORDS
    assert changed.beside["rows"] == (5, 3, 4, 2)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("splits-list", list, [5, 3]),
        ("splits-floats", tuple, (5.0, 3.0)),
        ("splits-text", str, "53"),
        ("splits-texts", tuple, ("5", "3")),
        ("splits-number", int, 8),
        ("splits-by-rank", dict, {0: 5, 1: 3}),
        ("splits-tensor", torch.Tensor, [5, 3]),
        ("splits-tensors", list, [5, 3]),
    ],
)
def test_splits_are_sent_as_another_kind(name: str, kind: type, expected: Any) -> None:
    """Of the same numbers."""
    body = FAULTS[name].change(payload(SPLITS, 2), (), stream(0)).body
    value = [int(split) for split in body] if "tensor" in name else body

    assert type(body) is kind
    assert repr(value) == repr(expected)


def test_splits_of_a_generator_are_read_once() -> None:
    """They are true, the first time."""
    body = FAULTS["splits-generator"].change(payload(SPLITS, 2), (), stream(0)).body

    assert list(body) == [5, 3]
    assert list(body) == []


@pytest.mark.parametrize(
    ("name", "at", "field", "expected"),
    [
        ("splits-omitted", (), "has_splits", False),
        ("flag-lost", (), "enabled", False),
        ("flag-none", (), "enabled", None),
        ("batch-none", (), "batch", False),
        ("row-heads-more", (), "heads", 13),
        ("cache-none", (), "cache", False),
        ("rank-away", (1,), "fates", {1: "away"}),
        ("rank-dies", (0,), "fates", {0: "dies"}),
        ("strategy-unknown", (), "strategy", "megatron"),
        ("exchange-row-less", (), "form", "row-less"),
    ],
)
def test_what_is_told_beside_the_splits_changes_alone(
    name: str, at: Any, field: str, expected: Any
) -> None:
    """The splits are true."""
    honest = payload(SPLITS, 2)

    changed = FAULTS[name].change(honest, at, stream(0))

    assert changed.records == (5, 3)
    assert changed.beside == {**honest.beside, field: expected}


def test_uneven_shards_are_held_and_told() -> None:
    """One row more on the first rank, one less on the last."""
    changed = FAULTS["shards-uneven"].change(payload(SPLITS, 4), (), stream(0))

    assert changed.records == changed.beside["rows"] == (6, 3, 4, 1)


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("noop", (), "abc"),
        ("omission", (1,), "ac"),
        ("truncation", (1,), "a"),
        ("collapse", (2,), "c"),
        ("duplication", (0, 2), "aba"),
        ("duplication-extra", (1,), "abcb"),
        ("duplication-all", (1,), "bbb"),
        ("reordering", (0, 2), "cba"),
        ("reordering-rotate", (), "bca"),
        ("merge", (0,), "ac"),
        ("merge-padded", (0,), "acc"),
    ],
)
def test_records_move_as_the_picture_says(name: str, at: Any, expected: str) -> None:
    """Each fault of the list of records, by hand."""
    assert shown(FAULTS[name].change(reply(3), at, stream(0))) == list(expected)


def test_a_merge_joins_the_ids_of_both() -> None:
    """The merged item has all ids, and its usage counts them."""
    merged = FAULTS["merge"].change(reply(2), (0,), stream(0)).records[0]

    assert merged["output_ids"] == [97, 98, 99, 100, 98, 99, 100, 101]
    assert merged["meta_info"]["completion_tokens"] == 8


def test_a_compensated_skew_keeps_the_sum() -> None:
    """Two ids more here, two fewer there."""
    changed = FAULTS["skew-compensated"].change(reply(2), (0, 1), stream(0))

    assert [len(record["output_ids"]) for record in changed.records] == [6, 2]


def test_a_substitution_brings_another_requests_record() -> None:
    """The record is of the same shape, and not ours."""
    assert shown(FAULTS["substitution"].change(reply(2), (1,), stream(0))) == ["a", "xb"]
