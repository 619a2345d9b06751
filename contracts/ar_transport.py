"""ar-transport: the HTTP exchange that carries an AR server's reply.

- The exchange is what `contracts.clauses.http_reply` says.
- What it carries is what `contracts.clauses.ar_item` says of one item.

The payload is a `contracts.clauses.http_reply.Heard`; the request is an `Asked`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.clauses.ar_item import ITEM_CLAUSES, walk_single
from contracts.clauses.http_reply import NO_JSON, WIRE_CLAUSES, Heard, parsed, walk_wire
from contracts.contract import Contract, OwnerOf, Unchecked, Violation


@dataclass(frozen=True)
class Asked:
    """What was asked, and how long the client waits for each part."""

    timeout_s: float
    #: The JSON body of the request.
    body: Mapping[str, Any]


def _walk(heard: Heard, asked: Asked, owner_of: OwnerOf | None) -> Iterator[Violation | Unchecked]:
    yield from walk_wire(heard, asked.timeout_s)
    item = parsed(heard)
    if item is NO_JSON:
        yield from (Unchecked(clause, "the body is no JSON") for clause in ITEM_CLAUSES)
    else:
        yield from walk_single(item, asked.body, owner_of)


CONTRACT = Contract(
    "ar-transport",
    "The HTTP exchange that carries an AR server's reply.",
    (*WIRE_CLAUSES, *ITEM_CLAUSES),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
