"""The contract of encoder-request, alone: requests written by hand."""

from typing import Any

import pytest

from contracts import encoder_request
from contracts.contract import RETURNED, Violation
from simulators.encode_request import ItemReader, encode_request, hashes, honest_encode, urls

HONEST = encode_request(honest_encode(2, "image", hashed=True))
ASKED = {
    "req_id": "request 0",
    "modality": "IMAGE",
    "items": 2,
    "num_parts": 3,
    "part_idx": 1,
    "hashes": hashes(2),
}


def check(request: Any) -> list[Violation]:
    """Return the violations of a request."""
    return list(encoder_request.check(request, ASKED, ItemReader(2)))


def test_an_honest_request_breaks_nothing() -> None:
    """With hashes or without, with options or without."""
    assert check(HONEST) == []
    assert check({**HONEST, "hashes": None, "modality": "image"}) == []
    assert (
        check({**HONEST, "mm_items": [{"url": urls("request 0", 2)[0]}, urls("request 0", 2)[1]]})
        == []
    )


@pytest.mark.parametrize(
    ("fields", "clauses"),
    [
        ({"req_id": 7}, {"id-text", "id-asked"}),
        ({"req_id": "request 1"}, {"id-asked"}),
        ({"modality": None}, {"modality-text", "modality-asked"}),
        ({"modality": " image"}, {"modality-known", "modality-asked"}),
        ({"modality": "video"}, {"modality-asked"}),
        ({"mm_items": None}, {"items-there"}),
        ({"mm_items": []}, {"items-there", "items-count"}),
        ({"mm_items": "text"}, {"items-list"}),
        ({"mm_items": [None, urls("request 0", 2)[1]]}, {"item-kind", "item-identity"}),
        ({"mm_items": urls("request 0", 2)[::-1]}, {"item-identity"}),
        ({"mm_items": urls("request 0", 1)}, {"items-count"}),
        ({"num_parts": True}, {"count-positive", "index-within", "part-asked"}),
        ({"num_parts": 4}, {"part-asked"}),
        ({"part_idx": 3}, {"index-within", "part-asked"}),
        ({"part_idx": 2}, {"part-asked"}),
        ({"hashes": {}}, {"hashes-kind"}),
        ({"hashes": 7}, {"hashes-each"}),
        ({"hashes": hashes(2)[::-1]}, {"hash-identity"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(fields: Any, clauses: set[str]) -> None:
    """Nothing is said to be broken that does not follow from it."""
    assert {v.clause.name for v in check({**HONEST, **fields})} == clauses


@pytest.mark.parametrize(
    ("request_sent", "text"),
    [
        ([HONEST], "request is not a dict: list"),
        ({**HONEST, "req_id": ""}, "missing or invalid req_id"),
        ({**HONEST, "modality": 1}, "missing or invalid modality"),
        ({**HONEST, "modality": "smell"}, "unsupported modality: smell"),
        ({**HONEST, "mm_items": []}, "missing or empty mm_items"),
        ({**HONEST, "num_parts": 3.0}, "num_parts must be a positive integer"),
        ({**HONEST, "part_idx": -1}, "part_idx must be in [0, 3)"),
        ({**HONEST, "hashes": 7.5}, "hashes must be list/scalar, got float"),
    ],
)
def test_a_refusal_is_returned(request_sent: Any, text: str) -> None:
    """As a text, from 0.5.20 on."""
    violation = check(request_sent)[0]
    guard = violation.clause.guard("0.5.20")

    assert guard is not None
    assert (guard.error, violation.refusal(guard)) == (RETURNED, text)
    assert violation.clause.guard("0.5.19") is None
