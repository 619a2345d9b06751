"""A fault-injection session: doses, its record, and a clean end."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.errors import UsageError
from harness.session import Record, plan_of
from harness.telling import unheard
from simulators.ar_server.asking import batch_request

ASKED = batch_request([[1], [2, 2], [3, 3, 3]], 64, 96)
Start = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts `serve ar` on a free port and returns it with its URL."""
    started: list[subprocess.Popen[str]] = []

    def begin(*options: str) -> tuple["subprocess.Popen[str]", str]:
        command = [sys.executable, "-m", "harness.cli", "serve", "ar", "--port", "0", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        started.append(process)
        assert process.stdout is not None
        found = re.search(r"http://\S+:\d+", process.stdout.readline())
        assert found is not None
        return process, found[0].rstrip(";")

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def owners(url: str) -> list[int]:
    """Ask once, and return whose items come, by the tokens of their prompts."""
    reply: Any = httpx.post(f"{url}/generate", json=ASKED).json()
    return [item["meta_info"]["prompt_tokens"] for item in reply]


def test_a_dose_hits_the_requests_that_it_names(start: Start, tmp_path: Path) -> None:
    """Every second one is swapped, and the record has a line for each."""
    process, url = start("--fault", "reordering:0,2", "--dose", "every:2", "--record", "r.jsonl")

    seen = [owners(url) for _ in range(4)]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()

    assert seen == [[1, 2, 3], [3, 2, 1]] * 2
    assert process.returncode == 0
    assert err == ""
    assert "ended: 2 faulted and 2 honest exchanges" in out
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [line["injected"] for line in lines] == [False, True, False, True]
    assert lines[0]["request"] == ASKED
    assert [i["meta_info"]["prompt_tokens"] for i in json.loads(lines[1]["body"])] == [3, 2, 1]


def test_a_kill_loses_no_exchange_that_was_answered(start: Start, tmp_path: Path) -> None:
    """Each line is written as it happens."""
    process, url = start("--record", "r.jsonl")

    owners(url)
    process.kill()
    process.communicate()

    (line,) = (tmp_path / "r.jsonl").read_text().splitlines()
    assert json.loads(line)["status"] == 200


def test_an_interrupt_ends_it_cleanly(start: Start) -> None:
    """Ctrl-C is how a person ends it."""
    process, url = start()
    owners(url)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()

    assert (process.returncode, err) == (0, "")
    assert "ended: 0 faulted and 1 honest exchanges" in out


def test_faults_of_the_wire_can_be_served(start: Start) -> None:
    """A gateway's page, with its status."""
    _, url = start("--fault", "html-502")

    reply = httpx.post(f"{url}/generate", json=ASKED)

    assert (reply.status_code, reply.headers["content-type"]) == (502, "text/html")


def test_a_port_in_use_is_one_clear_error(start: Start) -> None:
    """Exit code 2, one line, and the mend."""
    _, url = start()
    port = url.rpartition(":")[2]
    command = [sys.executable, "-m", "harness.cli", "serve", "ar", "--port", port]

    said = subprocess.run(command, capture_output=True, text=True, check=False)

    assert said.returncode == 2
    assert said.stderr == (
        f"seamproof: cannot listen on 127.0.0.1 port {port}: {os.strerror(98)}; "
        "name another with --port or --host\n"
    )


@pytest.mark.parametrize(
    ("faults", "dose", "told"),
    [
        (["reorderin"], "always", "did you mean reordering"),
        (["reordering:x"], "always", "no list of record numbers"),
        (["reordering:0"], "always", "no such place in any reply"),
        (["rows-wide"], "always", "changes rows, not a reply"),
        ([], "evry:2", "expected one of always"),
    ],
)
def test_a_plan_that_cannot_be_is_named(faults: list[str], dose: str, told: str) -> None:
    """Fault, place or dose."""
    with pytest.raises(UsageError) as error:
        plan_of(faults, dose, 0)
    assert told in str(error.value)


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Before anything is served."""
    with pytest.raises(UsageError, match="cannot be written"):
        Record(tmp_path / "no" / "r.jsonl", unheard)
