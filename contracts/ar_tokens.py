"""ar-tokens: the ids of one reply item become the prior tokens of one picture.

What holds of the ids, of their number, kind and place, is in `contracts.clauses.ar_item`. This
seam is the item itself, in a reply that is otherwise right: `ar-single` is about the reply.

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
    "ar-tokens",
    "The ids of one reply item become the prior tokens of one picture.",
    ITEM_CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
