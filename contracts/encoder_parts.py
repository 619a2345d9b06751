"""encoder-parts: the parts of an encoder's embedding become one embedding for each modality.

The clauses are those of `contracts.clauses.embedding_part`. The payload is the list of parts in
the order in which they arrive; the request is described there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.clauses.embedding_part import (
    BODY_CLAUSES,
    NONE_FOLLOWS,
    PARTS_COMPLETE,
    Found,
    Gathering,
    part_clauses,
    walk_bodies,
    walk_head,
)
from contracts.contract import Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

RECEIVER_FILE = "srt/disaggregation/encoder/receiver.py"
#: Whoever receives parts drops these before they are checked.
_DROPPED = ("expected EmbeddingData", "embedding req_id mismatch")


def _checked(text: str, symbol: str) -> tuple[Guard, ...]:
    source = Source("0.5.23", RECEIVER_FILE, symbol)
    direct = text.startswith(_DROPPED)
    return (Guard("ValueError", text, Span("0.5.20"), source, direct=direct),)


def _known(text: str, symbol: str) -> tuple[Guard, ...]:
    moved = Source("0.5.23", RECEIVER_FILE, symbol)
    before = Source("0.5.18", "srt/disaggregation/encode_receiver.py", symbol)
    return (
        Guard("ValueError", text, Span("0.5.19"), moved),
        Guard("ValueError", text, Span(until="0.5.19"), before),
    )


HEAD = part_clauses(_checked, _known)
_CLAUSES = HEAD.all


def _walk(
    payload: Sequence[Mapping[str, Any]], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Found:
    so_far = Gathering()
    for arrival, part in enumerate(payload):
        if so_far.complete:
            yield Violation(NONE_FOLLOWS, f"parts[{arrival}]", "nothing", "another part")
            continue
        yield from walk_head(part, so_far, request["request"], f"parts[{arrival}]", HEAD)
    if not so_far.complete:
        said = f"{len(so_far.taken)} of {so_far.count}"
        yield Violation(PARTS_COMPLETE, "parts", "every part", said)
        yield from (Unchecked(clause, "a part is missing") for clause in BODY_CLAUSES)
        return
    yield from walk_bodies(so_far.taken, request, owner_of)


CONTRACT = Contract(
    "encoder-parts",
    "The parts of an encoder's embedding become one embedding for each modality.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
