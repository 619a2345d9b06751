"""Tells a waiting person what is being done, on standard error."""

import sys
import time
from collections.abc import Callable
from typing import Any

#: Told how many cases of how many are done.
Progress = Callable[[int, int], None]
#: Told what is being done.
Say = Callable[[str], None]


def unheard(*told: object) -> None:
    """Take what nobody listens to."""


class Telling:
    """Tells a waiting person how far the run is: a bar on a terminal, else a line at times."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._last = time.monotonic()

    def say(self, text: str) -> None:
        """Tell what is being done."""
        print(f"seamproof: {text}", file=sys.stderr, flush=True)

    def progress(self, done: int, total: int) -> None:
        """Tell how many cases of how many are done."""
        if sys.stderr.isatty():
            self._draw(done, total)
        elif time.monotonic() - self._last > 2.0:
            self._last = time.monotonic()
            self.say(f"{done} of {total} cases")

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from rich.progress import Progress

            from harness.console import console

            self._bar = Progress(console=console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("cases", total=total)
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
