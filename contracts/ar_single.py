"""ar-single: an external AR server answers one prompt with one object.

- The reply is a JSON object.
- It holds what `contracts.clauses.ar_item` says of one item.

The payload is the parsed JSON body of the reply; the request is the JSON body that was sent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import ITEM_CLAUSES, asked_item, walk_item
from contracts.contract import Contract, OwnerOf, Unchecked, Violation


def _walk(
    reply: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    yield from walk_item(reply, asked_item(request), "$", owner_of, usage_first=True)


CONTRACT = Contract(
    "ar-single",
    "An external AR server answers one prompt with one object of token ids.",
    ITEM_CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
