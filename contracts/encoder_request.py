"""encoder-request: a request to encode, as it is looked at before it is given to the encoder.

- A request is a JSON object with an id, a modality, items, the number of parts and which it is.
- Hashes, where it has any, are a list with one for each item, or stand alone.
- Everything is what was asked for, and item k is the request's item k.

The payload is the request. What was asked for says `req_id`, `modality`, `items` (how many),
`num_parts`, `part_idx` and `hashes` (those of the items). Refusals are returned: as a text, which
becomes the body of a 400. What is let through may still be refused by a later step: a number of
hashes that is not that of the grids is, by encoder-hashes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.encode_request import Head, guarded, walk_request
from contracts.contract import Contract, OwnerOf, Unchecked, Violation

HEAD = Head(
    request_object=guarded(
        # The server's framework answers what is no object with a 422 of its own.
        "request-object",
        "A request is an object.",
        "request is not a dict: {got}",
        direct=True,
    ),
    id_text=guarded("id-text", "It has an id, a text.", "missing or invalid req_id"),
    modality_text=guarded(
        "modality-text", "It has a modality, a text.", "missing or invalid modality"
    ),
    modality_known=guarded(
        "modality-known", "The modality is one of three.", "unsupported modality: {got}"
    ),
)


def _walk(
    payload: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    return walk_request(payload, request, owner_of, HEAD)


CONTRACT = Contract(
    "encoder-request",
    "A request to encode is looked at before it is given to the encoder.",
    HEAD.all,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
