"""Cases with a name: those from public reports hold, and a user's are kept whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.case import parse
from harness.errors import UsageError
from harness.named_cases import KEPT, case_of, keep, kept
from harness.reported_cases import REPORTED
from harness.result import CaseResult

REPOSITORY = Path(__file__).parents[2]
LINE = "ar-batch omission records=2 shape=64x96 at=0"


@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_case_ends_as_is_said(name: str, run_case: Callable[[str], CaseResult]) -> None:
    """On the newest release, with the verdict that the table and the document give."""
    result = run_case(parse(REPORTED[name].line).line)

    assert result.verdict is REPORTED[name].verdict
    assert f"| `{name}` |" in (REPOSITORY / "docs/wild.md").read_text()


def test_a_shifted_reply_says_by_how_much(run_case: Callable[[str], CaseResult]) -> None:
    """B06: five ids of the prompt in front."""
    result = run_case(REPORTED["B06"].line)

    assert result.detail == "output 0 carries its own tokens out of place by -5"


def test_a_case_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under one word, in a file of the current folder; the same twice is no harm."""
    monkeypatch.chdir(tmp_path)

    keep("mine", parse(LINE))
    keep("mine", parse(LINE))

    assert kept() == {"mine": LINE}
    assert case_of("mine") == parse(LINE)
    assert [file.name for file in tmp_path.iterdir()] == [KEPT.name]


@pytest.mark.parametrize("name", ["B03a", "two words", "mine"])
def test_a_name_that_cannot_be_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken, or no word."""
    monkeypatch.chdir(tmp_path)
    keep("mine", parse("ar-batch noop records=2 shape=64x96"))

    with pytest.raises(UsageError, match="--keep"):
        keep(name, parse(LINE))


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_a_spoiled_file_is_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not overwritten."""
    monkeypatch.chdir(tmp_path)
    KEPT.write_text(text)

    with pytest.raises(UsageError, match=KEPT.name):
        keep("mine", parse(LINE))
    assert KEPT.read_text() == text


def test_an_unknown_name_gives_the_near_ones() -> None:
    """As everywhere."""
    with pytest.raises(UsageError, match="did you mean B03"):
        case_of("B03")
