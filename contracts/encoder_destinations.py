"""encoder-destinations: each rank registers where its request's embedding shall be sent.

- The request was given to the encoder, and is not released yet.
- All registrations of a request say one number of ranks, which is how many there are.
- A URL is a text, it is the rank's own, and each rank registers.

The payload holds `registrations`, each with `req_id`, `count` and `url`, in the order in which
they come, and `states` (of each request: `active`, `released`, or it is not there). The request
says `req_id` and `ranks` (how many).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_SOURCE = Source(
    "0.5.23",
    "srt/disaggregation/encoder/server.py",
    "MMEncoder.register_embedding_destinations",
)


def _guarded(
    name: str, sentence: str, error: str, text: str, since: str = "0.5.20", which: int = 0
) -> Clause:
    guard = Guard(error, text, Span(since), _SOURCE, which=which)
    return Clause(name, sentence, guards=(guard,))


STARTED = _guarded(
    "started",
    "The request was given to the encoder.",
    "MMError",
    "Timed out waiting for encoder request to start: {req_id}",
)
ACTIVE = _guarded(
    "active",
    "The request is not released yet.",
    "BadRequestError",
    "Encoder request is not active: {req_id}",
    # The first is for one that is released in the moment in which it was waited for.
    which=1,
)
COUNT_SAME = _guarded(
    "count-same",
    "All registrations of a request say one number of ranks.",
    "BadRequestError",
    "Inconsistent receive_count for req_id={req_id}: registered {registered}, got {got}",
    "0.5.19",
)
URL_TEXT = Clause("url-text", "A URL is a text.")
COUNT_ASKED = Clause("count-asked", "The number of ranks is how many there are.")
ID_ASKED = Clause("id-asked", "A rank registers for its own request.")
URL_IDENTITY = Clause("url-identity", "A URL is that of a rank of its request.", identity=True)
RANKS_EACH = Clause("ranks-each", "Each rank registers its own URL.")

_CLAUSES = (
    STARTED, ACTIVE, COUNT_SAME, URL_TEXT, COUNT_ASKED, ID_ASKED, URL_IDENTITY, RANKS_EACH,
)  # fmt: skip


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    told: dict[str, Any] = {}
    asked, heard = request["req_id"], set()
    for index, one in enumerate(payload["registrations"]):
        where = f"registrations[{index}]"
        yield from _walk_state(one["req_id"], payload["states"], where)
        registered = told.setdefault(one["req_id"], one["count"])
        if registered != one["count"]:
            fields = {"req_id": one["req_id"], "registered": registered, "got": one["count"]}
            yield Violation(COUNT_SAME, where, repr(registered), repr(one["count"]), fields)
        if not isinstance(one["url"], str):
            accident = ("TypeError",) if isinstance(one["url"], list) else ()
            yield Violation(URL_TEXT, where, "a text", repr(one["url"]), incidental=accident)
        if type(one["count"]) is not int or one["count"] != request["ranks"]:
            yield Violation(COUNT_ASKED, where, str(request["ranks"]), repr(one["count"]))
        if one["req_id"] != asked:
            yield Violation(ID_ASKED, where, asked, one["req_id"])
        elif owner_of is None:
            yield Unchecked(URL_IDENTITY, "whose a URL is can be told only by a reader")
        else:
            (origin,) = owner_of([one["url"]])
            if origin is None or origin.owner != asked:
                said = "nobody's" if origin is None else f"{origin.owner}'s"
                yield Violation(URL_IDENTITY, where, f"{asked}'s", said)
            else:
                heard.add(origin.position)
    if owner_of is not None and len(heard) != request["ranks"]:
        yield Violation(RANKS_EACH, "registrations", str(request["ranks"]), str(len(heard)))


def _walk_state(req_id: str, states: Mapping[str, str], where: str) -> Iterator[Violation]:
    fields = {"req_id": req_id}
    if req_id not in states:
        yield Violation(STARTED, where, "a request that was given", req_id, fields)
    elif states[req_id] != "active":
        yield Violation(ACTIVE, where, "active", states[req_id], fields)


CONTRACT = Contract(
    "encoder-destinations",
    "Each rank registers where its request's embedding shall be sent.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
