"""Refusals that are returned: where they stand in upstream, and how a case of one is told."""

import pytest

from contracts import CONTRACTS
from contracts.contract import RETURNED
from contracts.releases import NEWEST
from harness.case import parse
from harness.runner import run_cases
from harness.upstream.raise_sites import guard_site
from harness.upstream.source import Tree, find
from harness.verdict import Verdict

SEAM = "ar-distributed-output"
RETURNS = {
    clause.name: guard
    for clause in CONTRACTS[SEAM].clauses
    for guard in clause.guards
    if guard.error == RETURNED
}


@pytest.mark.parametrize("clause", RETURNS)
def test_a_returned_text_is_found_where_it_is_said(newest: Tree, clause: str) -> None:
    """In the statement that assigns or passes it, in the function that the clause names."""
    guard = RETURNS[clause]
    file = newest.root / "sglang" / guard.source.path
    site = guard_site(file, guard)

    assert site is not None
    assert site.symbol == guard.source.symbol
    said = "".join(file.read_text().splitlines(keepends=True)[site.first - 1 : site.last])
    assert guard.text.split("{")[0].split(":")[0] in said.replace('"\n', "").replace('f"', "")


@pytest.mark.parametrize(
    ("fault", "clause"),
    [
        ("ar-failed", "ar-made"),
        ("result-frame-lost", "result-readable"),
        ("result-picture-lost", "output-count"),
        ("result-nothing", "output-there"),
        ("result-error-beside", "denoised"),
    ],
)
def test_a_returned_refusal_counts_as_reached(newest: Tree, fault: str, clause: str) -> None:
    """Its text came out, though no line of it stands in a traceback."""
    at = "" if fault == "ar-failed" else " at=1"
    (result,) = run_cases(newest, [parse(f"{SEAM} {fault} records=2 outputs=2{at}")])

    assert result.verdict is Verdict.REFUSED
    assert result.exception == RETURNED
    assert result.fired == (clause,)


def test_wrong_pictures_weigh_more_than_a_refusal_beside_them(newest: Tree) -> None:
    """Two clients have each other's pictures, and the third an error."""
    line = f"{SEAM} result-id-swapped+result-picture-lost records=3 outputs=2 at=0,1;2"
    (result,) = run_cases(newest, [parse(line)])

    assert result.verdict is Verdict.SILENT
    assert "client 0 carries" in result.detail
    assert "client 1 carries" in result.detail


def test_a_client_without_an_answer_is_silent(newest: Tree) -> None:
    """Whose result carries an id that nobody knows."""
    (result,) = run_cases(newest, [parse(f"{SEAM} result-id-unknown records=2 outputs=1 at=0")])

    assert (result.verdict, result.detail) == (Verdict.SILENT, "client 0 is empty")


@pytest.mark.parametrize(
    ("release", "verdict", "detail"),
    [
        ("0.5.16", Verdict.SILENT, "the count of tokens is 900 for a canvas of 961 (31x31)"),
        ("0.5.18", Verdict.SILENT, "the picture is 512x512 for 500x500 asked for"),
        (NEWEST, Verdict.TOLERATED, ""),
    ],
)
def test_a_size_that_fits_no_grid_is_seen(release: str, verdict: Verdict, detail: str) -> None:
    """As the public report has it, 500x500: first too few tokens, then too large, then right."""
    line = "image-resolution canvas-twelve-less shape=512x512"
    (result,) = run_cases(find(release), [parse(line)])

    assert result.verdict is verdict
    assert result.detail.startswith(detail)
