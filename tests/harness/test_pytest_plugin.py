"""The pytest plugin: one item for each case, and fixtures, that work as people expect of pytest."""

import multiprocessing.popen_forkserver  # noqa: F401 - or each inner run starts its own server
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch  # noqa: F401 - pytester forgets what a test imports, and torch cannot be imported twice

from contracts.releases import NEWEST, OLDEST
from harness.case import cases
from harness.seams import SEAMS
from harness.upstream.source import Tree, find

Sabotage = Callable[[Callable[[str], str]], Path]

OMISSION = "ar-split omission records=2 shape=64x96 at=0"
REORDERING = "ar-split reordering records=2 shape=64x96 at=0,1"
#: Few cases: two kept promises, and one that is open.
FEW = [
    f"seamproof::{line}" for line in ("ar-split noop records=2 shape=64x96", OMISSION, REORDERING)
]


@pytest.fixture(scope="session")
def cache_folder(newest: Tree) -> Path:
    """The user's cache with both releases in it: an inner run has another home."""
    find(OLDEST)
    return newest.root.parents[1]


@pytest.fixture
def inner(
    cache_folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """A folder with one test of its own, in which pytest is run."""
    monkeypatch.setenv("SEAMPROOF_CACHE", str(cache_folder))
    # Hypothesis' own plugin imports it anew in each inner run, which takes a second.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    pytester.makepyfile(test_own="def test_own(): pass")
    return pytester


def without_the_guard(text: str) -> str:
    """Return the stage whose split is not guarded."""
    before = "prior_token_ids.shape[0] != output_count"
    return text.replace(before, "False")


def reaching_a_stub(text: str) -> str:
    """Return the stage that reaches a stub when it splits."""
    return text.replace("output_req.seeds = None", "randn_tensor(1)")


def test_without_a_source_nothing_is_added(inner: pytest.Pytester) -> None:
    """A plain run is as it would be without the plugin."""
    result = inner.runpytest("-rA")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*seamproof: SGLang*")
    result.stdout.no_fnmatch_line("*= seamproof =*")


def test_the_options_are_explained(inner: pytest.Pytester) -> None:
    """They are found under the tool's name in the help."""
    inner.runpytest("--help").stdout.fnmatch_lines(
        ["contract cases of SGLang*", "*--sglang=SOURCE*", "*--seam=SEAM*", "*--fault=FAULT*",
         "*--seamproof-device=*", "*--seamproof-strict*"]
    )  # fmt: skip


def test_each_case_is_an_item_whose_id_is_its_line(inner: pytest.Pytester) -> None:
    """Collected beside the tests that are there anyway, in the order of a check."""
    result = inner.runpytest(
        "--collect-only", "-q", "--sglang", NEWEST, "--seam", "ar-sp*", "--fault", "reordering*"
    )

    wanted = [c.line for c in cases(SEAMS["ar-split"]) if c.fault.startswith(("noop", "reord"))]
    collected = [line for line in result.outlines if "::" in line]
    assert collected == ["test_own.py::test_own", *(f"seamproof::{line}" for line in wanted)]


def test_the_cases_can_be_run_alone(inner: pytest.Pytester) -> None:
    """`seamproof::` names all of them and nothing else; `seamproof::CASE` one."""
    every = inner.runpytest(
        "--collect-only", "-q", "--sglang", NEWEST, "--seam", "ar-split", "seamproof::"
    )
    one = inner.runpytest("-v", "--sglang", NEWEST, f"seamproof::{OMISSION}")

    collected = [line for line in every.outlines if "::" in line]
    assert collected == [f"seamproof::{case.line}" for case in cases(SEAMS["ar-split"])]
    one.assert_outcomes(passed=1)
    one.stdout.fnmatch_lines([f"seamproof::{OMISSION} PASSED*"])


def test_a_case_can_be_run_beside_a_file(inner: pytest.Pytester) -> None:
    """A file that is named is collected as ever."""
    inner.runpytest("--sglang", NEWEST, FEW[0], "test_own.py").assert_outcomes(passed=2)


def test_kept_passes_and_open_warns(inner: pytest.Pytester) -> None:
    """A hole that upstream never promised to close is a warning that says what came out."""
    result = inner.runpytest("--sglang", NEWEST, *FEW)

    result.assert_outcomes(passed=3, warnings=1)
    result.stdout.fnmatch_lines(
        [
            f"seamproof: SGLang {NEWEST} ({NEWEST}), hermetic",
            f"seamproof::{REORDERING}",
            "*OpenPromise: silent: request 0 carries output 1's tokens*",
            "*= seamproof =*",
            "1 upheld, 1 refused, 1 silent",
        ]
    )


def test_strict_fails_what_is_open(inner: pytest.Pytester) -> None:
    """The failure says what is broken, what was seen, and how to run it again."""
    result = inner.runpytest("--sglang", NEWEST, "--seamproof-strict", *FEW)

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "open: silent, request 0 carries output 1's tokens*",
            "  breaks row-identity at *: expected the tokens of 0, got those of 1",
            f"  seamproof run '{REORDERING}' --sglang {NEWEST}",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_broken_promise_fails_with_the_line_that_replays_it(
    inner: pytest.Pytester, sabotaged: Sabotage
) -> None:
    """No traceback of the tool: the case, what it breaks, what came, and the command."""
    tree = sabotaged(without_the_guard)

    result = inner.runpytest(f"--sglang={tree}", *FEW)

    result.assert_outcomes(passed=2, failed=1, warnings=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "broken: silent, request 0 carries output 1's tokens; request 1 is empty",
            "  breaks rows-count at prior_token_id: expected 2 token rows, got 1",
            f"  seamproof run '{OMISSION}' --sglang {tree}",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_what_cannot_be_judged_skips_with_its_reason(
    inner: pytest.Pytester, sabotaged: Sabotage
) -> None:
    """A case is no pass either whose golden run could not be judged; the stub is named."""
    result = inner.runpytest("-rs", f"--sglang={sabotaged(reaching_a_stub)}", *FEW)

    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(["3 inconclusive"])
    result.stdout.fnmatch_lines(["SKIPPED*inconclusive: *randn_tensor was reached*"])


def test_an_absent_seam_is_one_skip_with_its_reason(inner: pytest.Pytester) -> None:
    """A release without the function: one item, not one for each case."""
    result = inner.runpytest(
        "-rs", "--sglang", OLDEST, "--seam", "ar-split", "--fault", "omission", "seamproof::"
    )

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [f"SKIPPED*absent: {OLDEST} has no GlmImageAR.iter_sequential_requests in glm_image.py"]
    )
    result.stdout.fnmatch_lines(["1 absent"])


@pytest.mark.parametrize(
    ("keyword", "selected"),
    [("reordering", [2]), ("not reordering", [3, 0, 1]), ("ar-split", [0, 1, 2]), ("own", [3])],
)
def test_a_keyword_selects_by_seam_and_fault(
    inner: pytest.Pytester, keyword: str, selected: list[int]
) -> None:
    """`-k` sees the names of the seam and of each fault."""
    result = inner.runpytest(
        "--collect-only", "-q", "--sglang", NEWEST, "-k", keyword, *FEW, "test_own.py"
    )

    collected = [line for line in result.outlines if "::" in line]
    assert collected == [[*FEW, "test_own.py::test_own"][index] for index in selected]


def test_only_what_failed_last_is_run_again(inner: pytest.Pytester, sabotaged: Sabotage) -> None:
    """`--lf` knows the cases by their lines."""
    tree = str(sabotaged(without_the_guard))
    inner.runpytest(f"--sglang={tree}", *FEW).assert_outcomes(passed=2, failed=1, warnings=1)

    again = inner.runpytest(f"--sglang={tree}", "--lf", "-v", *FEW)

    again.assert_outcomes(failed=1, deselected=2)
    again.stdout.fnmatch_lines([f"seamproof::{OMISSION} FAILED*"])


def test_several_processes_share_the_cases(inner: pytest.Pytester, sabotaged: Sabotage) -> None:
    """`-n 2`: each case once, with its warning, its failure and the sum of the verdicts."""
    tree = str(sabotaged(without_the_guard))

    result = inner.runpytest("-n", "2", f"--sglang={tree}", *FEW, "test_own.py")

    result.assert_outcomes(passed=3, failed=1, warnings=1)
    result.stdout.fnmatch_lines([f"  seamproof run '{OMISSION}' --sglang {tree}"])
    result.stdout.fnmatch_lines(["*= seamproof =*", "*2 silent*"])


def test_junit_has_each_case_with_its_verdict(
    inner: pytest.Pytester, sabotaged: Sabotage, tmp_path: Path
) -> None:
    """A test case for each, named by its line, with verdict and promise as properties."""
    file = tmp_path / "report.xml"
    inner.runpytest(f"--sglang={sabotaged(without_the_guard)}", f"--junitxml={file}", *FEW)

    found = {case.get("name"): case for case in ElementTree.parse(file).iter("testcase")}
    said = {
        name: {p.get("name"): p.get("value") for p in case.iter("property")}
        for name, case in found.items()
    }
    assert set(found) == {line.removeprefix("seamproof::") for line in FEW}
    assert said[OMISSION] == {"verdict": "silent", "promise": "broken"}
    assert said[REORDERING] == {"verdict": "silent", "promise": "open"}
    assert found[OMISSION].find("failure") is not None
    assert found[REORDERING].find("failure") is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sglang", "nowhere"], "source 'nowhere' is no release, no path and not 'installed'"),
        (["--sglang=."], "source '.' is no SGLang tree"),
        (["--sglang", "."], "write --sglang=.: a path that stands alone"),
        (
            ["--sglang", NEWEST, "--seam", "ar-bach"],
            "unknown seam 'ar-bach': did you mean ar-batch",
        ),
        (["--sglang", NEWEST, "--fault", "omision"], "unknown fault 'omision': did you mean"),
        (["--sglang", NEWEST, "seamproof::ar-split omission"], "records= is missing"),
        (["seamproof::"], "seamproof:: needs a source: name one with --sglang"),
        (["--sglang", NEWEST, "--seamproof-device", "tpu", FEW[0]], "tpu"),
    ],
)
def test_bad_input_is_a_usage_error(inner: pytest.Pytester, words: list[str], said: str) -> None:
    """Exit code 4, one line, no traceback."""
    result = inner.runpytest(*words)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str() + result.stdout.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_a_checkout_under_test_is_no_place_of_pytests(
    inner: pytest.Pytester, sabotaged: Sabotage
) -> None:
    """Its settings are not read, and no cache is written there."""
    tree = sabotaged(without_the_guard)
    (tree / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--nothing'\n")
    before = {file: file.stat().st_mtime_ns for file in tree.rglob("*")}

    result = inner.runpytest(f"--sglang={tree}", *FEW)

    result.assert_outcomes(passed=2, failed=1, warnings=1)
    assert {file: file.stat().st_mtime_ns for file in tree.rglob("*")} == before


def test_the_server_is_a_fixture(inner: pytest.Pytester) -> None:
    """Honest until its plan is set, on loopback, gone when the test is over."""
    inner.makepyfile(
        test_own="""
        import requests

        def test_it_answers(ar_server):
            asked = {
                "input_ids": [[1, 2], [3]],
                "image_data": [[{"image_grid_thw": [[1, 2, 3], [1, 2, 2]]}]] * 2,
                "sampling_params": [{"max_new_tokens": 11}] * 2,
            }
            items = requests.post(f"{ar_server.url}/generate", json=asked, timeout=9).json()

            assert ar_server.url.startswith("http://127.0.0.1:")
            assert [len(item["output_ids"]) for item in items] == [11, 11]
            assert len(ar_server.simulator.exchanges) == 1
        """
    )

    inner.runpytest().assert_outcomes(passed=1)


def test_a_scheduler_is_a_fixture(inner: pytest.Pytester) -> None:
    """It tells every rank the truth, or some of them a lie."""
    inner.makepyfile(
        test_own="""
        def test_it_tells(scheduler):
            assert [one.splits for one in scheduler([5, 3])] == [(5, 3), (5, 3)]
            assert [one.first for one in scheduler([5, 3])] == [0, 5]
            lied = scheduler([5, 3], fault="reordering", to=[1])
            assert [one.splits for one in lied] == [(5, 3), (3, 5)]
            (away, _) = scheduler([5, 3], fault="rank-away")
            assert away.fate == "away"
        """
    )

    inner.runpytest().assert_outcomes(passed=1)


def test_a_case_is_run_by_a_fixture(inner: pytest.Pytester, sabotaged: Sabotage) -> None:
    """On the newest release, or the one that is named; other sources beside it."""
    inner.makepyfile(
        test_own=f"""
        def test_one(run_case):
            assert run_case({OMISSION!r}).verdict == "refused"
            assert run_case({OMISSION!r}, source={str(sabotaged(without_the_guard))!r}).promise == (
                "broken"
            )
            assert run_case({OMISSION!r}, source={OLDEST!r}).verdict == "absent"
        """
    )

    inner.runpytest().assert_outcomes(passed=1)


def test_a_fixture_takes_the_source_of_the_option(inner: pytest.Pytester) -> None:
    """With `--sglang` the fixture runs on that source."""
    inner.makepyfile(
        test_own=f"""
        def test_one(run_case):
            assert run_case({OMISSION!r}).verdict == "absent"
        """
    )

    result = inner.runpytest("--sglang", OLDEST, "-k", "test_one")

    assert result.parseoutcomes()["passed"] == 1
