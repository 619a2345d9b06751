"""The ranks of a confined worker are as confined as it is, and only they may be forked."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.confinement import Children

_PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from harness.confinement import Refused, children, confine
from harness.outcome import Ending, Outcome
from harness.ranks import Ranks
from harness.upstream.source import Tree

here, outside = Path(sys.argv[1]), Path(sys.argv[2])
worker = os.getpid()

def tried(what):
    try:
        what()
    except Refused as error:
        return str(error)
    return "done"

def drive(rank):
    mine = os.getpid()
    (here / f"pid-{rank.index}").write_text(str(mine))
    facts = {
        "fork": tried(os.fork),
        "signal its worker": tried(lambda: os.kill(worker, 0)),
        "signal its peers": tried(lambda: os.kill(int(os.environ["PEER"]), 0)),
        "signal itself": tried(lambda: os.kill(mine, 0)),
        "write outside": tried(lambda: (outside / "new").write_text("a")),
        "write inside": tried(lambda: (here / f"new-{mine}").write_text("a")),
    }
    if os.getpid() != mine:
        os._exit(0)
    if rank.index == 1:
        os.kill(mine, signal.SIGKILL)
    return Outcome(Ending.ACCEPTED, facts=facts)

confine(here)
os.environ["PEER"] = str(os.getppid())
first, second = Ranks(2, Tree("a tree", here, "0.5.23")).run(drive)
pid = int((here / "pid-1").read_text())
after = {
    "fork": tried(os.fork),
    "signal one that was a rank": tried(lambda: os.kill(pid, 0)),
    "live": sorted(children.pids),
}
print(json.dumps({"rank": dict(first.outcome.facts), "lost": second.outcome.death, "after": after}))
"""


@pytest.fixture
def said(tmp_path: Path) -> dict[str, Any]:
    """What a confined process told of its two ranks and of itself."""
    here, outside = tmp_path / "here", tmp_path / "outside"
    here.mkdir()
    outside.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(here), str(outside)],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
        env={**os.environ, "TMPDIR": str(here)},
    )
    assert ran.returncode == 0, ran.stderr
    assert list(outside.iterdir()) == []
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_a_rank_may_do_no_more_than_its_worker(said: dict[str, Any]) -> None:
    """It forks nothing, signals nobody else and stays in the folder; its own is its own."""
    rank = said["rank"]

    assert rank.pop("signal itself") == rank.pop("write inside") == "done"
    assert rank.pop("fork") == "the confinement refused to start a process (os.fork)"
    assert len(rank) == 3
    assert all(one.startswith("the confinement refused to") for one in rank.values())


def test_a_worker_may_fork_and_signal_ranks_and_nothing_else(said: dict[str, Any]) -> None:
    """Not even one that was a rank: its number may be another's by now."""
    after = said["after"]

    assert said["lost"] == "died by SIGKILL"
    assert after["live"] == []
    assert after["fork"] == "the confinement refused to start a process (os.fork)"
    assert after["signal one that was a rank"].startswith("the confinement refused to signal")


def test_forking_is_allowed_only_meanwhile() -> None:
    """Also where the fork fails."""
    children = Children()
    allowed = []

    with children.forking():
        allowed.append(children.may_fork)
    with pytest.raises(OSError, match="no more processes"), children.forking():
        raise OSError("no more processes")

    assert allowed == [True]
    assert not children.may_fork
