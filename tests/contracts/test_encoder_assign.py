"""The contract of encoder-assign, alone: counts written by hand."""

from typing import Any

import pytest

from contracts import encoder_assign, ending
from contracts.contract import RETURNED, Answer, Violation
from simulators.assigned_items import hashes_of
from simulators.encode_request import REQUEST, ItemReader, urls

ITEMS = list(urls(REQUEST, 3))
HASHES = hashes_of(3, "image")
ENCODERS = ["http://a:1", "http://b:2"]


def asked(entry: str, mixed: bool = False) -> dict[str, Any]:
    """Return a request of three images, or of two and a video."""
    third = "VIDEO" if mixed else "IMAGE"
    hashes = HASHES[:2] if mixed else HASHES
    modalities = ["IMAGE", "IMAGE", third]
    return {"modalities": modalities, "hashes": hashes, "entry": entry}


def told(counts: Any, **fields: Any) -> dict[str, Any]:
    """Return the payload with some counts."""
    payload = {"mode": "http", "counts": counts, "keys": "enum", "urls": ENCODERS, "hashes": HASHES}
    return {**payload, "items": ITEMS, **fields}


def check(counts: Any, mode: str = "http", mixed: bool = False, **fields: Any) -> list[Violation]:
    """Return the violations of some counts."""
    request = asked("encode", mixed)
    return list(encoder_assign.check(told(counts, mode=mode, **fields), request, ItemReader(3)))


@pytest.mark.parametrize("mode", ["http", "grpc"])
@pytest.mark.parametrize("counts", [[2, 1], [0, 3], [3, 0], [1, 2, 0]])
def test_an_assignment_that_reaches_each_item_breaks_nothing(mode: str, counts: Any) -> None:
    """However many items an encoder has, and whether there is an empty entry behind."""
    assert check({"IMAGE": counts}, mode) == []
    assert check(None, mode) == []


def test_each_modality_has_its_counts() -> None:
    """The parts of videos follow those of images."""
    assert check({"IMAGE": [1, 1], "VIDEO": [0, 1]}, mixed=True) == []
    (lost,) = check({"IMAGE": [1, 1]}, mixed=True)
    assert (lost.clause.name, lost.accident("0.5.23")) == ("modality-each", ("TypeError",))


@pytest.mark.parametrize(
    ("counts", "clauses"),
    [
        ([2, 1], {"counts-by-modality"}),
        ({"IMAGE": [1, 1]}, {"count-sum", "item-identity"}),
        ({"IMAGE": [3, 1]}, {"count-sum", "part-filled"}),
        ({"IMAGE": [2, 2]}, {"count-sum"}),
        ({"IMAGE": [0, 0]}, {"parts-some", "count-sum", "item-identity"}),
        ({"IMAGE": [-1, 4]}, {"count-natural"}),
        ({"IMAGE": [2, None]}, {"count-whole"}),
        ({"IMAGE": [2, True]}, {"count-whole"}),
        ({"IMAGE": [2, 0, 1]}, {"entry-encoder"}),
        ({}, {"modality-each"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(counts: Any, clauses: set[str]) -> None:
    """Nothing is said to be broken that does not follow from it."""
    assert {violation.clause.name for violation in check(counts)} == clauses


def test_by_grpc_the_first_counts_are_taken_for_those_of_images() -> None:
    """Whatever their key; a plain list will do."""
    other = check({"AUDIO": [1, 1], "IMAGE": [2, 1]}, "grpc")

    assert {v.clause.name for v in other} == {"images-first", "count-sum", "item-identity"}
    assert ending(other, "0.5.23") is None
    assert ending(check([2, 1], "grpc"), "0.5.23") is None
    assert check({"AUDIO": [1, 1], "IMAGE": [2, 1]}) == []


def test_the_order_of_accidents_is_that_of_the_mode() -> None:
    """By HTTP an entry is looked up before it is counted with, by gRPC all are counted with."""
    counts = {"IMAGE": [2, 0, "1"]}
    first, second = ending(check(counts), "0.5.23"), ending(check(counts, "grpc"), "0.5.23")

    assert first is not None and first.clause.name == "entry-encoder"
    assert second is not None and second.clause.name == "count-whole"


def test_without_encoders_nothing_can_be_shared_out() -> None:
    """By a receiver that makes the counts itself; by gRPC nothing is sent."""
    (violation,) = check(None, urls=[])
    silent = check(None, "grpc", urls=[])

    assert violation.accident("0.5.23") == ("ZeroDivisionError",)
    assert [v.clause.name for v in silent] == ["encoders-there", "parts-some"]
    assert ending(silent, "0.5.23") is None


@pytest.mark.parametrize(("release", "errors"), [("0.5.18", ("AttributeError",)), ("0.5.19", ())])
def test_where_no_part_is_asked_for_nobody_waits_for_one(
    release: str, errors: tuple[str, ...]
) -> None:
    """Up to 0.5.18 it went on to a buffer that there is not."""
    first = check({"IMAGE": [0, 0]})[0]

    assert (first.clause.name, first.accident(release)) == ("parts-some", errors)


@pytest.mark.parametrize(
    ("release", "error"), [("0.5.17", None), ("0.5.18", "ValueError"), ("0.5.23", "ValueError")]
)
def test_hashes_are_counted_in_a_request_of_the_clients(release: str, error: str | None) -> None:
    """From 0.5.18 on; what is told to `encode` has them no more."""
    request = asked("request")
    (violation,) = encoder_assign.check(told(None, hashes=HASHES[:2]), request, ItemReader(3))
    guard = violation.clause.guard(release)

    assert (guard and guard.error) == error
    assert violation.refusal(violation.clause.guards[0]) == (
        "mm_content_hashes has 2 entries for 3 images"
    )
    assert list(encoder_assign.check(told(None, hashes=None), request, ItemReader(3))) == []


def test_a_hash_of_another_image_is_seen_and_not_refused() -> None:
    """An image without one breaks nothing."""
    request = asked("request")
    turned = list(encoder_assign.check(told(None, hashes=HASHES[::-1]), request, ItemReader(3)))
    lacking = [None, *HASHES[1:]]

    assert {v.clause.name for v in turned} == {"hash-identity"}
    assert ending(turned, "0.5.23") is None
    assert list(encoder_assign.check(told(None, hashes=lacking), request, ItemReader(3))) == []


@pytest.mark.parametrize(("release", "errors"), [("0.5.19", ()), ("0.5.20", (RETURNED,))])
def test_by_grpc_no_request_of_a_clients_gets_out(release: str, errors: tuple[str, ...]) -> None:
    """Nor is anybody told, up to 0.5.19."""
    request = asked("request")
    (violation,) = encoder_assign.check(told(None, mode="grpc"), request, ItemReader(3))

    assert (violation.clause.name, violation.accident(release)) == ("handed-taken", errors)


def test_without_a_reader_identity_is_unchecked() -> None:
    """And with counts that are no numbers of items, too."""
    without = encoder_assign.answers(told({"IMAGE": [1, 1]}), asked("encode"))
    negative = encoder_assign.answers(told({"IMAGE": [-1, 4]}), asked("encode"), ItemReader(3))

    assert without["item-identity"] is Answer.UNCHECKED
    assert without["count-sum"] is Answer.VIOLATED
    assert negative["item-identity"] is Answer.UNCHECKED
