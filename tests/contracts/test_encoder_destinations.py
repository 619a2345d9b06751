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
    asked = {"req_id": REQUEST, "ranks": 2, "timeout": 0.5}
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
        (HONEST.records[:1], {"delivered", "ranks-each"}),
        (changed(count=3), {"count-same", "count-asked"}),
        (changed(count=2.0), {"count-asked"}),
        (changed(url=url(REQUEST, 0)), {"delivered", "ranks-each"}),
        (changed(url=url(OTHER, 1)), {"url-identity", "ranks-each"}),
        (changed(url=None), {"url-address", "url-identity", "ranks-each"}),
        (changed(url="10.0.0.2"), {"url-address", "url-identity", "ranks-each"}),
        (changed(url=["u"]), {"url-kept", "delivered", "url-identity", "ranks-each"}),
        (changed(late=True), {"delivered", "started", "ranks-each"}),
        (changed(req_id=OTHER), {"delivered", "id-asked", "ranks-each"}),
        (changed(req_id="nobody"), {"started", "delivered", "id-asked", "ranks-each"}),
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


@pytest.mark.parametrize(
    ("registrations", "said"),
    [
        (HONEST.records[:1], "1/2"),
        ([], "0/None"),
        ([{**record, "count": 3} for record in HONEST.records], "2/3"),
    ],
)
def test_a_rank_that_does_not_register_is_told_of_from_0_5_21_on(
    registrations: Any, said: str
) -> None:
    """Before, the encoder gives up, and nobody hears of it."""
    violation = ending(check(registrations), "0.5.21")

    assert violation is not None
    guard = violation.clause.guard("0.5.21")
    assert guard is not None
    assert violation.refusal(guard) == (
        "[request 0] embedding delivery failed: "
        f"timed out after 0.5s with {said} destination(s) initiated"
    )
    assert ending(check(registrations), "0.5.20") is None


def test_one_that_registers_too_late_is_told_of_in_0_5_20_already() -> None:
    """Its request is gone; before, it is written down for nobody."""
    violation = ending(check(changed(late=True)), "0.5.20")

    assert violation is not None
    assert violation.clause.name == "started"
    assert ending(check(changed(late=True)), "0.5.19") is None


@pytest.mark.parametrize(
    ("told", "release", "error"),
    [
        (None, "0.5.23", "ValueError"),
        ("10.0.0.2", "0.5.19", "ValueError"),
        (["u"], "0.5.23", "TypeError"),
        (["u"], "0.5.16", "TypeError"),
    ],
)
def test_a_url_that_is_none_ends_in_an_accident(told: Any, release: str, error: str) -> None:
    """A list when it is kept, all else when it is parsed."""
    violation = ending(check(changed(url=told)), release)

    assert violation is not None
    assert violation.accident(release) == (error,)


def test_before_0_5_19_a_url_is_parsed_where_errors_are_only_logged() -> None:
    """And another count ended in a bare assert."""
    assert ending(check(changed(url=None)), "0.5.18") is None
    violation = ending(check(changed(count=3)), "0.5.18")
    assert violation is not None
    assert violation.accident("0.5.18") == ("AssertionError",)


def test_a_count_that_is_no_number_ends_the_sending() -> None:
    """Where all say it."""
    texts = [{**record, "count": "2"} for record in HONEST.records]
    violation = ending(check(texts), "0.5.23")

    assert violation is not None
    assert violation.clause.name == "count-number"


def test_a_count_that_all_say_is_believed() -> None:
    """One rank too few, and one has nothing sent to it."""
    fewer = [{**record, "count": 1} for record in HONEST.records]
    found = check(fewer)

    assert {violation.clause.name for violation in found} == {"count-asked"}
    assert ending(found, "0.5.23") is None
