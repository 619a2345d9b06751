"""Honest media of a request, and how a fault tells them."""

from enum import Enum
from typing import Any

from contracts import encoder_modality
from simulators.encode_request import REQUEST, ItemReader, urls
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.requested_media import honest_asked_media
from simulators.rng import stream


class Modality(Enum):
    """A modality, as upstream has it."""

    IMAGE = 1


def faulty(name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return the media of a request for two images with one fault."""
    return FAULTS[name].change(honest_asked_media(2), at, stream(0))


def test_honest_media_satisfy_their_contract() -> None:
    """Whatever their number."""
    for count in (1, 2, 8):
        told: list[Any] = [
            {"url": record["url"], "modality": Modality[record["modality"]]}
            for record in honest_asked_media(count).records
        ]
        asked = {"req_id": REQUEST, "items": count}
        assert list(encoder_modality.check(told, asked, ItemReader(count))) == []


def test_media_change_as_the_picture_says() -> None:
    """One item at a time, or all of them."""
    first, second = urls(REQUEST, 2)

    assert [r["modality"] for r in faulty("modality-video", (1,)).records] == ["IMAGE", "VIDEO"]
    assert faulty("modality-plain", (0,)).records[0] == first
    assert faulty("modality-all-plain").records == (first, second)
    assert faulty("modality-url-null", (1,)).records[1]["url"] is None
    assert "url" not in faulty("modality-url-missing", (0,)).records[0]
    assert faulty("modality-text", (0,)).records[0]["as_text"] is True
    assert faulty("modality-none-told").records == ()


def test_a_plain_url_has_nothing_more_to_change() -> None:
    """A fault that follows leaves it alone."""
    plain = faulty("modality-plain", (0,))

    assert FAULTS["modality-video"].change(plain, (0,), stream(0)) == plain
