"""Honest requests to encode one part's items, each with a URL that says whose it is.

The records are the items. Beside them stand the other fields of the request, by their names; a
field that a fault takes away is not there, and an `mm_items` there is sent instead of the records.

Source of the fields: sglang 0.5.23, srt/disaggregation/encoder/receiver.py,
MMReceiverHTTP.encode
"""

from typing import Any

from contracts.contract import Origin
from simulators.payload import ENCODE, RECORDS, Payload

REQUEST, OTHER = "request 0", "request 1"
#: The part asked for, and how many there are.
PART, PARTS = 1, 3
_HASH = 0x5EED


def honest_encode(count: int, modality: str, hashed: bool) -> Payload:
    """Return a request for so many items.

    Args:
        count: How many items.
        modality: `image`, `video` or `audio`.
        hashed: Whether the tokenizer has sent the items' hashes.
    """
    fields: dict[str, Any] = {
        "req_id": REQUEST,
        "modality": modality.upper(),
        "num_parts": PARTS,
        "part_idx": PART,
        "prefill_host": "127.0.0.1",
        "embedding_port": 30_001,
    }
    if hashed:
        fields["hashes"] = hashes(count)
    return Payload(ENCODE, urls(REQUEST, count), urls(OTHER, count), fields)


def urls(request: str, count: int) -> tuple[str, ...]:
    """Return the URL of each item of a request."""
    return tuple(f"http://media/{request.replace(' ', '-')}/item-{k}" for k in range(count))


def hashes(count: int) -> list[str]:
    """Return the hash of each item."""
    return [f"{_HASH + k:064x}" for k in range(count)]


def encode_request(payload: Payload) -> Any:
    """Return the request as it is sent."""
    if payload.body is not RECORDS:
        return payload.body
    return {"mm_items": list(payload.records), **payload.beside}


class ItemReader:
    """Reads whose each item of a request is, from its URL."""

    def __init__(self, count: int) -> None:
        """Take how many items a request has."""
        self._known = {
            url: Origin(request, place)
            for request in (REQUEST, OTHER)
            for place, url in enumerate(urls(request, count))
        }

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each item; None for one that is nobody's."""
        return [self._origin(item) for item in tokens]

    def _origin(self, item: Any) -> Origin | None:
        url = item.get("url") if isinstance(item, dict) else item
        return self._known.get(url) if isinstance(url, str) else None
