"""Fuzzing: what is drawn can be run, and what is found is small and replays."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.case import Case, parse
from harness.fuzz import fuzzed_cases, pasteable_test, search, unfit, with_verdict
from harness.pool import Pool
from harness.result import CaseResult
from harness.seams import SEAMS
from harness.upstream.source import Tree
from harness.verdict import Verdict

AR_SEAMS = ("ar-batch", "ar-single", "ar-tokens", "ar-split")


@pytest.fixture(scope="module")
def pool(newest: Tree) -> Iterator[Pool]:
    """One worker with the newest release."""
    with Pool(newest, workers=1) as pool:
        yield pool


@given(st.sampled_from(list(SEAMS)).flatmap(lambda name: fuzzed_cases(SEAMS[name])))
@settings(deadline=None)
def test_what_is_drawn_is_one_line_that_parses_back(case: Case) -> None:
    """Whatever is found can be replayed by its line."""
    assert parse(case.line) == case


def test_a_silent_reordering_is_found_and_is_small(pool: Pool) -> None:
    """The smallest case has one fault."""
    found = search(pool, SEAMS["ar-batch"], with_verdict([Verdict.SILENT]), 300, seed=1).found

    assert found is not None
    assert found.verdict is Verdict.SILENT
    assert "+" not in found.fault
    assert found.payload.startswith("[")


def test_equal_seeds_try_equal_cases(pool: Pool) -> None:
    """A search can be repeated."""
    first, second = (search(pool, SEAMS["ar-split"], unfit, 40, seed=3) for _ in range(2))

    assert first.verdicts == second.verdicts
    assert first.tried == second.tried


@pytest.mark.parametrize("seam", AR_SEAMS)
def test_a_release_has_nothing_unfit(seam: str, pool: Pool) -> None:
    """No guard broken, no false alarm, nothing inconclusive in some hundred fuzzed payloads."""
    done = search(pool, SEAMS[seam], unfit, 150, seed=0)

    assert done.found is None
    assert done.tried >= 100


def test_the_test_to_paste_holds(run_case: Callable[[str], CaseResult], pool: Pool) -> None:
    """It is Python, passes on what it was found on, and fails on another verdict."""
    (result,) = pool.run([parse("ar-batch reordering records=2 shape=64x96 at=0,1")])
    space: dict[str, Callable[[object], None]] = {}

    exec(pasteable_test(result), space)

    space["test_ar_batch_reordering"](run_case)
    with pytest.raises(AssertionError):
        space["test_ar_batch_reordering"](lambda line: replace(result, verdict=Verdict.REFUSED))
