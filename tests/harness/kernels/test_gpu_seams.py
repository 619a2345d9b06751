"""The seams' parts of the check of a card, on the CPU: what is chosen, compared, and told."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.case import cases
from harness.gpu_part import Asked
from harness.gpu_seams import chosen, judged, kernel_seams, other_seams
from harness.result import CaseResult
from harness.seams import SEAMS
from harness.snapshot import read
from harness.upstream.source import Tree
from harness.verdict import Promise, Verdict

GOLDEN = "ar-split noop records=2 shape=64x96"
LOST = "ar-split omission records=2 shape=64x96 at=0"


def results(tree: Tree) -> list[CaseResult]:
    """Return two results as they are committed, with tensors on a card."""
    known = read(tree.release, SEAMS["ar-split"]).cases
    found = [line for line in known if line.startswith((GOLDEN, LOST))][:2]
    return [
        CaseResult(
            "ar-split",
            line.split()[1],
            line,
            Verdict(known[line]["verdict"]),
            Promise(known[line]["promise"]),
            on_card=True,
        )
        for line in found
    ]


def test_verdicts_as_they_are_committed_are_fit(newest: Tree) -> None:
    """And nothing differs; a seam that had tensors on a card is named."""
    part = judged("other_seams", newest, results(newest))

    assert (part.state, part.cases, part.said) == ("fit", 2, [])
    assert part.figures["differs"] == []
    assert (part.figures["on_card"], part.figures["not_on_card"]) == (["ar-split"], [])


def test_another_verdict_is_a_figure_and_a_broken_promise_is_unfit(newest: Tree) -> None:
    """Both sides are told."""
    golden, lost = results(newest)
    other = replace(lost, verdict=Verdict.HUNG, promise=Promise.OPEN, detail="hung in split")
    broken = replace(golden, verdict=Verdict.SILENT, promise=Promise.BROKEN)

    part = judged("other_seams", newest, [golden, other])
    assert part.state == "fit"
    assert part.said == ["1 verdicts are not the committed ones: see differs"]
    assert part.figures["differs"] == [
        {"case": lost.case, "cpu": "refused kept", "here": "hung open", "detail": "hung in split"}
    ]
    part = judged("other_seams", newest, [broken, lost])
    assert part.state == "unfit"
    assert part.said[0] == f"{golden.case}: silent broken"


def test_what_cannot_be_judged_or_was_left_is_no_pass(newest: Tree) -> None:
    """A seam that lacks a package is told by its name, and is no failure."""
    golden, lost = results(newest)
    lacking = replace(lost, verdict=Verdict.UNAVAILABLE, promise=None, detail="no package zmq")
    unsure = replace(lost, verdict=Verdict.INCONCLUSIVE, promise=None, detail="a stub")

    part = judged("other_seams", newest, [golden, lacking])
    assert (part.state, part.said) == ("fit", [])
    assert part.figures["unavailable"] == {"ar-split": "no package zmq"}
    assert judged("other_seams", newest, [golden, unsure]).state == "inconclusive"
    part = judged("other_seams", newest, [golden], left=["ar-seed"])
    assert (part.state, part.said) == ("inconclusive", ["there was no time for ar-seed"])


@pytest.mark.parametrize("seam", ["ar-batch", "shard-kv-guard", "kernel-pack-qkv"])
def test_cases_are_chosen_from_all_over_the_table(seam: str) -> None:
    """So many at most of each kind, none twice; no number is all."""
    every = list(cases(SEAMS[seam]))
    few = chosen(SEAMS[seam], 3, 7)
    goldens = [case for case in few if case.is_golden]

    assert len(set(few)) == len(few)
    assert 1 <= len(goldens) <= 3
    assert 1 <= len(few) - len(goldens) <= 7
    assert every.index(few[-1]) >= len(every) // 2
    assert set(chosen(SEAMS[seam], None, None)) == set(every)


def test_without_a_tree_no_seam_is_driven(tmp_path: Path) -> None:
    """Which is told."""
    asked = Asked(tmp_path, "interpreter", True, None)

    for part in (kernel_seams(asked), other_seams(asked)):
        assert (part.state, part.said) == ("unavailable", ["no tree of SGLang was given"])


def test_few_cases_of_few_seams_run_on_the_cpu(tmp_path: Path, newest: Tree) -> None:
    """As they would with a card; here none is used, which is told too."""
    part = other_seams(Asked(tmp_path, "interpreter", True, str(newest.root)))

    assert (part.state, part.said) == ("fit", [])
    assert part.cases >= 15
    assert part.figures["release"] == newest.release
    assert part.figures["on_card"] == []
    not_on_card = part.figures["not_on_card"]
    assert isinstance(not_on_card, list)
    assert len(not_on_card) == len([s for s in SEAMS.values() if not s.kernel][::8])


def test_few_cases_of_kernels_run_in_the_interpreter(tmp_path: Path, newest: Tree) -> None:
    """All seams with kernels; what it cannot run is unavailable."""
    part = kernel_seams(Asked(tmp_path, "interpreter", True, str(newest.root)))

    assert (part.state, part.said) == ("fit", [])
    assert part.figures["differs"] == []
    assert part.figures["not_on_card"] == sorted(s.name for s in SEAMS.values() if s.kernel)
