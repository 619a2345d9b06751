"""Keeps upstream's code, while it runs in a worker, to loopback and to the worker's own folder.

An audit hook sees what Python does: it cannot stop compiled code. A refusal is written into the
ledger before it is raised, so that upstream cannot swallow it and go on as if the network had
answered.
"""

import _posixsubprocess
import contextlib
import ipaddress
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from harness.upstream.touches import LEDGER

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = frozenset({"/dev/null", "/dev/tty"})
_PATH_EVENTS = frozenset(
    "os.remove os.rename os.mkdir os.rmdir os.link os.symlink os.truncate os.chmod os.chown "
    "os.utime shutil.rmtree shutil.move shutil.copyfile shutil.copytree".split()
)
_LOOKUP_EVENTS = frozenset(
    "socket.getaddrinfo socket.gethostbyname socket.gethostbyaddr socket.getnameinfo".split()
)
_PROCESS_EVENTS = frozenset(
    "subprocess.Popen os.system os.exec os.posix_spawn os.spawn os.fork os.forkpty "
    "pty.spawn".split()
)


class Children:
    """The processes that the harness itself forks from a confined one: the ranks of a group."""

    def __init__(self) -> None:
        #: Those that live now: they may be signalled.
        self.pids: set[int] = set()
        self.may_fork = False

    @contextlib.contextmanager
    def forking(self) -> Iterator[None]:
        """Allow forks meanwhile; neither upstream's code nor a child may fork."""
        self.may_fork = True
        try:
            yield
        finally:
            self.may_fork = False


#: A process has one confinement, and so one set of children.
children = Children()


class Kept:
    """The folder in which the harness keeps what it made of upstream's source, for one run."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._may_write = False

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Allow the harness to write there meanwhile; upstream's code never may."""
        self._may_write = True
        try:
            yield
        finally:
            self._may_write = False

    def allows(self, path: Any) -> bool:
        """Return whether a path may be written now because it lies in this folder."""
        return self._may_write and self.folder is not None and _below(path, self.folder)


#: A process has one confinement, and so one such folder.
kept = Kept()


class Refused(BaseException):
    """Upstream's code tried to leave the worker's folder or the machine."""


#: The programs that Triton starts to compile a kernel for a card.
COMPILERS = frozenset("cc gcc clang ptxas ptxas-blackwell ldconfig ld.lld".split())


def confine(folder: Path, programs: Collection[str] = ()) -> None:
    """Confine this process for good: loopback only, and writing only below `folder`.

    Args:
        folder: Where it may write.
        programs: Names of programs that it may start, wherever they lie; by default none.
    """
    sys.addaudithook(_hook(folder.resolve(), programs))
    # multiprocessing calls it without any event.
    real = _posixsubprocess.fork_exec

    def started(*args: Any) -> Any:
        if not _is_one_of(args[0], programs):
            _refuse("start a process (fork_exec)")
        return real(*args)

    vars(_posixsubprocess)["fork_exec"] = started


def _hook(folder: Path, programs: Collection[str]) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = bool(flags & _WRITING) if isinstance(flags, int) else _writes(mode)
            if writes and not _below(path, folder) and not kept.allows(path):
                _refuse(f"write {path}")
        elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            if args[1] is not None and not _is_loopback(args[1], folder):
                _refuse(f"connect to {args[1]}")
        elif event in _LOOKUP_EVENTS:
            host = args[0] if isinstance(args[0], tuple) else args[:1]
            if host[0] is not None and not _is_loopback(host, folder):
                _refuse(f"look up {host[0]}")
        elif event in _PATH_EVENTS:
            paths = [p for p in args if isinstance(p, str | bytes | os.PathLike)]
            outside = [p for p in paths if not _below(p, folder) and not kept.allows(p)]
            if outside:
                _refuse(f"{event} {os.fsdecode(outside[0])}")
        elif event == "sqlite3.connect":
            if args[0] != ":memory:" and not _below(args[0], folder):
                _refuse(f"write {args[0]}")
        elif event in ("os.kill", "os.killpg"):
            if args[0] != os.getpid() and args[0] not in children.pids:
                _refuse(f"signal process {args[0]}")
        elif event == "subprocess.Popen" and _is_one_of(args[1], programs):
            pass
        elif event in _PROCESS_EVENTS and not (event == "os.fork" and children.may_fork):
            _refuse(f"start a process ({event})")

    return hook


def _is_one_of(command: Any, programs: Collection[str]) -> bool:
    is_list = isinstance(command, list | tuple) and bool(command)
    return is_list and Path(os.fsdecode(command[0])).name in programs


def _writes(mode: Any) -> bool:
    return isinstance(mode, str) and any(sign in mode for sign in "wax+")


def _below(path: Any, folder: Path) -> bool:
    if isinstance(path, int):
        return True
    if "\0" in os.fsdecode(path):
        return False  # A Unix socket without a place in the file system.
    text = os.path.realpath(os.fsdecode(path))
    return text in _DEVICES or text == str(folder) or text.startswith(f"{folder}{os.sep}")


def _is_loopback(address: Any, folder: Path) -> bool:
    if isinstance(address, str | bytes):
        return _below(address, folder)
    host = address[0]
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(what: str) -> None:
    said = f"the confinement refused to {what}"
    LEDGER.touched.append(said)
    raise Refused(said)
