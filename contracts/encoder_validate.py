"""encoder-validate: one request's media are encoded, and the rows compared with the counts.

- There is one grid for each item, and the encoder returns one tensor.
- The encoder makes as many rows as the counts say together; counts are whole numbers.
- The rows have the number, width and dtype that were announced to the language side.
- Each item has as many tokens as its picture makes, and its own rows in their order.

The payload holds `rows` and `counts`; the request `counts`, `items`, `names`, `width` and `dtype`:
see `contracts.clauses.encoded_batch`. Refusals are returned: the answer's error field says them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.encoded_batch import ITEM_COUNT, clauses_of, walk_batch
from contracts.contract import Contract, OwnerOf, Unchecked, Violation


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    return walk_batch(payload, request, owner_of, ITEM_COUNT)


CONTRACT = Contract(
    "encoder-validate",
    "One request's media are encoded, and the rows compared with the counts told of them.",
    clauses_of(ITEM_COUNT),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
