"""Snapshots: one case a line, safe against the hand, and compared in words."""

from dataclasses import replace

import pytest

from contracts.releases import NEWEST
from harness.errors import SnapshotError
from harness.result import CaseResult
from harness.seams import SEAMS
from harness.snapshot import Change, Snapshot, differences, parse, read
from harness.verdict import Promise, Verdict

LINE = "ar-batch omission records=2 shape=64x96 at=0"
REFUSED = CaseResult(
    "ar-batch", "omission", LINE, Verdict.REFUSED, Promise.KEPT, "RuntimeError", "got 1 in /x:3",
    "upstream", "got {got}", ("reply-count",), seconds=0.5, fired=("reply-count",),
)  # fmt: skip
SILENT = replace(
    REFUSED, verdict=Verdict.SILENT, promise=Promise.OPEN, text=None, detail="output 0 is empty"
)
TOLERATED = replace(SILENT, verdict=Verdict.TOLERATED, promise=Promise.KEPT, detail="")
BROKEN = replace(SILENT, promise=Promise.BROKEN)


def snapshot(*results: CaseResult) -> Snapshot:
    """Return a snapshot of results."""
    return Snapshot.of("ar-batch", NEWEST, results)


def test_a_snapshot_reads_back_as_it_was_written() -> None:
    """Text, parsed and written again, is the same."""
    written = snapshot(REFUSED, replace(SILENT, case="ar-batch x"))

    assert parse(written.text, "x").text == written.text


def test_each_case_is_one_line_and_nothing_of_the_machine_is_in_it() -> None:
    """No message but the guard's own text, no time, no line number."""
    text = snapshot(REFUSED, replace(SILENT, case="ar-batch x")).text

    assert sum(line.startswith('  "ar-batch') for line in text.splitlines()) == 2
    assert "/x:3" not in text
    assert "0.5," not in text
    assert "got {got}" in text


def test_a_snapshot_edited_by_hand_is_refused() -> None:
    """A verdict cannot be changed without a run."""
    edited = snapshot(SILENT).text.replace('"silent"', '"refused"')

    with pytest.raises(SnapshotError, match="edited by hand"):
        parse(edited, "ar-batch.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"seam": 1}'])
def test_a_file_that_is_no_snapshot_is_refused(text: str) -> None:
    """The file is named."""
    with pytest.raises(SnapshotError, match=r"ar-batch\.json"):
        parse(text, "ar-batch.json")


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (REFUSED, BROKEN, Change.BROKEN),
        (REFUSED, SILENT, Change.NEWLY_OPEN),
        (SILENT, REFUSED, Change.NEWLY_GUARDED),
        (SILENT, TOLERATED, Change.CLOSED),
        (SILENT, replace(SILENT, verdict=Verdict.HUNG), Change.CHANGED),
        (REFUSED, replace(REFUSED, text="got only {got}"), Change.REWORDED),
        (None, REFUSED, Change.ADDED),
        (REFUSED, None, Change.GONE),
    ],
)
def test_a_change_is_classed(
    before: CaseResult | None, after: CaseResult | None, change: Change
) -> None:
    """By what it means for the contract."""
    old, new = (snapshot(*([result] if result else [])) for result in (before, after))

    (found,) = differences(old, new)

    assert (found.change, found.case) == (change, LINE)


def test_nothing_differs_from_itself() -> None:
    """Equal snapshots have no differences."""
    assert differences(snapshot(REFUSED), snapshot(REFUSED)) == []


def test_the_worst_change_comes_first() -> None:
    """Broken before newly open."""
    others = [replace(REFUSED, case=f"ar-batch {name}") for name in "ab"]
    after = [replace(SILENT, case="ar-batch a"), replace(BROKEN, case="ar-batch b")]

    found = differences(snapshot(*others), snapshot(*after))

    assert [difference.change for difference in found] == [Change.BROKEN, Change.NEWLY_OPEN]


def test_the_committed_snapshots_come_with_the_package() -> None:
    """They can be read wherever the package is installed."""
    for seam in SEAMS.values():
        assert read(NEWEST, seam).covers_today()


def test_a_missing_snapshot_is_named() -> None:
    """With its release and seam."""
    with pytest.raises(SnapshotError, match=r"no snapshot of ar-batch on 0\.4\.0"):
        read("0.4.0", SEAMS["ar-batch"])
