"""Honest registrations of ranks: each says its request, how many ranks there are, and its URL.

A record is one registration: `req_id`, `count`, `url`, and whether it comes `late`, after the
encoder has given up. Beside them stand the `states` in which the encoder has the requests.
"""

from typing import Any

from contracts.contract import Origin
from simulators.payload import DESTINATIONS, Payload

REQUEST, OTHER = "request 0", "request 1"
_PORTS = {REQUEST: 30_000, OTHER: 40_000}


def url(request: str, rank: int) -> str:
    """Return where a rank of a request listens."""
    return f"10.0.0.{rank + 1}:{_PORTS[request] + rank}"


def honest_registrations(ranks: int) -> Payload:
    """Return the registrations of so many ranks, and those of another request's."""
    return Payload(
        DESTINATIONS,
        tuple(_registration(REQUEST, rank, ranks) for rank in range(ranks)),
        tuple(_registration(OTHER, rank, ranks) for rank in range(ranks)),
        {"states": {REQUEST: "active", OTHER: "active"}},
    )


def _registration(request: str, rank: int, ranks: int) -> dict[str, Any]:
    return {"req_id": request, "count": ranks, "url": url(request, rank), "late": False}


class UrlReader:
    """Reads whose each URL is."""

    def __init__(self, ranks: int) -> None:
        """Take how many ranks a request has."""
        self._known = {
            url(request, rank): Origin(request, rank)
            for request in (REQUEST, OTHER)
            for rank in range(ranks)
        }

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each URL; None for one that is nobody's."""
        return [self._known.get(token) if isinstance(token, str) else None for token in tokens]
