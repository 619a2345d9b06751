"""Holes: every case that is taken in silence, hangs or kills stands in one, with its damage."""

import json
from collections import Counter
from pathlib import Path

import pytest

from contracts.releases import NEWEST, RELEASES
from harness.case import parse
from harness.damage import Damage, damage_of, shows, told
from harness.holes import Hole, holes
from harness.report.holes import page, rows
from harness.seams import SEAMS
from harness.snapshot import folder
from harness.verdict import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "holes.md"
OPEN = {"silent", "hung", "crashed"}


@pytest.fixture(scope="module")
def found() -> list[Hole]:
    """The holes of the newest release."""
    return holes(NEWEST)


def test_the_page_is_what_the_snapshots_say(found: list[Hole]) -> None:
    """It is written by `seamproof list holes --format markdown > docs/holes.md`."""
    assert PAGE.read_text(encoding="utf-8") == page(NEWEST, found)


def test_every_open_case_is_in_one_hole(found: list[Hole]) -> None:
    """None is left out, and none counts twice."""
    wanted: Counter[str] = Counter()
    for file in folder(NEWEST).glob("*.json"):
        cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
        wanted.update(line for line, entry in cases.items() if entry["verdict"] in OPEN)

    assert Counter(line for hole in found for line in hole.lines) == wanted


def test_the_worst_come_first_and_each_can_be_run_again(found: list[Hole]) -> None:
    """By the order of damages; the line that replays one is a case of its seam."""
    order = [list(Damage).index(hole.damage) for hole in found]

    assert order == sorted(order)
    for hole in found:
        line = hole.replay.split("'")[1]
        assert parse(line).seam == hole.seam
        assert NEWEST in hole.releases
        assert set(hole.releases) <= set(RELEASES)


def test_rows_tell_the_same_to_a_machine(found: list[Hole]) -> None:
    """All that the page says, as plain values."""
    told = rows(found)

    assert json.loads(json.dumps(told)) == told
    assert sum(row["cases"] for row in told) == sum(len(hole.lines) for hole in found)
    assert all(row["shows"].endswith(".") for row in told)


@pytest.mark.parametrize(
    ("words", "damage"),
    [
        ("request 0 carries request 1's rows, rows 6 to 7 of it", Damage.LEAK),
        ("request 1 carries rows of request 0, request 1", Damage.LEAK),
        ("output 0 carries another request's prompt 0's tokens", Damage.LEAK),
        ("request 0's item 1 carries another batch's request 0's item 1's rows", Damage.LEAK),
        ("request 0's item 0 carries request 0's item 1's rows", Damage.MIXED),
        ("output 0 carries prompt 1's tokens", Damage.MIXED),
        ("item 0 carries rows of nobody known, rows 1 to 2 of it", Damage.GARBAGE),
        ("output 0 carries nobody's seeds", Damage.GARBAGE),
        ("request 0 is empty", Damage.LOST),
        ("rank 0 lacks rows 4 to 4", Damage.LOST),
        ("output 0 carries its own tokens out of place by -5", Damage.MISPLACED),
        ("request 0 carries its own rows out of place, rows 6 to 17 of it", Damage.MISPLACED),
        ("the grid of request 0's images is [[3, 4]], not [[1, 2]]", Damage.MISDESCRIBED),
        ("request 0 is empty; request 1 carries request 0's rows", Damage.LEAK),
        ("rank 0 lacks rows 0 to 1; the form of the rows is (1,), not (2,)", Damage.LOST),
    ],
)
def test_the_damage_is_the_worst_that_the_words_tell(words: str, damage: Damage) -> None:
    """The words are those of the oracle; another request's data are the worst."""
    assert damage_of(Verdict.SILENT, words) is damage


def test_what_was_refused_did_no_damage() -> None:
    """Nor what was tolerated, whatever its words."""
    assert told(Verdict.REFUSED, "") is None
    assert told(Verdict.MISREPORTED, "request 0 carries request 1's rows") is None
    assert told(Verdict.SILENT, "request 0 is empty") is Damage.LOST


def test_a_death_and_a_hang_need_no_words() -> None:
    """Their verdict says it."""
    assert damage_of(Verdict.CRASHED, "") is Damage.CRASHED
    assert damage_of(Verdict.HUNG, "rank 1 carries request 0's rows") is Damage.HUNG


def test_every_damage_of_every_seam_has_words() -> None:
    """Of a seam that comes later, too."""
    for seam in [*SEAMS, "a-new-one"]:
        assert all(shows(seam, damage).endswith(".") for damage in Damage)
