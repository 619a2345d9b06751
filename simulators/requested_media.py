"""Honest media of a request, as the tokenizer hands them to a receiver: images, each with a URL.

A record is one item: a mapping with `url` and `modality` (a name; `as_text`: told as that text and
not as upstream's enum), and perhaps options; or a plain URL, as older tokenizers told it.

Source: sglang 0.5.23, srt/disaggregation/encoder/receiver.py, MMReceiverBase._extract_url_data
"""

from typing import Any

from simulators.encode_request import OTHER, REQUEST, urls
from simulators.payload import ASKED_MEDIA, Payload


def honest_asked_media(count: int) -> Payload:
    """Return so many images of a request, and beside them as many of another's."""
    return Payload(ASKED_MEDIA, _images(REQUEST, count), _images(OTHER, count))


def _images(request: str, count: int) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"url": url, "modality": "IMAGE", "as_text": False} for url in urls(request, count)
    )
