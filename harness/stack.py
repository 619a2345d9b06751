"""The stack that a hung process stands in: asked for by a signal, and put into words."""

import os
import re
import signal
import time
from pathlib import Path

from harness.outcome import Ending, Outcome
from harness.upstream.source import Tree

#: Seconds that a hung process has for writing its stack.
_STACK_S = 2.0
#: The outermost function of a worker's main thread.
WORKER = "work"
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


def told(pid: int, file: Path, outermost: str = WORKER) -> str:
    """Return the stack that a process writes into a file when it is asked to.

    Args:
        pid: The process; `faulthandler` of it answers SIGUSR1.
        file: What it writes to.
        outermost: The function that its main thread began with.
    """
    os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + _STACK_S
    text = ""
    # It is written thread by thread, innermost frame first: whole once the outermost is named.
    while f" in {outermost}\n" not in text and time.monotonic() < until:
        time.sleep(0.01)
        text = file.read_text(errors="replace")
    return text


def frames(stack: str, tree: Tree, outermost: str = WORKER) -> list[str]:
    """Return the frames of the main thread, innermost first, up to its outermost function."""
    # The main thread is the one that ends in `outermost`, or that got the signal where the
    # stack was too deep to be written whole; a server's thread is not upstream.
    parts = re.split(r"\n\s*\n", stack)
    threads = [part for part in parts if f" in {outermost}\n" in f"{part}\n"]
    threads += [part for part in parts if part.startswith("Current thread")]
    found = _FRAME.findall(threads[0]) if threads else []
    names = [name for _, _, name in found]
    stop = names.index(outermost) + 1 if outermost in names else len(names)
    return [f"{_short(file, tree)}:{line} in {name}" for file, line, name in found[:stop]]


def _short(file: str, tree: Tree) -> str:
    # An installed tree has other packages beside SGLang.
    path = Path(file)
    is_upstream = path.is_relative_to(tree.root / "sglang")
    return str(path.relative_to(tree.root)) if is_upstream else path.name


def hung(frames: list[str]) -> Outcome:
    """Return the outcome of a process that hung, from its frames, innermost first.

    Where none of them is upstream's it was the tool that was not done in time, with reading a
    large output say: that says nothing of upstream.
    """
    is_ours = bool(frames) and not any(frame.startswith("sglang/") for frame in frames)
    unsure = (f"the tool itself was not done in time, and {stood(frames)}",) if is_ours else ()
    return Outcome(Ending.HUNG, unsure=unsure, death=stood(frames), stack="\n".join(frames))


def stood(frames: list[str]) -> str:
    """Return in words, without line numbers, where a process hung."""
    if not frames:
        return "hung, and left no stack"
    named = [re.sub(r":\d+ in ", " in ", frame) for frame in frames]
    innermost = named[0].partition(" in ")
    ours = next((frame for frame in named if frame.startswith("sglang/")), None)
    if ours is None or ours == named[0]:
        return f"hung in {innermost[2]} of {innermost[0].rpartition('/')[2]}"
    file, _, function = ours.partition(" in ")
    return (
        f"hung in {function} of {file.rpartition('/')[2]}, "
        f"waiting in {innermost[2]} of {innermost[0]}"
    )


def ended(code: int) -> str:
    """Return in words how a process ended, from its exit code, negative for a signal's."""
    return f"died by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
