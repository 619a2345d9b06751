"""The contract of encoder-modality, alone: media written by hand."""

from enum import Enum
from typing import Any

import pytest

from contracts import encoder_modality, ending
from contracts.contract import Answer, Violation
from simulators.encode_request import OTHER, REQUEST, ItemReader, urls

URLS = urls(REQUEST, 2)


class Modality(Enum):
    """A modality, as upstream has it."""

    IMAGE = 1
    VIDEO = 2


def item(place: int, **fields: Any) -> dict[str, Any]:
    """Return one item of the request."""
    return {"url": URLS[place], "modality": Modality.IMAGE, **fields}


def check(*media: Any) -> list[Violation]:
    """Return the violations of some media."""
    asked = {"req_id": REQUEST, "items": 2}
    return list(encoder_modality.check(list(media), asked, ItemReader(2)))


def test_images_break_nothing() -> None:
    """Each with its own URL."""
    assert check(item(0), item(1)) == []


@pytest.mark.parametrize(
    ("media", "clauses"),
    [
        ((item(0, modality=Modality.VIDEO), item(1)), ["images-only"]),
        ((item(0), item(1, modality="IMAGE")), ["images-only"]),
        ((item(0), URLS[1]), ["told-alike", "url-text"]),
        ((URLS[0], item(1)), ["told-alike", "url-text"]),
        (URLS, ["told-alike"]),
        ((URLS[0], item(1, modality=Modality.VIDEO)), ["told-alike", "url-text", "unseen-images"]),
        ((item(0, url=None), item(1)), ["url-text", "item-identity"]),
        ((item(0, url=""), item(1)), ["url-there", "item-identity"]),
        ((item(0, detail="low"), item(1)), ["options-kept"]),
        ((item(0),), ["items-count"]),
        ((), ["items-count"]),
        ((item(1), item(0)), ["item-identity"]),
        ((item(0, url=urls(OTHER, 2)[0]), item(1)), ["item-identity"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(media: Any, clauses: list[str]) -> None:
    """Nothing is said to be broken that does not follow from it, and in upstream's order."""
    assert list(dict.fromkeys(v.clause.name for v in check(*media))) == clauses


@pytest.mark.parametrize("release", ["0.5.16", "0.5.18", "0.5.19", "0.5.23"])
def test_the_refusal_lists_what_is_no_image(release: str) -> None:
    """In every release, as upstream's own list prints it."""
    violation = ending(check(item(0), item(1, modality=Modality.VIDEO)), release)

    assert violation is not None
    guard = violation.clause.guard(release)
    assert guard is not None
    assert (guard.error, violation.refusal(guard)) == (
        "NotImplementedError",
        "gRPC encode only supports IMAGE modality, got: [<Modality.VIDEO: 2>]",
    )


def test_behind_a_plain_url_nothing_is_looked_at() -> None:
    """A message of gRPC carries texts only: that ends it, and plain URLs get through."""
    mixed = ending(check(URLS[0], item(1, modality=Modality.VIDEO)), "0.5.23")

    assert mixed is not None
    assert (mixed.clause.name, mixed.accident("0.5.23")) == ("url-text", ("TypeError",))
    assert ending(check(*URLS), "0.5.23") is None


def test_a_plain_url_behind_the_first_ends_the_call() -> None:
    """It has nothing to be asked for."""
    violation = ending(check(item(0), URLS[1]), "0.5.23")

    assert violation is not None
    assert violation.accident("0.5.23") == ("AttributeError",)


def test_without_a_reader_identity_is_unchecked() -> None:
    """And all else is checked."""
    answers = encoder_modality.answers([item(1)], {"req_id": REQUEST, "items": 2})

    assert answers["item-identity"] is Answer.UNCHECKED
    assert answers["items-count"] is Answer.VIOLATED
