"""A group whose ranks die or hang leaves nothing: no process, port, file or shared memory."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from harness.case import parse
from harness.outcome import Outcome
from harness.ranks import Rank, Ranks
from harness.runner import run_cases
from harness.upstream.source import Tree
from harness.verdict import Verdict

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from Linux's /proc")

_SHARED = Path("/dev/shm")
#: Seconds that what is ended from outside has for being gone: far more than it needs.
_GONE_S = 20.0


def parents() -> dict[int, int]:
    """Return the parent of every process that has not ended."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
        except OSError:
            continue  # It has ended meanwhile.
        if state != "Z":
            found[int(folder.name)] = int(parent)
    return found


def descendants(of: int) -> set[int]:
    """Return the processes that a process has started, and those that these have."""
    known = parents()
    found: set[int] = set()
    while more := {pid for pid, parent in known.items() if parent in found | {of}} - found:
        found |= more
    return found


def sockets(pid: int) -> set[str]:
    """Return the sockets that a process holds, by their inodes."""
    found = set()
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            name = str(descriptor.readlink())
            if name.startswith("socket:["):
                found.add(name[len("socket:[") : -1])
    except OSError:
        pass  # It has ended meanwhile, and holds none.
    return found


def open_sockets() -> set[str]:
    """Return the sockets that listen or are connected on this machine, by their inodes."""
    found = set()
    for kind, column in (("tcp", 9), ("tcp6", 9), ("unix", 6)):
        table = Path(f"/proc/net/{kind}")
        if table.exists():
            found |= {line.split()[column] for line in table.read_text().splitlines()[1:]}
    return found


class Watch(threading.Thread):
    """Notes every process that this one starts, and every socket that one of them holds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.pids: set[int] = set()
        self.sockets: set[str] = set()
        self._over = threading.Event()
        # What other tests have started may live longer than this one.
        self._before = descendants(os.getpid())

    def run(self) -> None:
        """Look again and again."""
        while not self._over.is_set():
            found = descendants(os.getpid()) - self._before
            self.pids |= found
            for pid in found:
                self.sockets |= sockets(pid)
            time.sleep(0.002)

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of all that is started meanwhile."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def shared_before() -> set[Path]:
    """What stands in shared memory before the test."""
    return set(_SHARED.iterdir())


def abort(rank: Rank) -> None:
    """Die."""
    os.kill(os.getpid(), signal.SIGKILL)


def stand(rank: Rank) -> None:
    """Hang."""
    while True:
        signal.pause()  # Who asks for the stack wakes it.


def stand_in_exchange(rank: Rank) -> None:
    """Hang, in an exchange that one rank does not come to."""
    if rank.index == 0:
        stand(rank)
    dist.barrier(group=rank.group)


def die_alone(rank: Rank) -> None:
    """Die on one rank; the others hang where no connection is."""
    (abort if rank.index == 0 else stand)(rank)


@pytest.mark.parametrize("end", [abort, stand, stand_in_exchange, die_alone])
def test_a_group_that_dies_or_hangs_leaves_nothing(
    newest: Tree,
    folder: Path,
    tmp_path: Path,
    shared_before: set[Path],
    end: Callable[[Rank], None],
) -> None:
    """Each rank notes what it holds before it ends; none of it is there any more."""
    ours = sockets(os.getpid())

    def drive(rank: Rank) -> Outcome:
        rows = torch.ones(4)
        dist.all_reduce(rows, group=rank.group)
        held = {"pid": os.getpid(), "sockets": sorted(sockets(os.getpid()) - ours)}
        (tmp_path / f"rank-{rank.index}").write_text(json.dumps(held))
        end(rank)
        raise AssertionError("it has ended")

    ends = Ranks(3, newest).run(drive)

    notes = [json.loads((tmp_path / f"rank-{rank}").read_text()) for rank in range(3)]
    pids = {note["pid"] for note in notes}
    held = {inode for note in notes for inode in note["sockets"]}
    assert {str(e.outcome.ending) for e in ends if e.outcome} <= {"crashed", "hung"}
    # The pipe to the worker, and a connection to each other rank.
    assert len(pids) == 3
    assert all(len(note["sockets"]) >= 3 for note in notes)
    assert pids & set(parents()) == set()
    assert held & open_sockets() == set()
    assert sockets(os.getpid()) == ours
    assert list(folder.iterdir()) == []
    assert set(_SHARED.iterdir()) - shared_before == set()


_WORKER = """
import os, signal, sys
from pathlib import Path
from harness.ranks import Ranks
from harness.upstream.source import Tree

def drive(rank):
    place = Path(sys.argv[1], f"{rank.index}.part")
    place.write_text(str(os.getpid()))
    place.rename(place.with_suffix(".pid"))
    LINE

Ranks(2, Tree("a tree", Path("/nowhere"), "0.5.23"), deadline_s=1000).run(drive)
"""


def noted(folder: Path) -> set[int]:
    """Return the ranks that have noted themselves in a folder."""
    return {int(file.read_text()) for file in folder.glob("*.pid")}


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Return the function that starts a process with a group whose ranks run a line."""
    started = []

    def start(line: str) -> subprocess.Popen[bytes]:
        program = _WORKER.replace("LINE", line)
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", program, str(tmp_path)],
                env={**os.environ, "TMPDIR": str(tmp_path)},
            )
        )
        return started[0]

    yield start
    for process in started:
        process.kill()
        process.wait()
    # Where the test fails, its ranks would compute for ever.
    for pid in noted(tmp_path) & set(parents()):
        if str(tmp_path).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def eventually(holds: Callable[[], bool]) -> bool:
    """Return whether something comes to hold."""
    until = time.monotonic() + _GONE_S
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


@pytest.mark.parametrize(
    "line",
    ["while True: pass", "import threading; threading.Event().wait()", "rank.stay_away()"],
    ids=["computing", "waiting", "away"],
)
def test_ranks_end_when_their_worker_is_killed(
    worker: Callable[[str], subprocess.Popen[bytes]], tmp_path: Path, line: str
) -> None:
    """It has no time left for ending them itself."""
    # A group that is still is ended at once; one rank of two keeps it awake until the kill.
    awake = f"while rank.index == 1: pass\n    {line}"
    process = worker(awake)
    assert eventually(lambda: len(noted(tmp_path)) == 2)
    pids = noted(tmp_path)
    assert pids <= descendants(process.pid)

    process.kill()
    process.wait()

    assert eventually(lambda: not pids & set(parents()))


#: A crash, a hang and a death of cases, and the golden run.
_CASES = {
    "shard-splits noop rows=5,3": Verdict.UPHELD,
    "shard-splits splits-floor rows=5,3": Verdict.CRASHED,
    "shard-splits rank-away rows=5,3 at=0": Verdict.HUNG,
    "shard-splits rank-dies rows=5,3 at=1": Verdict.MISREPORTED,
}


def test_a_run_of_cases_that_crash_and_hang_leaves_nothing(
    newest: Tree, folder: Path, shared_before: set[Path]
) -> None:
    """Each has its verdict, and nothing that a worker or a rank has held is there any more."""
    with Watch() as watch:
        results = run_cases(newest, [parse(line) for line in _CASES], workers=1)

    # The server that workers are forked from, and the tracker of it, live as long as this one.
    stay = {pid for pid, parent in parents().items() if parent == os.getpid()}
    kept = set[str]().union(*map(sockets, {os.getpid(), *stay}))
    assert {result.case: result.verdict for result in results} == _CASES
    # A worker, and two ranks in each of four groups.
    assert len(watch.pids - stay) >= 9
    assert watch.sockets - kept
    assert (watch.pids - stay) & set(parents()) == set()
    assert (watch.sockets - kept) & open_sockets() == set()
    assert list(folder.glob("seamproof-*")) == []
    assert list(folder.rglob("ranks-*")) == []
    assert set(_SHARED.iterdir()) - shared_before == set()
