"""The terminal as reports see it: at most 100 columns, and that wide where nobody looks."""

import os

from rich.console import Console

WIDTH = 100


def console(stderr: bool = False) -> Console:
    """Return a console that is at most 100 columns wide, and that wide where nobody looks."""
    there = Console(stderr=stderr)
    if "COLUMNS" in os.environ or (there.is_terminal and there.width < WIDTH):
        return there
    return Console(stderr=stderr, width=WIDTH)
