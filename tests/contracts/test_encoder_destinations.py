"""The contract of encoder-destinations, alone: registrations written by hand."""

from typing import Any

import pytest

from contracts import encoder_destinations, ending
from contracts.contract import Violation
from simulators.receive_urls import OTHER, REQUEST, UrlReader, honest_registrations, url

HONEST = honest_registrations(2)


def check(registrations: Any, state: str | None = "active") -> list[Violation]:
    """Return the violations of the registrations of two ranks."""
    states = {OTHER: "active"} if state is None else {REQUEST: state, OTHER: "active"}
    payload = {"registrations": list(registrations), "states": states}
    asked = {"req_id": REQUEST, "ranks": 2}
    return list(encoder_destinations.check(payload, asked, UrlReader(2)))


def changed(**fields: Any) -> list[dict[str, Any]]:
    """Return both registrations, the second one with other fields."""
    return [HONEST.records[0], {**HONEST.records[1], **fields}]


def test_honest_registrations_break_nothing() -> None:
    """In any order, and twice."""
    assert check(HONEST.records) == []
    assert check(reversed(HONEST.records)) == []
    assert check(HONEST.records * 2) == []


@pytest.mark.parametrize(
    ("registrations", "clauses"),
    [
        (HONEST.records[:1], {"ranks-each"}),
        (changed(count=3), {"count-same", "count-asked"}),
        (changed(count=2.0), {"count-asked"}),
        (changed(url=url(REQUEST, 0)), {"ranks-each"}),
        (changed(url=url(OTHER, 1)), {"url-identity", "ranks-each"}),
        (changed(url=None), {"url-text", "url-identity", "ranks-each"}),
        (changed(req_id=OTHER), {"id-asked", "ranks-each"}),
        (changed(req_id="nobody"), {"started", "id-asked", "ranks-each"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(registrations: Any, clauses: set[str]) -> None:
    """Nothing is said to be broken that does not follow from it."""
    assert {violation.clause.name for violation in check(registrations)} == clauses


@pytest.mark.parametrize(
    ("registrations", "state", "since", "text"),
    [
        (
            changed(count=3),
            "active",
            "0.5.19",
            "Inconsistent receive_count for req_id=request 0: registered 2, got 3",
        ),
        (
            HONEST.records,
            None,
            "0.5.20",
            "Timed out waiting for encoder request to start: request 0",
        ),
        (HONEST.records, "released", "0.5.20", "Encoder request is not active: request 0"),
    ],
)
def test_a_refusal_names_the_request(
    registrations: Any, state: str | None, since: str, text: str
) -> None:
    """From its release on."""
    violation = ending(check(registrations, state), since)

    assert violation is not None
    guard = violation.clause.guard(since)
    assert guard is not None
    assert violation.refusal(guard) == text


def test_only_a_list_cannot_be_written_down() -> None:
    """All else is a URL, until it is called."""
    assert ending(check(changed(url=None)), "0.5.23") is None
    assert ending(check(changed(url=["u"])), "0.5.23") is not None


def test_a_count_that_all_say_is_believed() -> None:
    """One rank too few, and one has nothing sent to it."""
    fewer = [{**record, "count": 1} for record in HONEST.records]
    found = check(fewer)

    assert {violation.clause.name for violation in found} == {"count-asked"}
    assert ending(found, "0.5.23") is None
