"""The command line: what it starts, what it says, how it ends, and what it makes of bad input."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_server, socket
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from contracts import CONTRACTS
from contracts.releases import NEWEST, OLDEST
from harness.case import cases, parse
from harness.cli import app
from harness.seams import SEAMS
from harness.verdict import ExitCode, Promise, Verdict
from simulators.faults import FAULTS

Sabotage = Callable[[Callable[[str], str]], Path]
#: Few cases, of every promise but broken.
FEW = ("--seam", "ar-split", "--fault", "omission")
OMISSION = "ar-split omission records=2 shape=64x96 at=0"
REORDERING = "ar-split reordering records=2 shape=64x96 at=0,1"


def called(*words: str) -> Any:
    """Return what a command said, run in this process: its workers share a fork server."""
    return CliRunner().invoke(app, list(words), env={"COLUMNS": None})


def started(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Return what a command said, run as people run it, without this terminal's width."""
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**env, **environment},
    )


def removed_guard(text: str) -> str:
    """Return the stage without the guard of ar-split."""
    guard = r"raise RuntimeError\(\s+\"Cannot split.*?\n            \)"
    return re.sub(guard, "pass", text, flags=re.S)


# What it starts.


@pytest.mark.parametrize(
    "words",
    [
        "app(['--help'], standalone_mode=False)",
        "app(['check', '--help'], standalone_mode=False)",
        "app(['list'], standalone_mode=False)",
        "app(['list', 'clauses'], standalone_mode=False)",
        "app(['explain', 'ar-batch'], standalone_mode=False)",
        "app(['explain', 'reordering'], standalone_mode=False)",
        "app(['doctor'], standalone_mode=False)",
        "import harness.pytest_plugin",
        "import harness.runner, harness.snapshot, harness.against",
    ],
)
def test_what_only_tells_imports_nothing_heavy(words: str) -> None:
    """No torch, triton, numpy or hypothesis: they cost seconds."""
    script = (
        f"import sys\nfrom harness.cli import app\n{words}\nprint(*sys.modules, file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    loaded = set(done.stderr.split())
    assert "harness.cli" in loaded
    assert not loaded & {"torch", "triton", "hypothesis", "numpy", "requests"}


def test_no_command_shows_the_help() -> None:
    """Whoever types only the name is told the commands, an example and the exit codes."""
    said = called("--help").output

    for word in ("check", "run", "list", "explain", "doctor", "Exit codes", "Example"):
        assert word in said
    assert called().output == said


# What it makes of bad input.

BAD = {
    "an unknown release": (["check", "v0.5.23"], "source 'v0.5.23' is no release, no path"),
    "a path that is not there": (["check", "./nowhere"], "source './nowhere' is no release"),
    "a path that is no tree": (["check", "EMPTY"], "is no SGLang tree: neither"),
    "a path as an option": (["check", "--sglang", "EMPTY"], "is no SGLang tree: neither"),
    "a commit of no repository": (["check", "git:EMPTY@main"], "no git repository in"),
    "a commit without a path": (["check", "git:main"], "expected git:PATH@REF"),
    "two sources": (["check", NEWEST, "--sglang", "0.5.18"], "two sources are named: 0.5.23 and"),
    "a seam": (["check", "--seam", "ar-bach"], "unknown seam 'ar-bach': did you mean ar-batch"),
    "a seam like no other": (
        ["check", "--seam", "qqq"], f"'qqq': there are {len(SEAMS)}; seamproof list shows them"
    ),
    "a fault": (["check", "--fault", "omision"], "unknown fault 'omision': did you mean omission"),
    "one fault of two": (["check", "--fault", "omission", "--fault", "x*"], "unknown fault 'x*'"),
    "a device": (["check", "--device", "tpu"], "--device tpu: there is auto, cpu, interpreter,"),
    "a source to compare with": (
        ["check", NEWEST, *FEW, "--against", "EMPTY"], "is no SGLang tree: neither"
    ),
    "a list": (["list", "seem"], "unknown list 'seem': did you mean seams"),
    "a name to explain": (["explain", "ar-bacht"], "unknown name 'ar-bacht': did you mean"),
    "a clause": (
        ["explain", "ar-batch/reply-cuont"], "unknown clause of ar-batch 'reply-cuont': did you"
    ),
    "a source to explain on": (["explain", "ar-batch", "--sglang", "EMPTY"], "is no SGLang tree"),
    "a source to run on": (["run", OMISSION, "--sglang", "EMPTY"], "is no SGLang tree"),
}  # fmt: skip
BAD_CASES = {
    "": "is too short: expected a seam, a fault and its sizes",
    "ar-batch": "is too short",
    "ar-bach omission records=2 shape=64x96": "unknown seam 'ar-bach': did you mean ar-batch",
    "ar-batch omision records=2 shape=64x96": "unknown fault 'omision': did you mean omission",
    "ar-split merge records=2 shape=64x96": "merge has no meaning for ar-split's payload",
    "ar-batch omission records shape=64x96": "'records' is no key=value",
    "ar-batch omission records= shape=64x96": "'records=' is no key=value",
    "ar-batch omission shape=64x96": "records= is missing (a count of records, 1 to 64)",
    "ar-batch omission records=2": "shape= is missing (height x width in pixels",
    "ar-batch omission records=0 shape=64x96": "records=0: expected a count of records, 1 to 64",
    "ar-batch omission records=65 shape=64x96": "records=65: expected a count of records",
    "ar-batch omission records=-1 shape=64x96": "records=-1: expected a count of records",
    "ar-batch omission records=two shape=64x96": "records=two: expected a count of records",
    "ar-batch omission records=2 shape=64": "shape=64: expected height x width in pixels",
    "ar-batch omission records=2 shape=64x95": "shape=64x95: expected height x width in pixels",
    "ar-batch omission records=2 shape=0x96": "shape=0x96: expected height x width in pixels",
    "ar-batch omission records=2 shape=64x96 entry=x": "entry=x: expected grouped, batch or",
    "ar-batch omission records=2 shape=64x96 recods=3": "'recods': did you mean records",
    "ar-batch omission records=3 shape=64x96 outputs=2": "outputs=2 does not divide records=3",
    "ar-batch omission records=2 shape=64x96 outputs=2": "entry=grouped needs two prompts or more",
    "ar-batch omission records=2 shape=64x96 entry=forward": "records and outputs are equal",
    "ar-batch omission records=2 shape=64x96 seed=x": "seed=x is no whole number",
    "ar-batch omission records=2 shape=64x96 seed=-1": "seed=-1 is no whole number",
    "ar-batch omission records=2 shape=64x96 at=x": "at=x is no list of record numbers",
    "ar-batch omission records=2 shape=64x96 at=2": "no place '2' in 2 records; places: 0",
    "ar-batch reordering records=2 shape=64x96 at=0": "reordering has no place '0' in 2 records",
    "ar-batch omission records=2 shape=64x96 at=0;1": "2 places for 1 faults",
    "ar-batch omission+nothing records=2 shape=64x96": "unknown fault 'nothing'",
}  # fmt: skip


@pytest.mark.parametrize("what", [*BAD, *(f"the case {line!r}" for line in BAD_CASES)])
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It names the input and the mend, on the error stream, without a traceback."""
    monkeypatch.chdir(tmp_path)
    given = {f"the case {line!r}": (["run", line], said) for line, said in BAD_CASES.items()}
    words, said = {**BAD, **given}[what]
    (tmp_path / "empty").mkdir()

    done = called(*(word.replace("EMPTY", str(tmp_path / "empty")) for word in words))

    (line,) = done.stderr.splitlines()
    assert done.exit_code == ExitCode.USAGE
    assert line.startswith("seamproof: ")
    assert said in line
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize(
    "words",
    ["frobnicate", "check --nothing", "check --format xml", "check --jobs 0", "check a b", "run"],
)
def test_bad_usage_is_exit_code_2(words: str) -> None:
    """What the parser refuses names the word and how to be helped."""
    done = called(*words.split())

    assert done.exit_code == ExitCode.USAGE
    assert "Usage:" in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_bad_input_is_told_on_the_error_stream_of_a_process(tmp_path: Path) -> None:
    """As people meet it: nothing on the output, one line on the error stream, exit code 2."""
    done = started("check", str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"seamproof: source '.*' is no SGLang tree: .*\n", done.stderr)


@pytest.mark.parametrize("text", ["def broken(:\n", "\0", "caf\udce9 = 1\n"])
def test_a_tree_that_is_no_python_is_exit_code_2(sabotaged: Sabotage, text: str) -> None:
    """The file is named, and how it cannot be read."""
    tree = sabotaged(lambda whole: f"{whole}\n")
    (stage,) = tree.rglob("glm_image.py")
    stage.write_bytes(text.encode(errors="surrogateescape"))

    done = called("check", str(tree), *FEW)

    (line,) = done.stderr.splitlines()
    assert done.exit_code == ExitCode.USAGE
    assert line.startswith("seamproof: ")
    assert "glm_image.py" in line


# How a check ends, and what it writes.


def test_json_has_every_key(newest: Any) -> None:
    """An object: what was checked, each case, and the counts."""
    done = called("check", *FEW, "--format", "json")

    report = json.loads(done.stdout)
    wanted = [c.line for c in cases(SEAMS["ar-split"]) if c.fault in ("noop", "omission")]
    keys = ("seam", "fault", "case", "verdict", "promise", "exception", "message", "clauses")
    assert done.exit_code == ExitCode.OK
    assert set(report) >= {"release", "source", "mode", "device", "seed", "cases", "summary"}
    assert (report["release"], report["source"]) == (NEWEST, NEWEST)
    assert (report["mode"], report["device"]) == ("hermetic", "cpu")
    assert [case["case"] for case in report["cases"]] == wanted
    assert all({*keys, "detail", "seconds", "damage"} <= set(case) for case in report["cases"])
    harmed = {case["verdict"] for case in report["cases"] if case["damage"]}
    assert harmed <= {"silent", "hung", "crashed"}
    assert {case["verdict"] for case in report["cases"]} <= set(Verdict)
    assert {case["promise"] for case in report["cases"]} == {"kept", "open"}
    assert sum(report["summary"]["verdicts"].values()) == len(wanted)
    assert sum(report["summary"]["promises"].values()) == len(wanted)
    assert report["summary"]["unreachable"] == []


def test_markdown_is_tables(newest: Any) -> None:
    """One table for each seam, every row with as many cells as its head."""
    done = called("check", *FEW, "--format", "markdown")

    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert done.stdout.startswith(f"### SGLang {NEWEST}, hermetic, device cpu\n")
    assert "#### ar-split" in done.stdout
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_junit_is_one_test_for_each_case(newest: Any) -> None:
    """Open promises pass, and fail with --strict; what failed says how to run it again."""
    plain = ElementTree.fromstring(called("check", *FEW, "--format", "junit").stdout)
    done = called("check", *FEW, "--format", "junit", "--strict")
    strict = ElementTree.fromstring(done.stdout)

    lines = [case.get("name", "").strip("[]") for case in plain.iter("testcase")]
    opened = [case for case in strict.iter("testcase") if case.find("failure") is not None]
    assert [parse(line).line for line in lines] == lines
    assert not list(plain.iter("failure"))
    assert done.exit_code == ExitCode.BROKEN
    assert opened
    assert strict.find("testsuite").get("failures") == str(len(opened))  # type: ignore[union-attr]
    assert all("seamproof run 'ar-split omission" in case.find("failure").text for case in opened)  # type: ignore[union-attr,operator]


def test_the_table_fits_and_is_plain_where_nobody_looks() -> None:
    """In a file or a pipe: no line over 100 columns, and no colour with NO_COLOR."""
    done = started("check", "--seam", "ar-split", NO_COLOR="1")

    lines = done.stdout.splitlines()
    assert done.returncode == ExitCode.OK
    assert lines[0].strip() == f"SGLang {NEWEST}, hermetic, device cpu"
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in done.stdout + done.stderr
    assert all(
        any(line.startswith(f" {fault} ") for line in lines) for fault in ("noop", "omission")
    )
    assert "0 broken" in done.stdout


def test_an_open_promise_fails_only_with_strict(newest: Any) -> None:
    """Exit code 0, and 1 with --strict; a case that is kept is 0 either way."""
    kept = ("--seam", "ar-split", "--fault", "body-strided")

    assert called("check", *FEW).exit_code == ExitCode.OK
    assert called("check", *FEW, "--strict").exit_code == ExitCode.BROKEN
    assert called("check", *kept, "--strict", "--require-all").exit_code == ExitCode.OK


def test_a_broken_promise_is_exit_code_1_and_leads_the_report(sabotaged: Sabotage) -> None:
    """The case and what it did are printed beneath the table."""
    done = called("check", str(sabotaged(removed_guard)), *FEW)

    assert done.exit_code == ExitCode.BROKEN
    assert "broken ar-split omission records=2 shape=64x96 at=0" in done.output
    assert "silent: request 1 is empty" in done.output


def test_an_inconclusive_case_is_exit_code_3_and_says_why(sabotaged: Sabotage) -> None:
    """What could not be judged is never a pass."""
    tree = sabotaged(lambda text: text.replace("output_req.seeds = None", "randn_tensor(1)"))

    done = called("check", str(tree), *FEW)

    assert done.exit_code == ExitCode.INCONCLUSIVE
    assert "ar-split is inconclusive" in done.output
    assert "randn_tensor was reached" in " ".join(done.output.split())


def test_an_absent_seam_is_said_and_fails_nothing() -> None:
    """A release from before the function: one line, no case, exit code 0."""
    done = called("check", OLDEST, "--seam", "ar-split", "--strict")
    report = json.loads(called("check", OLDEST, "--seam", "ar-split", "--format", "json").stdout)

    assert done.exit_code == ExitCode.OK
    assert f"ar-split is absent: {OLDEST} has no GlmImageAR.iter_sequential" in done.output
    assert [case["verdict"] for case in report["cases"]] == ["absent"]
    assert [case["promise"] for case in report["cases"]] == [None]


def test_a_tree_without_any_seam_is_absent_throughout(tmp_path: Path) -> None:
    """Each seam is named once, and the assumed release is said."""
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("")

    done = called("check", str(tmp_path))

    assert done.exit_code == ExitCode.OK
    said = " ".join(done.output.split())
    assert all(f"{seam} is absent: {NEWEST} has no sglang." in said for seam in SEAMS)
    assert f"SGLang {NEWEST} (assumed: the tree does not say)" in done.output


# Against another source.


def test_against_a_release_without_a_difference(newest: Any) -> None:
    """The committed snapshot is read: nothing else is run."""
    done = called("check", *FEW, "--against", "0.5.18")

    assert done.exit_code == ExitCode.OK
    assert "No case differs from 0.5.18." in done.output


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_against_a_release_with_differences(sabotaged: Sabotage, form: str) -> None:
    """Each case whose verdict is another one, the broken ones first."""
    tree = sabotaged(removed_guard)

    done = called("check", str(tree), *FEW, "--against", NEWEST, "--format", form)

    changed = [c for c in cases(SEAMS["ar-split"]) if c.fault == "omission"]
    changed = [c for c in changed if dict(c.dims)["records"] != "1"]
    assert done.exit_code == ExitCode.BROKEN
    if form == "table":
        assert f"{len(changed)} cases differ from {NEWEST}:" in done.output
        assert f"  broken: {len(changed)}" in done.output
        assert "omission records=2 shape=64x96 at=0: refused -> silent" in done.output
    elif form == "markdown":
        assert f"#### Against {NEWEST}: {len(changed)} cases differ" in done.stdout
        assert done.stdout.count("- broken: `ar-split omission") == len(changed)
    else:
        said = json.loads(done.stdout)
        assert said["against"] == NEWEST
        assert [d["change"] for d in said["differences"]] == ["broken"] * len(changed)
        assert {d["after"]["verdict"] for d in said["differences"]} == {"silent"}
        assert said["summary"]["promises"]["broken"] == len(changed)


def test_against_a_tree_runs_it_too(sabotaged: Sabotage) -> None:
    """A source without snapshots is checked: here the newest release against a broken copy."""
    done = called("check", NEWEST, *FEW, "--against", str(sabotaged(removed_guard)))

    assert done.exit_code == ExitCode.OK
    assert "omission records=2 shape=64x96 at=0: silent -> refused" in done.output


# One case, and the tables.


def test_run_shows_everything_of_one_case(newest: Any) -> None:
    """The line, upstream, the fault's picture, what is broken, the error and where it came from."""
    done = called("run", OMISSION)

    assert done.exit_code == ExitCode.OK
    for said in (OMISSION, NEWEST, FAULTS["omission"].picture, "rows-count at prior_token_id",
                 "RuntimeError: Cannot split GLM-Image AR output", "raised by upstream",
                 "in iter_sequential_requests", "refused", "kept"):  # fmt: skip
        assert said in " ".join(done.output.split())


def test_run_as_json_has_the_keys_of_a_case_and_more(newest: Any) -> None:
    """What `check` says of a case, with the violations and the frames."""
    said = json.loads(called("run", REORDERING, "--format", "json").stdout)

    assert (said["case"], said["verdict"], said["promise"]) == (REORDERING, "silent", "open")
    assert said["release"] == NEWEST
    assert [v.split()[0] for v in said["violations"]] == said["clauses"] * 2
    assert said["frames"] == []


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (removed_guard, ExitCode.BROKEN),
        (lambda text: text.replace("output_req.seeds = None", "randn_tensor(1)"),
         ExitCode.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_run_ends_like_a_check(
    sabotaged: Sabotage, edit: Callable[[str], str], code: ExitCode
) -> None:
    """1 for a broken promise, 3 for a case that could not be judged."""
    case = OMISSION if code is ExitCode.BROKEN else REORDERING

    assert called("run", case, "--sglang", str(sabotaged(edit))).exit_code == code


@pytest.mark.parametrize("what", ["seams", "clauses", "faults", "verdicts", "releases"])
def test_list_gives_each_table(what: str) -> None:
    """The same rows for people and for machines."""
    rows = json.loads(called("list", what, "--format", "json").stdout)
    counts = {
        "seams": len(SEAMS),
        "clauses": sum(len(contract.clauses) for contract in CONTRACTS.values()),
        "faults": len(FAULTS),
        "verdicts": len(Verdict),
    }

    assert len(rows) == counts.get(what, len(rows)) > 0
    shown = called("list", what).output
    assert all(str(row[what.rstrip("s")])[:20] in shown for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        *SEAMS,
        *(f"{seam}/{clause.name}" for seam, c in CONTRACTS.items() for clause in c.clauses),
        "reordering",
        "noop",
        *Verdict,
    ],
)
def test_explain_knows_every_name(newest: Any, name: str) -> None:
    """Every seam, clause, fault and verdict, in words and as JSON."""
    plain, machine = called("explain", name), called("explain", name, "--format", "json")

    said = json.loads(machine.stdout)
    assert (plain.exit_code, machine.exit_code) == (ExitCode.OK, ExitCode.OK)
    assert name in list(said.values())
    assert all(key in plain.output for key in said)


def test_explain_names_the_line_of_a_guard(newest: Any) -> None:
    """The place in the source under test, with its line; in another release, another one."""
    said = called("explain", "ar-split/rows-count").output
    before = called("explain", "ar-split/rows-count", "--sglang", OLDEST).output

    assert re.search(r"raised at: sglang/\S+glm_image\.py:\d+ in GlmImageAR\.iter_sequential", said)
    assert f"raised at: nowhere in {OLDEST}" in before


def test_doctor_says_what_is_there_and_what_is_missing() -> None:
    """Versions, git, pip, the cache and what is in it."""
    said = json.loads(called("doctor", "--format", "json").stdout)

    assert {"python", "torch", "triton", "pip", "git", "gpu", "cache", "releases"} <= set(said)
    assert f"newest known: {NEWEST}" in said["releases"]
    assert all(said[name] in called("doctor").output for name in ("torch", "cache"))


# The end by hand.


@pytest.fixture
def door() -> Iterator[socket]:
    """A listener on loopback, by which a stage can say that it runs."""
    with create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


@pytest.mark.parametrize("whom", ["the process", "its group, as a terminal does"])
def test_an_interrupt_ends_the_run_with_130(sabotaged: Sabotage, door: socket, whom: str) -> None:
    """One line, no traceback, and the worker that was in the middle of a case is gone."""
    knock = (
        "import socket\n        s = socket.create_connection(('127.0.0.1', "
        f"{door.getsockname()[1]}))\n        s.recv(1)\n        output_req = copy(batch)"
    )
    tree = sabotaged(lambda text: text.replace("output_req = copy(batch)", knock))
    running = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "run", REORDERING, "--sglang", str(tree)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    worker, _ = door.accept()

    if whom == "the process":
        running.send_signal(signal.SIGINT)
    else:
        os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)

    worker.settimeout(60)
    assert running.returncode == ExitCode.INTERRUPTED
    assert (out, err) == ("", "seamproof: interrupted\n")
    assert worker.recv(1) == b""
    worker.close()


def test_every_exit_code_is_in_the_help() -> None:
    """The help says what each means."""
    said = " ".join(called("--help").output.split())

    assert all(re.search(rf"\b{int(code)}\b", said) for code in ExitCode)
    assert Promise.BROKEN in said
