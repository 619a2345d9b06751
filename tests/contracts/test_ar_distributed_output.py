"""The contract of ar-distributed-output, alone: results written by hand."""

from typing import Any

import pytest

from contracts import ar_distributed_output, ending
from contracts.contract import RETURNED
from simulators.denoiser_results import honest_results, sequences
from simulators.stamp import StampReader

REQUEST = {"clients": 2, "outputs": 2}
RESULTS = honest_results(2, 2).records
READER = StampReader(sequences(2, 2))


def changed(**fields: Any) -> list[dict[str, Any]]:
    """Return both results, the first one with other fields."""
    return [{**RESULTS[0], **fields}, RESULTS[1]]


def broken(results: Any = RESULTS, ar_error: str | None = None) -> dict[str, Any]:
    """Return the violations of what reaches the head, by clause."""
    payload = {"ar_error": ar_error, "results": list(results)}
    found = ar_distributed_output.check(payload, REQUEST, READER)
    return {violation.clause.name: violation for violation in found}


def test_honest_results_break_nothing() -> None:
    """In any order: each says whose it is."""
    assert broken() == {}
    assert broken(reversed(RESULTS)) == {}


OUTPUT = RESULTS[0]["output"]


@pytest.mark.parametrize(
    ("results", "clauses"),
    [
        (RESULTS[:1], {"result-once"}),
        ([*RESULTS, RESULTS[0]], {"result-known", "result-once"}),
        (changed(request="nobody"), {"result-known", "result-once"}),
        (changed(lost=1), {"result-readable"}),
        (changed(output=OUTPUT[0][0, 0, 0]), {"output-sized"}),
        (changed(output=OUTPUT[:1]), {"output-count"}),
        (changed(output=None), {"output-there"}),
        (changed(output=None, error=""), {"output-there"}),
        (changed(output=None, error="no"), {"denoised"}),
        (changed(error="no"), {"denoised"}),
        (changed(output=OUTPUT[:1], error="no"), {"output-count", "denoised"}),
        (changed(output=OUTPUT.flip(0)), {"picture-identity"}),
        (changed(output=RESULTS[1]["output"]), {"picture-identity"}),
        (changed(output=list(OUTPUT)), set()),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(results: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert set(broken(results)) == clauses


@pytest.mark.parametrize(
    ("violation", "since", "text"),
    [
        (broken(ar_error="no")["ar-made"], "0.5.19", "GLM AR error: no"),
        (
            broken(changed(output=OUTPUT[:1]))["output-count"],
            "0.5.19",
            "GLM distributed output size mismatch: got 1, expected 2",
        ),
        (
            broken(changed(output=None))["output-there"],
            "0.5.23",
            "GLM distributed denoiser returned no output",
        ),
        (
            broken(changed(lost=1))["result-readable"],
            "0.5.23",
            "Invalid denoiser result: Expected 1 tensor frames, got 0",
        ),
        (broken(changed(error="no"))["denoised"], "0.5.19", "no"),
    ],
)
def test_a_refusal_is_returned(violation: Any, since: str, text: str) -> None:
    """In the answer's error field, from its release on."""
    guard = violation.clause.guard(since)

    assert guard.error == RETURNED
    assert violation.refusal(guard) == text
    assert violation.clause.guard("0.5.18") is None


def test_without_the_check_an_unreadable_message_ends_the_head() -> None:
    """By accident, and with it the answers of all other clients."""
    (violation,) = broken(changed(lost=1)).values()

    assert violation.clause.guard("0.5.22") is None
    assert ending([violation], "0.5.22") is violation
