"""Tells processes that wait for one another for ever from processes that still work.

A group is still when the main thread of every rank sleeps, none has run for a while, and no
thread of any is ready to run. It is read from Linux's /proc; where there is none, nothing is ever
still, and only the deadline ends a wait.
"""

import time
from collections.abc import Sequence
from pathlib import Path

#: Seconds of stillness that no message on loopback takes.
QUIET_S = 0.5


class Stillness:
    """Watches a group for as long as it does anything."""

    def __init__(self, quiet_s: float = QUIET_S) -> None:
        self._quiet_s = quiet_s
        self._seen: object = None
        self._since = time.monotonic()

    def holds(self, pids: Sequence[int]) -> bool:
        """Return whether these processes have done nothing for long enough; asked repeatedly."""
        now = _activity(pids)
        if now is None or now != self._seen:
            self._seen = now
            self._since = time.monotonic()
            return False
        return time.monotonic() - self._since >= self._quiet_s


def _activity(pids: Sequence[int]) -> object:
    """Return how much the main threads have run so far; None where any thread may run now."""
    try:
        if any(_state(task) not in "SI" for pid in pids for task in _tasks(pid)):
            return None
        # Nanoseconds on a core, and waiting for one.
        return tuple(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text() for pid in pids)
    except OSError:
        return None


def _tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def _state(task: Path) -> str:
    # The name, in brackets, may hold anything.
    return (task / "stat").read_text().rpartition(") ")[2][0]
