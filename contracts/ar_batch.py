"""ar-batch: an external AR server answers a batch of prompts with one list.

- The reply is a JSON list with one item for each prompt, in the order of the prompts.
- Each item holds what `contracts.clauses.ar_item` says of one item.

The payload is the parsed JSON body of the reply; the request is the JSON body that was sent.
Usable alone, by a consumer that wants to check a reply before it trusts it:

    from contracts import ar_batch

    for violation in ar_batch.check(reply, request):
        print(violation)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import ITEM_CLAUSES, STAGE_FILE, asked_items, walk_item
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

REPLY_COUNT = Clause(
    "reply-count",
    "The reply is a JSON list with one item for each prompt.",
    guards=(
        Guard(
            "RuntimeError",
            "GLM-Image AR batch returned an unexpected response: "
            "expected {expected} outputs, got {got}.",
            Span("0.5.18"),
            Source("0.5.23", STAGE_FILE, "GlmImageAR.generate_prior_tokens_batch"),
        ),
    ),
)


def _walk(
    reply: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    asked = asked_items(request)
    items = reply if isinstance(reply, list) else []
    if not isinstance(reply, list) or len(reply) != len(asked):
        got = len(reply) if isinstance(reply, list) else type(reply).__name__
        fields = {"expected": len(asked), "got": got}
        yield Violation(REPLY_COUNT, "$", f"{len(asked)} items", str(got), fields)
    if not items:
        yield from (Unchecked(clause, "there is no item") for clause in ITEM_CLAUSES)
    for item, what in zip(items, asked, strict=False):
        yield from walk_item(item, what, f"$[{what.index}]", owner_of)


CONTRACT = Contract(
    "ar-batch",
    "An external AR server answers a batch of prompts with one list of token ids.",
    (REPLY_COUNT, *ITEM_CLAUSES),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
