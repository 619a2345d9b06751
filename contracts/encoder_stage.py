"""encoder-stage: the media of several requests are encoded at once, and cut for each request.

- There is one grid for each item, and the encoder returns one tensor.
- The encoder makes as many rows as the counts say together; counts are whole numbers.
- The rows of each request have the number, width and dtype that were announced for it.
- Each item has as many tokens as its picture makes, and its own rows in their order: else one
  request is answered with another's media.

The payload holds `rows` and `counts`; the request `counts`, `items`, `names`, `width` and `dtype`:
see `contracts.clauses.encoded_batch`. Refusals are returned, to each request of the batch.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.encoded_batch import BATCH_ITEM_COUNT, clauses_of, walk_batch
from contracts.contract import Contract, OwnerOf, Unchecked, Violation


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    return walk_batch(payload, request, owner_of, BATCH_ITEM_COUNT)


CONTRACT = Contract(
    "encoder-stage",
    "The media of several requests are encoded at once, and the rows cut for each request.",
    clauses_of(BATCH_ITEM_COUNT),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
