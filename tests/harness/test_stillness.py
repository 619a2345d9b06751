"""What stands still is told from what works, by what the system says of the processes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from harness.stillness import Stillness

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what runs")

_QUIET_S = 0.2
_SLEEPS = "input()"
_COMPUTES = "while True: pass"
_WAKES = "import time\nwhile True: time.sleep(0.01)"
_THREAD = "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()"

Start = Callable[[str], int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return the function that starts a process, which then does what a program says."""
    started: list[subprocess.Popen[str]] = []

    def begin(program: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", f"print('here', flush=True)\n{program}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        return process.pid

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def becomes_still(*pids: int) -> bool:
    """Return whether processes are still at last; what is to become so soon is."""
    return _holds(Stillness(_QUIET_S), pids, asked_s=30.0)


def stays_awake(*pids: int) -> bool:
    """Return whether processes are never still, in several times as long as stillness takes."""
    return not _holds(Stillness(_QUIET_S), pids, asked_s=3 * _QUIET_S)


def _holds(stillness: Stillness, pids: tuple[int, ...], asked_s: float) -> bool:
    until = time.monotonic() + asked_s
    while time.monotonic() < until:
        if stillness.holds(pids):
            return True
        time.sleep(0.01)
    return False


def test_a_process_that_sleeps_is_still(start: Start) -> None:
    """One, and several."""
    first, second = start(_SLEEPS), start(_SLEEPS)

    assert becomes_still(first)
    assert becomes_still(first, second)


@pytest.mark.parametrize("program", [_COMPUTES, _WAKES], ids=["computes", "wakes now and then"])
def test_a_process_that_does_anything_is_not(start: Start, program: str) -> None:
    """All the time, or a little of it."""
    assert stays_awake(start(program))


def test_a_thread_that_computes_keeps_a_process_awake(start: Start) -> None:
    """Though its main thread waits for input."""
    assert stays_awake(start(f"{_THREAD}\n{_SLEEPS}"))


def test_a_process_that_is_not_there_is_not_still(start: Start) -> None:
    """Nor is a group with one that has ended."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert stays_awake(gone.pid)
    assert stays_awake(start(_SLEEPS), gone.pid)


def test_a_group_is_still_only_when_all_are(start: Start) -> None:
    """One that works keeps the others waiting, and is not asked once it has its answer."""
    sleeping, working = start(_SLEEPS), start(_COMPUTES)

    assert stays_awake(sleeping, working)
    assert becomes_still(sleeping)


def test_stillness_begins_anew_when_others_are_asked(start: Start) -> None:
    """What one process has not done says nothing of another."""
    first, second = start(_SLEEPS), start(_SLEEPS)
    stillness = Stillness(_QUIET_S)
    assert _holds(stillness, (first,), asked_s=30.0)

    assert not stillness.holds((first, second))
