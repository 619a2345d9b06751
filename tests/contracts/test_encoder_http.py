"""The contract of encoder-http, alone: requests written by hand, as a body says them."""

from typing import Any

import pytest

from contracts import encoder_http, ending
from contracts.contract import RETURNED, Violation
from simulators.encode_request import ItemReader, encode_request, hashes, honest_encode

HONEST = encode_request(honest_encode(2, "image", hashed=True))
ASKED = {
    "req_id": "request 0",
    "modality": "IMAGE",
    "items": 2,
    "num_parts": 3,
    "part_idx": 1,
    "hashes": hashes(2),
}
#: What the route itself looks at, in no release as a guard before 0.5.20.
ROUTE = ("0.5.16", "0.5.18")


def check(request: Any) -> list[Violation]:
    """Return the violations of a request."""
    return list(encoder_http.check(request, ASKED, ItemReader(2)))


def accident(request: Any, release: str) -> tuple[str, ...]:
    """Return how a release ends by accident on a request; nothing if it lets it through."""
    violation = ending(check(request), release)
    return () if violation is None else violation.accident(release)


def without(field: str) -> dict[str, Any]:
    """Return the honest request without a field."""
    return {key: value for key, value in HONEST.items() if key != field}


def test_an_honest_request_breaks_nothing() -> None:
    """As it breaks nothing where it is looked at."""
    assert check(HONEST) == []


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.23"])
@pytest.mark.parametrize(
    ("body", "clause"),
    [(b"{", "body-json"), ([HONEST], "request-object"), (None, "request-object")],
)
def test_the_framework_answers_what_is_no_object(release: str, body: Any, clause: str) -> None:
    """In every release, and before upstream sees it: no guard of upstream's runs."""
    (violation,) = check(body)

    assert violation.clause.name == clause
    assert violation.clause.guard(release) is None
    assert violation.accident(release) == (RETURNED,)


@pytest.mark.parametrize(
    ("request_sent", "text"),
    [
        (without("req_id"), "missing or invalid req_id"),
        ({**HONEST, "modality": 1}, "missing or invalid modality"),
        ({**HONEST, "modality": "smell"}, "unsupported modality: smell"),
        ({**HONEST, "mm_items": []}, "missing or empty mm_items"),
        ({**HONEST, "part_idx": 3}, "part_idx must be in [0, 3)"),
    ],
)
def test_a_refusal_is_the_body_of_a_400_from_0_5_20_on(request_sent: Any, text: str) -> None:
    """With the text of the look at a request."""
    violation = ending(check(request_sent), "0.5.20")

    assert violation is not None
    guard = violation.clause.guard("0.5.20")
    assert guard is not None
    assert (guard.error, violation.refusal(guard)) == (RETURNED, text)


@pytest.mark.parametrize("release", ROUTE)
def test_up_to_0_5_18_the_route_stumbles_over_the_id_and_the_modality(release: str) -> None:
    """A 500; over an id that is there it does not."""
    assert accident(without("req_id"), release) == (RETURNED,)
    assert accident({**HONEST, "modality": None}, release) == (RETURNED,)
    assert accident({**HONEST, "modality": "smell"}, release) == (RETURNED,)
    assert accident({**HONEST, "req_id": None}, release) == ()
    assert accident({**HONEST, "mm_items": []}, release) == ()


def test_in_0_5_19_it_stumbles_over_a_missing_id_only() -> None:
    """All else goes on to the pipeline."""
    assert accident(without("req_id"), "0.5.19") == (RETURNED,)
    assert accident({**HONEST, "modality": None}, "0.5.19") == ()
    assert accident({**HONEST, "part_idx": -1}, "0.5.19") == ()
