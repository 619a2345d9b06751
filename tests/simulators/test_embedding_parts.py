"""Honest parts, messages, requests and URLs say whose they are; their faults, by hand."""

import pickle
from typing import Any

import pytest
import torch

from contracts.contract import Origin
from simulators.embedding_parts import grids, honest_parts, modalities, reader
from simulators.encode_request import ItemReader, encode_request, honest_encode
from simulators.encoder_urls import honest_urls, told_urls
from simulators.faults import FAULTS
from simulators.part_messages import frames_of, message_of, part_id
from simulators.part_rows import WIDTH, RowReader, stamped_rows
from simulators.payload import Payload
from simulators.rng import stream


def faulty(name: str, at: tuple[int, ...] = ()) -> list[Any]:
    """Return three parts of images with one fault."""
    changed = FAULTS[name].change(honest_parts(3, "image", "float32"), at, stream(0))
    return list(changed.records)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_row_says_whose_it_is_in_every_dtype(dtype: str) -> None:
    """Up to its last digit."""
    rows, read = stamped_rows(2, 60, 200, dtype), RowReader({2: "two"})

    assert tuple(rows.shape) == (200, WIDTH)
    assert read(rows.tolist()) == [Origin("two", 60 + row) for row in range(200)]
    assert RowReader({1: "one"})(rows.tolist()) == [None] * 200


def test_what_is_no_row_is_nobodys() -> None:
    """Numbers, short rows, rows with a wrong digit, and no numbers at all."""
    read, (row,) = RowReader({2: "two"}), stamped_rows(2, 0, 1, "float32").tolist()

    assert read([1.0, row[:-1], [*row[:-1], row[-1] + 1], [float("nan")] * WIDTH]) == [None] * 4


def test_parts_follow_one_another_in_their_modality() -> None:
    """Images and videos in turn, each counted by itself; another request's are not ours."""
    payload, read = honest_parts(4, "mixed", "float32"), reader()
    first = [read(record["embedding"].tolist())[0] for record in payload.records]
    foreign = read(payload.foreign[1]["embedding"].tolist())[0]

    assert modalities(4, "mixed") == ["IMAGE", "VIDEO", "IMAGE", "VIDEO"]
    assert [origin.position for origin in first if origin] == [0, 0, 2, 20]
    assert foreign == Origin("request 1's videos", 0)


def test_no_two_items_have_the_same_grid() -> None:
    """So a grid says whose it is."""
    items = [tuple(item) for grid in grids(4, "image") for item in grid]

    assert len(set(items)) == len(items) == 6


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("part-index-wrapped", -2),
        ("part-index-below", -4),
        ("part-index-beyond", 4),
        ("part-index-bool", True),
        ("part-index-text", "1"),
        ("part-index-null", None),
    ],
)
def test_an_index_changes_as_the_picture_says(name: str, index: Any) -> None:
    """Of the second part of three, and nothing else."""
    parts = faulty(name, (1,))

    assert repr(parts[1]["part_idx"]) == repr(index)
    assert [part["part_idx"] for part in (parts[0], parts[2])] == [0, 2]


def test_rows_change_as_the_picture_says() -> None:
    """Two, ten and ten rows."""
    counts = {
        name: [len(part["embedding"]) for part in faulty(name, (1,))]
        for name in ("part-row-lost", "part-row-doubled", "part-row-moved", "part-rows-flat")
    }

    assert counts == {
        "part-row-lost": [2, 9, 10],
        "part-row-doubled": [2, 11, 10],
        "part-row-moved": [2, 9, 11],
        "part-rows-flat": [2, 80, 10],
    }
    assert faulty("part-shape-turned", (1,))[1]["shape"] == [8, 10]
    assert faulty("part-dtype-other", (1,))[1]["embedding"].dtype == torch.float16
    assert [part["part_idx"] for part in faulty("part-repeated", (1,))] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("noop", ["head", 320]),
        ("message-head-junk", [b"no pickle at all", 320]),
        ("message-head-empty", [b"", 320]),
        ("message-rows-missing", ["head"]),
        ("message-rows-cut", ["head", 319]),
        ("message-row-cut", ["head", 288]),
        ("message-row-extra", ["head", 352]),
        ("message-rows-empty", ["head", 0]),
        ("message-frames-swapped", [320, "head"]),
        ("message-frame-extra", ["head", 320, 4]),
        ("message-error", ["head"]),
    ],
)
def test_frames_change_as_the_picture_says(name: str, frames: list[Any]) -> None:
    """Ten rows of eight float32 behind the head."""
    at = () if name == "noop" else (1,)
    message = message_of(faulty(name, at)[1])
    sent = frames_of(message, b"head")
    shown = [f if f in (b"no pickle at all", b"") else len(f) for f in sent]
    expected = [4 if frame == "head" else frame for frame in frames]

    assert [len(f) if f == b"" and 0 in expected else f for f in shown] == expected


def test_a_pickled_function_is_one() -> None:
    """Which nobody should load."""
    (head, _) = frames_of(message_of(faulty("message-head-blocked", (1,))[1]), b"head")

    assert pickle.loads(head) is pickle.Unpickler


def test_a_message_says_what_it_is_told_to_say() -> None:
    """Its dtype, its id and the rows of another."""
    swapped = faulty("message-rows-swapped", (0, 1))

    assert message_of(faulty("message-dtype-alike", (1,))[1])["said_dtype"] == "int32"
    assert message_of(faulty("message-dtype-none", (1,))[1])["said_dtype"] is None
    assert [part_id(p) for p in faulty("message-suffix-swapped", (0, 1))][:2] == [
        "request 0_local_part_1",
        "request 0_local_part_0",
    ]
    assert part_id(faulty("message-suffix-missing", (0,))[0]) == "request 0"
    assert [len(message_of(part)["rows"] or b"") for part in swapped] == [320, 64, 320]


def test_an_item_of_a_request_says_whose_it_is() -> None:
    """By its URL, with options or without."""
    payload, read = honest_encode(2, "audio", hashed=False), ItemReader(2)

    assert read([{"url": payload.records[1]}, payload.foreign[0], None, 7]) == [
        Origin("request 0", 1),
        Origin("request 1", 0),
        None,
        None,
    ]


def encode(name: str, at: tuple[int, ...] = ()) -> Any:
    """Return a request of two items with one fault."""
    return encode_request(FAULTS[name].change(honest_encode(2, "image", True), at, stream(0)))


def test_fields_of_a_request_change_as_the_picture_says() -> None:
    """One at a time."""
    honest = encode("noop")

    assert "req_id" not in encode("encode-id-missing")
    assert "mm_items" not in encode("encode-items-missing")
    assert encode("encode-items-text")["mm_items"] == ",".join(honest["mm_items"])
    assert encode("encode-item-nested", (1,))["mm_items"][1] == [honest["mm_items"][1]]
    assert encode("encode-hashes-turned")["hashes"] == honest["hashes"][::-1]
    assert encode("encode-modality-small")["modality"] == "image"
    assert encode("encode-list")[0]["req_id"] == "request 0"
    assert encode("encode-cut").startswith(b'{"req_id": "request 0"')
    assert not encode("encode-cut").endswith(b"}")
    assert encode("encode-null") is None


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("encoder-url-other", "grpc://encoder-1:30001"),
        ("encoder-url-secure", "https://encoder-1:30001"),
        ("encoder-url-other-large", "GRPC://encoder-1:30001"),
        ("encoder-url-bare", "encoder-1:30001"),
        ("encoder-url-slash", "http://encoder-1:30001/"),
        ("encoder-url-null", None),
    ],
)
def test_a_url_changes_as_the_picture_says(name: str, url: Any) -> None:
    """The second, and no other."""
    changed: Payload = FAULTS[name].change(honest_urls(3, "http"), (1,), stream(0))

    assert told_urls(changed) == ["http://encoder-0:30000", url, "http://encoder-2:30002"]


def test_a_mode_is_told_beside_the_urls() -> None:
    """Which stay as they were."""
    changed = FAULTS["mode-other"].change(honest_urls(2, "grpc"), (), stream(0))

    assert changed.beside == {"mode": "http"}
    assert told_urls(changed)[0] == "grpc://encoder-0:30000"
