"""The contract of encoder-transport-mode, alone: modes and URLs written by hand."""

from typing import Any

import pytest

from contracts import encoder_transport_mode, ending
from contracts.contract import Violation

HOSTS = ["a:1", "b:2"]


def check(mode: Any, urls: Any) -> list[Violation]:
    """Return the violations of a mode and URLs."""
    payload = {"mode": mode, "urls": urls}
    return list(encoder_transport_mode.check(payload, {"hosts": HOSTS}))


@pytest.mark.parametrize(
    ("mode", "first"),
    [
        ("http", "http://a:1"),
        ("http", "https://a:1"),
        ("http", "HTTP://a:1"),
        ("grpc", "grpc://a:1"),
        ("grpc", "a:1"),
    ],
)
def test_what_reaches_its_encoder_breaks_nothing(mode: str, first: str) -> None:
    """By grpc a bare host will do."""
    assert check(mode, [first, f"{mode}://b:2"]) == []


@pytest.mark.parametrize(
    ("mode", "first"),
    [
        ("http", "a:1"),
        ("http", " http://a:1"),
        ("http", "http://a:1/"),
        ("http", "GRPC://a:1"),
        ("http", "http://b:2"),
        ("grpc", "grpcs://a:1"),
        ("grpc", "https://a:1"),
        ("grpc", "grpc://a:1/"),
        ("grpc", "GRPC://a:1"),
    ],
)
def test_what_leads_elsewhere_is_seen_and_not_refused(mode: str, first: str) -> None:
    """The check looks for the other mode's scheme in small letters, and for nothing else."""
    found = check(mode, [first, f"{mode}://b:2"])

    assert [violation.clause.name for violation in found] == ["url-reaches"]
    assert ending(found, "0.5.23") is None


@pytest.mark.parametrize(
    ("mode", "urls", "text"),
    [
        (
            "grpc",
            ["grpc://a:1", "http://b:2"],
            "EPD MMReceiver: grpc mode requires grpc:// encoder URLs. "
            "Set SGLANG_ENCODER_MM_RECEIVER_MODE=http for http:// URLs.",
        ),
        (
            "http",
            ["grpc://a:1", "http://b:2"],
            "EPD MMReceiver: http mode requires http:// encoder URLs. "
            "Set SGLANG_ENCODER_MM_RECEIVER_MODE=grpc for grpc:// URLs.",
        ),
        ("rdma", ["http://a:1", "http://b:2"], "Unsupported transport_mode: rdma"),
        ("", ["http://a:1", "http://b:2"], "Unsupported transport_mode: "),
    ],
)
@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.23"])
def test_a_refusal_says_what_to_set(mode: str, urls: list[str], text: str, release: str) -> None:
    """In every release."""
    violation = ending(check(mode, urls), release)

    assert violation is not None
    guard = violation.clause.guard(release)
    assert guard is not None
    assert violation.refusal(guard) == text


def test_a_url_that_is_no_text_ends_the_call_where_it_is_met() -> None:
    """Behind a URL that is refused it is not."""
    first, second = check("http", [None, "grpc://b:2"]), check("http", ["grpc://a:1", None])

    assert ending(first, "0.5.23") is first[0]
    assert first[0].accident("0.5.23") == ("AttributeError",)
    assert ending(second, "0.5.23") is second[0]
    assert second[0].clause.name == "http-scheme"


def test_one_text_for_a_list_is_let_through() -> None:
    """Each of its letters is a URL then."""
    found = check("http", "http://a:1")

    assert [violation.clause.name for violation in found] == ["urls-list"]
    assert ending(found, "0.5.23") is None
