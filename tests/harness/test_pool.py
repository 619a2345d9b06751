"""A stage that dies or hangs costs one worker: its case says how, every other case is judged."""

import multiprocessing
import tempfile
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

import harness.pool as pool_module
from harness.case import cases as cases_of
from harness.case import parse
from harness.pool import Pool
from harness.result import CaseResult
from harness.runner import run_cases
from harness.seams import SEAMS
from harness.upstream.source import Tree, find
from harness.verdict import Promise, Verdict

Sabotage = Callable[[Callable[[str], str]], Path]

_BEFORE_THE_GUARD = "        if not isinstance(data, list) or len(data) != len(prompts):\n"
#: Nothing is broken; a guarded clause is; an assumed one is; nothing is, under a benign fault.
GOLDEN = "ar-batch noop records=2 shape=64x96"
OMISSION = "ar-batch omission records=2 shape=64x96 at=1"
REORDERING = "ar-batch reordering records=2 shape=64x96 at=0,1"
BENIGN = "ar-batch item-extra-field records=2 shape=64x96 at=0"
#: What is true of the parsed reply under one fault only.
WHERE = {
    GOLDEN: "len(data) == 2 and not any('prompt_routed_experts' in item for item in data)"
    " and data[0]['meta_info']['prompt_tokens'] < data[1]['meta_info']['prompt_tokens']",
    OMISSION: "len(data) == 1",
    REORDERING: "len(data) == 2"
    " and data[0]['meta_info']['prompt_tokens'] > data[1]['meta_info']['prompt_tokens']",
    BENIGN: "'prompt_routed_experts' in data[0]",
}
DEATHS = {
    "os.abort()": "died by SIGABRT",
    "os._exit(3)": "exited with code 3",
    "os.kill(os.getpid(), 9)": "died by SIGKILL",
    "__import__('ctypes').string_at(0)": "died by SIGSEGV",
    "os.closerange(3, 256)": "exited with code 1",
}
HANGS = {
    "while True: pass": "hung in generate_prior_tokens_batch of glm_image.py",
    "__import__('threading').Event().wait()": (
        "hung in generate_prior_tokens_batch of glm_image.py, waiting in wait of threading.py"
    ),
    "__import__('re').match('(a+)+$', 'a' * 50 + 'b')": (
        "hung in generate_prior_tokens_batch of glm_image.py, waiting in match of __init__.py"
    ),
    "__import__('socket').create_server(('127.0.0.1', 0)).accept()": (
        "hung in generate_prior_tokens_batch of glm_image.py, waiting in accept of socket.py"
    ),
}


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent holds the deadline: a hang costs little here, and a case takes far less."""
    for name, seam in SEAMS.items():
        monkeypatch.setitem(SEAMS, name, replace(seam, deadline_s=1.5))


def stage_that(line: str, when: str) -> Callable[[str], str]:
    """Return the edit that runs a line where a condition on the reply holds."""
    sabotage = f"        import os\n        if {when}:\n            {line}\n"
    return lambda text: text.replace(_BEFORE_THE_GUARD, sabotage + _BEFORE_THE_GUARD)


def run(tree: Path, *lines: str, workers: int = 1) -> list[CaseResult]:
    """Return the results of cases, in order."""
    return run_cases(find(str(tree)), [parse(line) for line in lines], workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("line", DEATHS)
def test_a_death_under_a_fault_is_crashed_and_costs_no_other_case(
    sabotaged: Sabotage, line: str, workers: int
) -> None:
    """The death is put in words, and the cases around it are judged, in their order."""
    tree = sabotaged(stage_that(line, WHERE[REORDERING]))
    lines = [GOLDEN, REORDERING, OMISSION, BENIGN, REORDERING.replace("64x96", "32x32")]

    with Pool(find(str(tree)), workers=workers) as pool:
        results = pool.run([parse(text) for text in lines])

    assert [result.case for result in results] == lines
    assert [str(result.verdict) for result in results] == [
        "upheld", "crashed", "refused", "tolerated", "crashed"
    ]  # fmt: skip
    assert results[1].detail == DEATHS[line]


@pytest.mark.parametrize("line", HANGS)
def test_a_hang_under_a_fault_names_where_it_stood(sabotaged: Sabotage, line: str) -> None:
    """The stack names the function, without line numbers in the words; the rest is judged."""
    tree = sabotaged(stage_that(line, WHERE[REORDERING]))

    golden, hung, refused = run(tree, GOLDEN, REORDERING, OMISSION)

    assert (golden.verdict, refused.verdict) == (Verdict.UPHELD, Verdict.REFUSED)
    assert hung.verdict is Verdict.HUNG
    assert hung.detail == HANGS[line]
    assert any(
        frame.startswith("sglang/") and frame.endswith("in generate_prior_tokens_batch")
        for frame in hung.frames
    )


def test_a_hang_too_deep_for_a_whole_stack_names_where_it_stood(
    sabotaged: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack is written to a depth of 100; the innermost frames are enough."""
    monkeypatch.setattr("harness.stack._STACK_S", 0.3)
    deep = "(f := lambda n: f(n - 1) if n else __import__('threading').Event().wait())(200)"

    _, hung = run(sabotaged(stage_that(deep, WHERE[REORDERING])), GOLDEN, REORDERING)

    assert hung.detail == "hung in <lambda> of glm_image.py, waiting in wait of threading.py"


@pytest.mark.parametrize(
    ("line", "case", "promise"),
    [
        ("os.abort()", GOLDEN, Promise.BROKEN),
        ("os.abort()", BENIGN, Promise.BROKEN),
        ("os.abort()", OMISSION, Promise.BROKEN),
        ("os.abort()", REORDERING, Promise.OPEN),
        ("while True: pass", OMISSION, Promise.BROKEN),
        ("while True: pass", REORDERING, Promise.OPEN),
    ],
)
def test_the_promise_of_a_lost_process_is_that_of_what_was_broken(
    sabotaged: Sabotage, line: str, case: str, promise: Promise
) -> None:
    """Open only where nothing but assumed clauses are broken; a golden run has to live."""
    (result,) = run(sabotaged(stage_that(line, WHERE[case])), case)

    assert result.verdict in (Verdict.CRASHED, Verdict.HUNG)
    assert result.promise is promise


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("os.abort()", "the golden run died by SIGABRT"),
        ("while True: pass", "the golden run hung in generate_prior_tokens_batch"),
    ],
)
def test_a_case_whose_golden_run_is_lost_is_inconclusive(
    sabotaged: Sabotage, line: str, said: str
) -> None:
    """There is nothing to compare with; the golden case itself is judged."""
    golden, faulty = run(sabotaged(stage_that(line, WHERE[GOLDEN])), GOLDEN, REORDERING)

    assert golden.verdict in (Verdict.CRASHED, Verdict.HUNG)
    assert golden.promise is Promise.BROKEN
    assert (faulty.verdict, faulty.promise) == (Verdict.INCONCLUSIVE, None)
    assert faulty.detail.startswith(said)


def test_a_stage_that_kills_every_run_is_reported_and_ends(sabotaged: Sabotage) -> None:
    """No case is tried for ever, though each takes its worker with it."""
    golden, *faulty = run(
        sabotaged(stage_that("os.abort()", "True")), GOLDEN, OMISSION, REORDERING, BENIGN
    )

    assert golden.verdict is Verdict.CRASHED
    assert [result.verdict for result in faulty] == [Verdict.INCONCLUSIVE] * 3


def test_a_module_that_kills_its_process_is_inconclusive(sabotaged: Sabotage) -> None:
    """A death while the seam is loaded belongs to no payload."""
    results = run(sabotaged(lambda text: f"import os\nos._exit(7)\n{text}"), GOLDEN, OMISSION)

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert results[0].detail == "the worker exited with code 7 while loading the seam"


@pytest.mark.parametrize("line", ["raise SystemExit(3)", "__import__('sys').exit()"])
def test_a_system_exit_is_an_error_like_any_other(sabotaged: Sabotage, line: str) -> None:
    """It ends no worker: without a documented error it is misreported, and open."""
    golden, faulty, other = run(
        sabotaged(stage_that(line, WHERE[REORDERING])), GOLDEN, REORDERING, OMISSION
    )

    assert (golden.verdict, other.verdict) == (Verdict.UPHELD, Verdict.REFUSED)
    assert (faulty.verdict, faulty.promise) == (Verdict.MISREPORTED, Promise.OPEN)
    assert faulty.exception == "SystemExit"


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_cases(sabotaged: Sabotage, workers: int) -> None:
    """Whichever finishes first, with deaths and hangs between them, over several batches."""
    tree = sabotaged(stage_that("os.abort()", f"({WHERE[REORDERING]}) and len(prompts) == 2"))
    lines = [
        f"{seam} {fault} records={records} shape={shape}"
        for fault in ("reordering", "omission", "noop")
        for records in (2, 3, 4)
        for shape in ("32x32", "64x64", "64x96", "96x64", "128x32", "32x64", "64x32")
        for seam in ("ar-batch", "ar-split")
    ]
    cases = [parse(line) for line in lines]

    with Pool(find(str(tree)), workers=workers) as pool:
        results = pool.run(cases)

    assert [parse(result.case) for result in results] == cases
    died = [result.case for result in results if result.verdict is Verdict.CRASHED]
    assert [parse(line) for line in died] == cases[:14:2]


def test_no_verdict_depends_on_the_seams_that_ran_before(newest: Tree) -> None:
    """One pool, seams of which one needs for real what another stubs, in both orders."""
    seams = [SEAMS[name] for name in ("ar-batch", "ar-request", "ar-distributed-split")]
    golden = [case for seam in seams for case in cases_of(seam) if case.is_golden]

    with Pool(newest, workers=1) as pool:
        forth = pool.run(golden)
    with Pool(newest, workers=1) as pool:
        back = pool.run(golden[::-1])[::-1]

    assert [(r.case, r.verdict, r.detail) for r in forth] == [
        (r.case, r.verdict, r.detail) for r in back
    ]
    assert {result.verdict for result in forth} == {Verdict.UPHELD}


def test_progress_is_told_once_for_each_case(sabotaged: Sabotage) -> None:
    """Also for those that take their worker with them."""
    tree = sabotaged(stage_that("os.abort()", WHERE[REORDERING]))
    told: list[tuple[int, int]] = []
    cases = [parse(line) for line in (GOLDEN, REORDERING, OMISSION)]

    with Pool(find(str(tree)), workers=1) as pool:
        pool.run(cases, lambda done, total: told.append((done, total)))

    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for what the pool keeps while it runs."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.parametrize("line", ["pass", "os.abort()", "while True: pass"])
def test_a_left_pool_leaves_nothing(sabotaged: Sabotage, folder: Path, line: str) -> None:
    """No child lives and no temporary folder stays, after a death and a hang too."""
    tree = sabotaged(stage_that(line, WHERE[REORDERING]))
    others = set(multiprocessing.active_children())

    with Pool(find(str(tree)), workers=2) as pool:
        pool.run([parse(line) for line in (GOLDEN, REORDERING, OMISSION)])
        assert set(multiprocessing.active_children()) - others
        assert list(folder.glob("seamproof-*/*"))

    assert list(folder.glob("seamproof-*")) == []
    assert set(multiprocessing.active_children()) <= others


def test_an_interrupt_in_a_hanging_case_leaves_nothing_either(
    sabotaged: Sabotage, folder: Path
) -> None:
    """The worker that hangs is ended, and the error goes on to the caller."""
    tree = sabotaged(stage_that("while True: pass", WHERE[REORDERING]))
    others = set(multiprocessing.active_children())

    def interrupt(done: int, total: int) -> None:
        assert set(multiprocessing.active_children()) - others
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Pool(find(str(tree)), workers=2) as pool:
        pool.run([parse(line) for line in (GOLDEN, REORDERING)], interrupt)

    assert list(folder.glob("seamproof-*")) == []
    assert set(multiprocessing.active_children()) <= others


def test_a_worker_that_died_idle_is_replaced(sabotaged: Sabotage) -> None:
    """A worker that something else killed between two runs is no finding about upstream."""
    tree = sabotaged(lambda text: f"{text}\n")
    others = set(multiprocessing.active_children())

    with Pool(find(str(tree)), workers=1) as pool:
        (before,) = pool.run([parse(GOLDEN)])
        (idle,) = set(multiprocessing.active_children()) - others
        idle.kill()
        idle.join()
        (after,) = pool.run([parse(GOLDEN)])
        (again,) = pool.run([parse(GOLDEN)])

    assert (before.verdict, again.verdict) == (Verdict.UPHELD, Verdict.UPHELD)
    assert after.verdict in (Verdict.INCONCLUSIVE, Verdict.UPHELD)


@pytest.mark.parametrize(
    ("mode", "seam", "method"),
    [
        ("hermetic", "kernel-pack-qkv", "forkserver"),
        ("installed", "kernel-pack-qkv", "spawn"),
        ("installed", "ar-split", "forkserver"),
    ],
)
def test_an_interpreters_worker_begins_without_triton(
    newest: Tree, monkeypatch: pytest.MonkeyPatch, mode: str, seam: str, method: str
) -> None:
    """The fork server of an installed SGLang has imported it, to be compiled."""
    monkeypatch.setattr(pool_module, "_Worker", lambda context, setup, seam: (context, setup))
    monkeypatch.setattr(pool_module, "_fork_server", lambda tree: get_context("forkserver"))
    pool = Pool(replace(newest, mode=mode), workers=1)

    context, setup = pool._worker(seam)

    assert context.get_start_method() == method
    assert setup.device.interprets(setup.is_kernel) == (seam == "kernel-pack-qkv")
    assert (setup.trust is None) == (seam != "kernel-pack-qkv")


def test_a_spawned_worker_judges_as_a_forked_one_does(
    newest: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here over a hermetic tree, whichever way it begins."""
    lines = ["kernel-pack-qkv noop rows=6", "kernel-pack-qkv qkv-row-less rows=6 at=1"]
    asked = [parse(line) for line in lines]
    verdicts = []
    for method in ("forkserver", "spawn"):
        with Pool(newest, workers=1) as pool:
            monkeypatch.setattr(pool, "_context", get_context(method))
            verdicts.append([result.verdict for result in pool.run(asked)])

    assert verdicts == [[Verdict.UPHELD, Verdict.REFUSED]] * 2
