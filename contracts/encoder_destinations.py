"""encoder-destinations: each rank registers where its request's embedding shall be sent.

- The request was given to the encoder, and is not released yet.
- All registrations of a request say one number of ranks, which is how many there are.
- A URL is a text with a host and a port, it is the rank's own, and each rank registers in time.
- As many destinations are registered as the count says, before the encoder gives up.

The payload holds `registrations`, each with `req_id`, `count`, `url` and `late` (it comes after
the encoder gave up), in the order in which they come, and `states` (of each request: `active`,
`released`, or it is not there). The request says `req_id`, `ranks` (how many) and `timeout`, the
seconds that the encoder waits. Nobody tells a rank that was not registered in time: it waits.

Upstream says that a request is not active in two places. The second is driven here. The first is
for one that is released in the moment in which it was waited for, between two turns of the loop.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FILE = "srt/disaggregation/encoder/server.py"
_REGISTER = Source("0.5.23", _FILE, "MMEncoder.register_embedding_destinations")
_SEND = Source("0.5.23", _FILE, "MMEncoder.send_with_url")

STARTED = Clause(
    "started",
    "The request was given to the encoder.",
    guards=(
        Guard(
            "MMError",
            "Timed out waiting for encoder request to start: {req_id}",
            Span("0.5.20"),
            _REGISTER,
        ),
    ),
)
ACTIVE = Clause(
    "active",
    "The request is not released yet.",
    guards=(
        Guard(
            "BadRequestError",
            "Encoder request is not active: {req_id}",
            Span("0.5.20"),
            _REGISTER,
            which=1,
        ),
    ),
)
COUNT_SAME = Clause(
    "count-same",
    "All registrations of a request say one number of ranks.",
    guards=(
        Guard(
            "BadRequestError",
            "Inconsistent receive_count for req_id={req_id}: registered {registered}, got {got}",
            Span("0.5.19"),
            _REGISTER,
        ),
    ),
    # A bare `assert`, without a text.
    incidental=("AssertionError",),
)
URL_KEPT = Clause("url-kept", "A URL can be kept in a set.", incidental=("TypeError",))
URL_ADDRESS = Clause(
    "url-address",
    "A URL is a text with a host and a port.",
    incidental=("ValueError",),
    # Before, it was parsed within the sending, whose errors are only logged.
    accidents=Span("0.5.19"),
)
COUNT_NUMBER = Clause("count-number", "The number of ranks is one.", incidental=("TypeError",))
DELIVERED = Clause(
    "delivered",
    "As many destinations are registered as the count says, before the encoder gives up.",
    guards=(
        Guard(
            "MMError",
            "[{req_id}] embedding delivery failed: {failure}",
            Span("0.5.21"),
            _SEND,
        ),
    ),
)
COUNT_ASKED = Clause("count-asked", "The number of ranks is how many there are.")
ID_ASKED = Clause("id-asked", "A rank registers for its own request.")
URL_IDENTITY = Clause("url-identity", "A URL is that of a rank of its request.", identity=True)
RANKS_EACH = Clause("ranks-each", "Each rank registers its own URL in time.")

_CLAUSES = (
    STARTED, ACTIVE, COUNT_SAME, URL_KEPT, URL_ADDRESS, COUNT_NUMBER, DELIVERED, COUNT_ASKED,
    ID_ASKED, URL_IDENTITY, RANKS_EACH,
)  # fmt: skip


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    registrations, states = payload["registrations"], payload["states"]
    told: dict[str, Any] = {}
    for index, one in enumerate(registrations):
        if not one["late"]:
            yield from _walk_one(one, states, told, f"registrations[{index}]")
    in_time = [o for o in registrations if not o["late"] and o["req_id"] == request["req_id"]]
    urls = [one["url"] for one in in_time if not isinstance(one["url"], list)]
    if states.get(request["req_id"]) == "active":
        yield from _walk_sent(urls, told.get(request["req_id"]), request)
    for index, one in enumerate(registrations):
        if one["late"]:
            fields = {"req_id": one["req_id"]}
            where = f"registrations[{index}]"
            yield Violation(STARTED, where, "a request that is there", "one released", fields)
    yield from _walk_asked(registrations, request, owner_of)


def _walk_one(
    one: Mapping[str, Any], states: Mapping[str, str], told: dict[str, Any], where: str
) -> Iterator[Violation]:
    name = one["req_id"]
    fields = {"req_id": name}
    if name not in states:
        yield Violation(STARTED, where, "a request that was given", name, fields)
    elif states[name] != "active":
        yield Violation(ACTIVE, where, "active", states[name], fields)
    registered = told.setdefault(name, one["count"])
    if registered != one["count"]:
        said = {"req_id": name, "registered": registered, "got": one["count"]}
        yield Violation(COUNT_SAME, where, repr(registered), repr(one["count"]), said)
    if isinstance(one["url"], list):
        yield Violation(URL_KEPT, where, "a text", "a list")


def _walk_sent(urls: Sequence[Any], count: Any, request: Mapping[str, Any]) -> Iterator[Violation]:
    for url in urls:
        if not isinstance(url, str) or not all(url.rpartition(":")):
            yield Violation(URL_ADDRESS, "registrations", "a host and a port", repr(url))
    if count is not None and not isinstance(count, int | float):
        yield Violation(COUNT_NUMBER, "registrations", "a number", repr(count))
        return
    known = len(set(urls))
    if count is None or known < count:
        said = (
            f"timed out after {request['timeout']}s with {known}/{count} destination(s) initiated"
        )
        fields = {"req_id": request["req_id"], "failure": said}
        yield Violation(DELIVERED, "registrations", f"{count} destinations", str(known), fields)


def _walk_asked(
    registrations: Sequence[Mapping[str, Any]],
    request: Mapping[str, Any],
    owner_of: OwnerOf | None,
) -> Iterator[Violation | Unchecked]:
    asked, heard = request["req_id"], set()
    for index, one in enumerate(registrations):
        where = f"registrations[{index}]"
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
            elif not one["late"]:
                heard.add(origin.position)
    if owner_of is not None and len(heard) != request["ranks"]:
        yield Violation(RANKS_EACH, "registrations", str(request["ranks"]), str(len(heard)))


CONTRACT = Contract(
    "encoder-destinations",
    "Each rank registers where its request's embedding shall be sent.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
