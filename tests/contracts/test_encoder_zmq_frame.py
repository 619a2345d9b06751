"""The contract of encoder-zmq-frame, alone: messages written by hand."""

from typing import Any

import pytest

from contracts import encoder_zmq_frame, ending
from contracts.contract import RETURNED, Violation
from simulators.embedding_parts import grids, honest_parts, modalities, reader
from simulators.part_messages import message_of


def messages(dtype: str = "float32") -> list[dict[str, Any]]:
    """Return the honest messages of two parts."""
    return [message_of(record) for record in honest_parts(2, "image", dtype).records]


def check(sent: list[dict[str, Any]], dtype: str = "float32") -> list[Violation]:
    """Return the violations of messages."""
    request = {
        "request": "request 0",
        "modalities": modalities(2, "image"),
        "grids": grids(2, "image"),
        "width": 8,
        "dtype": f"torch.{dtype}",
    }
    return list(encoder_zmq_frame.check(sent, request, reader()))


def changed(**fields: Any) -> list[dict[str, Any]]:
    """Return both messages, the second one with other fields."""
    first, second = messages()
    return [first, {**second, **fields}]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_honest_messages_break_nothing(dtype: str) -> None:
    """Their bytes are read back without torch."""
    assert check(messages(dtype), dtype) == []


ROWS = messages()[1]["rows"]


@pytest.mark.parametrize(
    ("fields", "clauses"),
    [
        ({"head": "head-junk"}, {"head-readable", "parts-complete"}),
        ({"kind": "dict"}, {"head-part", "parts-complete"}),
        ({"request": "request 1"}, {"message-ours", "parts-complete"}),
        ({"error": "no"}, {"encoded", "parts-complete"}),
        (
            {"error": "no", "request": "request 1"},
            {"error-ours", "message-ours", "parts-complete"},
        ),
        ({"rows": None}, {"rows-frame", "parts-complete"}),
        ({"said_dtype": None}, {"dtype-said", "parts-complete"}),
        ({"rows": ROWS[:-1]}, {"rows-bytes", "parts-complete"}),
        ({"said_dtype": "float16"}, {"rows-bytes", "parts-complete"}),
        ({"said_dtype": "int32"}, {"part-row-dtype", "part-row-identity"}),
        ({"said_shape": [8, 10]}, {"part-row-width", "part-rows-fit"}),
        ({"rows": ROWS[32:] + ROWS[:32]}, {"part-row-identity"}),
        ({"part_idx": 2}, {"part-index-within", "part-once", "parts-complete"}),
        ({"suffix": 7}, set()),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(fields: Any, clauses: set[str]) -> None:
    """Nothing is said to be broken that does not follow from it."""
    assert {violation.clause.name for violation in check(changed(**fields))} == clauses


@pytest.mark.parametrize(
    ("fields", "since", "text"),
    [
        ({"head": "head-junk"}, "0.5.17", "Failed to decode embedding message"),
        ({"rows": None}, "0.5.17", "Failed to decode embedding message"),
        ({"rows": ROWS[:-1]}, "0.5.17", "Failed to decode embedding message"),
        ({"error": "no"}, "0.5.16", "no"),
        (
            {"part_idx": 2},
            "0.5.20",
            "Failed to decode embedding message: part_idx must be in [0, 2), got 2",
        ),
        (
            {"num_parts": 3},
            "0.5.20",
            "Failed to decode embedding message: num_parts changed from 2 to 3",
        ),
        (
            {"modality": None},
            "0.5.17",
            "Failed to decode embedding message: Invalid modality: None",
        ),
    ],
)
def test_a_refusal_is_the_state_of_the_request(fields: Any, since: str, text: str) -> None:
    """From the release on that catches it, or looks for it."""
    violation = ending(check(changed(**fields)), since)

    assert violation is not None
    guard = violation.clause.guard(since)
    assert guard is not None
    assert (guard.error, violation.refusal(guard)) == (RETURNED, text)


def test_what_is_raised_is_caught_from_0_5_17_on() -> None:
    """So an accident is told by the state, too."""
    violation = ending(check(changed(part_idx="1")), "0.5.17")

    assert violation is not None
    assert violation.accident("0.5.17") == ("TypeError", RETURNED)


def test_another_requests_error_fails_this_one_until_0_5_20() -> None:
    """It is read before the id is."""
    found = check(changed(error="no", request="request 1"))
    stop = ending(found, "0.5.19")

    assert stop is not None
    assert stop.clause.name == "error-ours"
    assert ending(found, "0.5.20") is None
