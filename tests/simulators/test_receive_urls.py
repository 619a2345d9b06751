"""Honest registrations of ranks, and how a fault changes them."""

from contracts import encoder_destinations
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.receive_urls import OTHER, REQUEST, UrlReader, honest_registrations, url
from simulators.rng import stream


def registered(name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return the registrations of two ranks with one fault."""
    return FAULTS[name].change(honest_registrations(2), at, stream(0))


def test_honest_registrations_satisfy_their_contract() -> None:
    """For any number of ranks."""
    for ranks in (1, 2, 8):
        payload = honest_registrations(ranks)
        told = {"registrations": list(payload.records), **payload.beside}
        asked = {"req_id": REQUEST, "ranks": ranks, "timeout": 1.0}
        assert list(encoder_destinations.check(told, asked, UrlReader(ranks))) == []


def test_registrations_change_as_the_picture_says() -> None:
    """One at a time, or the state of the request alone."""
    ours = [url(REQUEST, rank) for rank in range(2)]

    assert [r["count"] for r in registered("destination-count-more", (1,)).records] == [2, 3]
    assert [r["count"] for r in registered("destination-counts-less").records] == [1, 1]
    assert [r["url"] for r in registered("destination-url-foreign", (0,)).records] == [
        url(OTHER, 0),
        ours[1],
    ]
    assert [r["url"] for r in registered("destination-url-shared", (0, 1)).records] == [
        ours[1],
        ours[1],
    ]
    assert registered("destination-url-bare", (0,)).records[0]["url"] == "10.0.0.1"
    assert [r["late"] for r in registered("destination-late", (1,)).records] == [False, True]
    assert registered("destination-before-encode").beside["states"] == {OTHER: "active"}
    assert registered("destination-after-release").beside["states"][REQUEST] == "released"


def test_a_url_says_whose_it_is() -> None:
    """Its request's and its rank's."""
    read = UrlReader(2)

    assert read([url(OTHER, 1), "10.0.0.9:1", None]) == [Origin(OTHER, 1), None, None]
