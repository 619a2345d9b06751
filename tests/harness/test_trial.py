"""A user's own reply, and a user's own fault, on the real consumer."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.case import cases, parse
from harness.consumers.glm_image_stage import PROMPTS, prompt_ids
from harness.errors import UsageError
from harness.given_faults import Reply
from harness.result import CaseResult
from harness.runner import Selection, run_cases
from harness.seams import SEAMS
from harness.trial import trial
from harness.upstream.source import Tree
from harness.verdict import Promise, Verdict
from simulators.ar_server import ArSimulator
from simulators.ar_server.asking import batch_request


@pytest.fixture(scope="module")
def honest() -> list[dict[str, Any]]:
    """The reply of an honest server to the first three prompts at 64 x 96 pixels."""
    simulator = ArSimulator()
    asked = batch_request([prompt_ids(prompt) for prompt in PROMPTS[:3]], 64, 96)
    simulator.answer("POST", "/generate", json.dumps(asked).encode())
    reply: list[dict[str, Any]] = simulator.exchanges[0].reply
    return reply


def tried(newest: Tree, file: Path, body: Any, **how: Any) -> CaseResult:
    """Return what the stage does with a body for three prompts."""
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    report, _ = trial(newest.name, "ar-batch", Reply(file, **how), 3, "96x64")
    return report.results[0]


def test_an_honest_reply_is_upheld_and_identity_is_said_to_be_unjudged(
    newest: Tree, tmp_path: Path, honest: list[Any]
) -> None:
    """Nobody is told more than was looked at."""
    result = tried(newest, tmp_path / "body.json", honest)

    assert (result.verdict, result.detail) == (Verdict.UPHELD, "identity not judged")


def test_a_stamped_reply_is_judged_by_identity_too(
    newest: Tree, tmp_path: Path, honest: list[Any]
) -> None:
    """Swapped items of the same shape are seen."""
    swapped = [honest[2], honest[1], honest[0]]

    result = tried(newest, tmp_path / "body.json", swapped, stamped=True)

    assert result.verdict is Verdict.SILENT
    assert result.detail == "output 0 carries prompt 2's tokens; output 2 carries prompt 0's tokens"


def test_what_is_accepted_while_a_clause_is_broken_is_silent(
    newest: Tree, tmp_path: Path, honest: list[Any]
) -> None:
    """The clause is named."""
    honest = json.loads(json.dumps(honest))
    honest[1]["output_ids"][0] = 99999
    honest[1]["output_ids"][-2] = 99999

    result = tried(newest, tmp_path / "body.json", honest)

    assert result.verdict is Verdict.SILENT
    assert result.detail.startswith("accepted, though it breaks ids-codebook at $[1].output_ids")


@pytest.mark.parametrize(
    ("body", "how", "verdict"),
    [
        ([], {}, Verdict.REFUSED),
        ({"error": "x"}, {}, Verdict.REFUSED),
        ("<html>", {}, Verdict.MISREPORTED),
        ("<html>", {"status": 502, "content_type": "text/html"}, Verdict.REFUSED),
        ("", {"status": 204}, Verdict.MISREPORTED),
    ],
)
def test_every_other_reply_gets_its_verdict(
    body: Any, how: dict[str, Any], verdict: Verdict, newest: Tree, tmp_path: Path
) -> None:
    """Short, of another type, or no JSON, with any status."""
    assert tried(newest, tmp_path / "body.json", body, **how).verdict is verdict


def test_rows_come_from_a_file_too(newest: Tree, tmp_path: Path) -> None:
    """For a seam whose payload is a tensor of rows."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([[0] * 24]))

    report, _ = trial(newest.name, "ar-split", Reply(file), 2, "96x64")

    assert report.results[0].verdict is Verdict.REFUSED
    assert "expected 2 token rows, got 1" in (report.results[0].message or "")


@pytest.mark.parametrize(
    ("seam", "prompts", "size", "told"),
    [
        ("ar-bach", 3, "96x64", "did you mean ar-batch"),
        ("ar-batch", 3, "96x65", "--size 96x65: expected width x height"),
        ("ar-batch", 99, "96x64", "--prompts 99: expected a count of records"),
        ("ar-single", 3, "96x64", "ar-batch takes several"),
        ("image-crop", 1, "96x64", "takes no payload"),
    ],
)
def test_what_cannot_be_tried_is_named(
    seam: str, prompts: int, size: str, told: str, newest: Tree, tmp_path: Path
) -> None:
    """With the mend."""
    file = tmp_path / "body.json"
    file.write_text("[]")

    with pytest.raises(UsageError) as error:
        trial(newest.name, seam, Reply(file), prompts, size)
    assert told in str(error.value)


def test_a_missing_file_and_a_false_status_are_named(newest: Tree, tmp_path: Path) -> None:
    """Before anything is run."""
    with pytest.raises(UsageError, match="no such file"):
        trial(newest.name, "ar-batch", Reply(tmp_path / "no.json"), 3, "96x64")
    (tmp_path / "body.json").write_text("[]")
    with pytest.raises(UsageError, match="from 100 to 599"):
        trial(newest.name, "ar-batch", Reply(tmp_path / "body.json", 999), 3, "96x64")


FAULTS = '''
def alternate(payload, at, rng):
    """[a b c d] -> [a c]"""
    return payload.with_records(payload.records[::2])


def fails(payload, at, rng):
    raise KeyError("oops")
'''


def test_a_users_own_fault_runs_on_every_seam_of_its_form(
    newest: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named by file and function, in a selection and in a case's line."""
    (tmp_path / "mine.py").write_text(FAULTS)
    monkeypatch.chdir(tmp_path)
    selection = Selection(("ar-batch", "ar-split"), ("mine.py::alternate",))

    chosen = [case for case in selection.chosen() if not case.is_golden]
    results = run_cases(newest, chosen[:12])

    assert {case.seam for case in chosen} == {"ar-batch", "ar-split"}
    assert parse(chosen[0].line) == chosen[0]
    assert {result.promise for result in results} == {Promise.KEPT}
    assert Verdict.REFUSED in {result.verdict for result in results}


def test_a_users_fault_that_fails_is_inconclusive(
    newest: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for a lost connection, nor for a verdict."""
    (tmp_path / "mine.py").write_text(FAULTS)
    monkeypatch.chdir(tmp_path)

    results = run_cases(
        newest,
        [
            parse("ar-batch mine.py::fails records=2 shape=64x96"),
            parse("ar-split mine.py::fails records=2 shape=64x96"),
            next(cases(SEAMS["ar-split"])),
        ],
    )

    assert [result.verdict for result in results[:2]] == [Verdict.INCONCLUSIVE] * 2
    assert "oops" in results[0].detail
    assert results[2].verdict is Verdict.UPHELD


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no.py::alternate", "there is no file no.py"),
        ("mine.py::alternat", "did you mean alternate"),
        ("broken.py::x", "broken.py fails: ZeroDivisionError"),
    ],
)
def test_a_users_fault_that_is_none_is_named(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and function."""
    (tmp_path / "mine.py").write_text(FAULTS)
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as error:
        Selection(faults=(name,)).chosen()
    assert told in str(error.value)
