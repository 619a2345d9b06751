"""Batches as large as a server's end as small ones do."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness import gpu_batches
from harness.case import parse
from harness.gpu_batches import PAIRS, large_batches
from harness.gpu_part import Asked
from harness.result import CaseResult
from harness.runner import run_cases
from harness.seams import SEAMS
from harness.snapshot import read
from harness.upstream.source import Tree

SMALL = Asked(Path(), "interpreter", small=True, source="0.5.23")


@pytest.mark.parametrize(("large", "small"), PAIRS)
def test_each_large_case_has_a_small_one_that_is_committed(large: str, small: str) -> None:
    """Of the same seam and fault."""
    case = parse(small)

    assert case.line in read("0.5.23", SEAMS[case.seam]).cases
    assert (parse(large).seam, parse(large).steps[0].fault) == (case.seam, case.steps[0].fault)


def test_large_batches_end_as_is_due(newest: Tree) -> None:
    """On the CPU too, though it takes its time."""
    part = large_batches(SMALL)

    assert (part.state, part.cases, part.said) == ("fit", 2, [])


def test_another_end_than_is_due_is_told(newest: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one that is due."""
    found = run_cases(newest, [parse("encoder-slice omission records=3 at=0")])

    def other(*told: object, **named: object) -> list[CaseResult]:
        return [replace(one, case=parse(PAIRS[0][0]).line) for one in found if "omis" in one.case]

    monkeypatch.setattr(gpu_batches, "run_cases", other)
    part = large_batches(SMALL)

    assert part.state == "unfit"
    assert part.said[0].endswith("and upheld is due")
