"""encoder-http: a request to encode comes in over HTTP, through the encoder's real app.

- The body is JSON, and a request is an object: the framework answers all else with a 422.
- All that `contracts.clauses.encode_request` says of a request.

The payload is the request as its body says it, or the body's bytes where they are no JSON. What
was asked for is described there. Refusals are returned: a status that is not 200, and its body.
What is let through is read where the app hands it on; up to 0.5.18 that is the scheduler of
batches, from 0.5.19 on the pipeline, which may look at it again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.encode_request import Head, guarded, walk_request
from contracts.contract import RETURNED, Clause, Contract, OwnerOf, Unchecked, Violation
from contracts.releases import Span

#: The route itself reads the modality.
_ROUTE = Span(until="0.5.19")
_ANSWERED = (RETURNED,)

BODY_JSON = Clause("body-json", "The body is JSON.", incidental=_ANSWERED)
HEAD = Head(
    request_object=Clause("request-object", "A request is an object.", incidental=_ANSWERED),
    id_text=guarded(
        "id-text", "It has an id, a text.", "missing or invalid req_id", incidental=_ANSWERED
    ),
    modality_text=guarded(
        "modality-text",
        "It has a modality, a text.",
        "missing or invalid modality",
        incidental=_ANSWERED,
        accidents=_ROUTE,
    ),
    modality_known=guarded(
        "modality-known",
        "The modality is one of three.",
        "unsupported modality: {got}",
        incidental=_ANSWERED,
        accidents=_ROUTE,
    ),
)


def _walk(
    payload: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if isinstance(payload, bytes):
        yield Violation(BODY_JSON, "$", "JSON", "something else")
        yield from (Unchecked(clause, "there is no request") for clause in HEAD.all)
        return
    yield from walk_request(payload, request, owner_of, HEAD)


CONTRACT = Contract(
    "encoder-http",
    "A request to encode comes in over HTTP, through the encoder's real app.",
    (BODY_JSON, *HEAD.all),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
