"""Faults of a rank's registration at the encoder: its request, its count, its URL."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, whole
from simulators.payload import DESTINATIONS, Payload

_Record = Mapping[str, Any]
_OTHER = "request 1"


def registration_says(field: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that changes a field of one registration."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        return payload.with_record(at[0], {**record, field: edit(record[field])})

    return change


def counts_become(by: int) -> Change:
    """Return the fault that adds to the number of ranks that each registration says."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = [r["count"] + by if type(r["count"]) is int else r["count"] for r in payload.records]
        records = zip(payload.records, told, strict=True)
        return payload.with_records([{**record, "count": count} for record, count in records])

    return change


def url_foreign(payload: Payload, at: Place, rng: Random) -> Payload:
    """a at u -> a at x, where a rank of another request listens"""
    record = payload.records[at[0]]
    other = payload.foreign[at[0] % len(payload.foreign)]["url"]
    return payload.with_record(at[0], {**record, "url": other})


def url_shared(payload: Payload, at: Place, rng: Random) -> Payload:
    """a at u, b at v -> a at v, b at v"""
    record = payload.records[at[0]]
    return payload.with_record(at[0], {**record, "url": payload.records[at[1]]["url"]})


def registration_comes_late(payload: Payload, at: Place, rng: Random) -> Payload:
    """a registered, sent -> sent, a registered"""
    return payload.with_record(at[0], {**payload.records[at[0]], "late": True})


def state_becomes(state: str | None) -> Change:
    """Return the fault that leaves the request in another state; None: it was never given."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        states = {name: held for name, held in payload.beside["states"].items() if name == _OTHER}
        told = states if state is None else {"request 0": state, **states}
        return replace(payload, beside={**payload.beside, "states": told})

    return change


def _one(name: str, field: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = registration_says(field, edit)
    return Fault(name, "substitution", change, (DESTINATIONS,), each, picture, scope="items")


def _count(name: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    def edited(count: Any) -> Any:
        return edit(count) if type(count) is int else count

    return _one(name, "count", edited, picture)


#: The rows of these faults in the table.
FAULTS = (
    _count("destination-count-more", lambda n: n + 1, "a of 2 -> a of 3"),
    _count("destination-count-less", lambda n: n - 1, "a of 2 -> a of 1"),
    _count("destination-count-negative", lambda n: -n, "a of 2 -> a of -2"),
    _count("destination-count-null", lambda n: None, "a of 2 -> a of null"),
    _count("destination-count-text", str, 'a of 2 -> a of "2"'),
    _count("destination-count-float", float, "a of 2 -> a of 2.0"),
    Fault("destination-counts-more", "skew", counts_become(1), (DESTINATIONS,), whole,
          "each of 2 -> each of 3", scope="body"),
    Fault("destination-counts-less", "skew", counts_become(-1), (DESTINATIONS,), whole,
          "each of 2 -> each of 1", scope="body"),
    Fault("destination-url-foreign", "substitution", url_foreign, (DESTINATIONS,), each,
          "a at u -> a at x, of another request", scope="items"),
    Fault("destination-url-shared", "duplication", url_shared, (DESTINATIONS,), ordered_pairs,
          "a at u, b at v -> a at v, b at v", scope="items"),
    _one("destination-url-null", "url", lambda u: None, "a at u -> a at null"),
    _one("destination-url-empty", "url", lambda u: "", "a at u -> a at nothing"),
    _one("destination-url-bare", "url", lambda u: str(u).partition(":")[0], "u:30000 -> u"),
    _one("destination-url-list", "url", lambda u: [u], "a at u -> a at [u]"),
    Fault("destination-late", "delay", registration_comes_late, (DESTINATIONS,), each,
          "a registered, sent -> sent, a registered", scope="items"),
    _one("destination-id-foreign", "req_id", lambda i: _OTHER, "a of request 0 -> a of request 1"),
    _one("destination-id-unknown", "req_id", lambda i: "nobody", "a of request 0 -> a of nobody"),
    Fault("destination-before-encode", "delay", state_becomes(None), (DESTINATIONS,), whole,
          "given, registered -> registered", scope="body"),
    Fault("destination-after-release", "staleness", state_becomes("released"), (DESTINATIONS,),
          whole, "registered -> released, registered", scope="body"),
)  # fmt: skip
