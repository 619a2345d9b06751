"""Ranks: the processes of one group, forked from a worker that has upstream loaded already.

A fresh group then costs tens of milliseconds, so every drive gets one: what a rank has left
unread in a connection never reaches another case. The ranks join a real group, gloo on loopback
or nccl where each can have a card, over a store that is a file: no port is chosen by hand. A card
that a process has used is lost to what it forks: so the worker uses none, and each rank its own.

A rank that has its output stays, as a server does. One that raised leaves, and its peers see the
connection close; told to, it stays too, as upstream's own workers do, and its peers wait. It leaves
once they have come to wait for it: else what they do to each other meanwhile would be a race.
"""

import contextlib
import faulthandler
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

import torch
import torch.distributed as dist

from harness.confinement import children
from harness.outcome import Ending, Outcome
from harness.stack import ended, frames, hung, told
from harness.stillness import Stillness
from harness.upstream.source import Tree

#: Seconds that a group may take, from its first fork to its last output; what waits for ever is
#: known as still long before.
DEADLINE_S = 25.0
#: Seconds after which a rank that nobody ends gives up by itself.
_ABANDONED_S = 60.0
_POLL_S = 0.02
#: Seconds of stillness after which peers are taken to wait for a rank that raised.
_WAITING_S = 0.06
_STACK_FILE = "stack"
#: The outermost function of a rank.
_RANK_MAIN = "_be_rank"


@dataclass(frozen=True)
class _Step:
    what: str


@dataclass(frozen=True)
class _Joined:
    """The rank has joined the group: it waits for the others, for one that leaves breaks a join."""


@dataclass(frozen=True)
class _Gone:
    """The rank does what it was told to do instead of its part."""

    how: str


@dataclass(frozen=True)
class RankEnd:
    """How one rank ended."""

    rank: int
    #: None for a rank that was told to stay away or to die: it says nothing of upstream.
    outcome: Outcome | None
    #: What it was about to do when it last spoke.
    step: str


class Rank:
    """One rank, as its drive sees it."""

    def __init__(self, index: int, count: int, connection: Connection) -> None:
        self.index = index
        self.count = count
        #: Where its tensors live; known once it has joined the group.
        self.device = "cpu"
        self._connection = connection

    @property
    def group(self) -> dist.ProcessGroup:
        """The process group of all ranks."""
        world = dist.group.WORLD
        assert world is not None
        return world

    def about_to(self, what: str) -> None:
        """Tell what comes next, so that a death or a hang has a place."""
        self._connection.send(_Step(what))

    def stay_away(self) -> None:
        """Never do anything more: the fault of a rank that does not arrive."""
        self._connection.send(_Gone("stayed away, as it was told"))
        self._connection.recv()
        os._exit(0)

    def die(self) -> None:
        """End at once: the fault of a rank that is lost."""
        self._connection.send(_Gone("died, as it was told"))
        os.kill(os.getpid(), signal.SIGKILL)


Drive = Callable[[Rank], Outcome]


class Ranks:
    """A group of ranks, formed anew for each drive.

    Args:
        count: How many ranks.
        tree: Whose frames are upstream's.
        device: Where tensors are wanted, `cpu` or `cuda`; see `place_of`.
        leaves: Whether a rank that raised ends its process.
        deadline_s: Seconds for one drive.
    """

    def __init__(
        self,
        count: int,
        tree: Tree,
        device: str = "cpu",
        leaves: bool = True,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._count = count
        self._tree = tree
        self._device = device
        self._leaves = leaves
        self._deadline_s = deadline_s

    def run(self, drive: Drive) -> tuple[RankEnd, ...]:
        """Return how each rank ended, in rank order; nothing of the group is left.

        Args:
            drive: What each rank does; called in the rank's own process.
        """
        folder = Path(tempfile.mkdtemp(prefix="ranks-", dir=os.environ.get("TMPDIR")))
        members: list[_Member] = []
        try:
            for index in range(self._count):
                members.append(self._started(index, drive, folder, members))
            self._watch(members)
            return tuple(member.end for member in members)
        finally:
            for member in members:
                member.stop()
            shutil.rmtree(folder, ignore_errors=True)

    def _started(
        self, index: int, drive: Drive, folder: Path, before: Sequence["_Member"]
    ) -> "_Member":
        ours, theirs = Pipe()
        stack = folder / f"{_STACK_FILE}-{index}"
        with children.forking():
            pid = os.fork()
        if pid == 0:
            try:
                for connection in (ours, *(member.connection for member in before)):
                    connection.close()
                _be_rank(Rank(index, self._count, theirs), self, drive, folder, stack)
            finally:
                os._exit(1)
        children.pids.add(pid)
        theirs.close()
        return _Member(index, pid, ours, stack)

    def _watch(self, members: Sequence["_Member"]) -> None:
        until = time.monotonic() + self._deadline_s
        waiting, stillness = Stillness(_WAITING_S), Stillness()
        begun = False
        while open_ := [member for member in members if member.is_open]:
            for ready in wait([member.connection for member in open_], timeout=_POLL_S):
                next(m for m in open_ if m.connection is ready).receive()
            if not begun and all(member.has_joined for member in members):
                begun = True
                for member in members:
                    member.connection.send(None)
            open_ = [member for member in members if member.is_open]
            pids = [member.pid for member in open_]
            leaving = [m for m in members if m.has_raised and not m.has_left] if pids else []
            if self._leaves and leaving and waiting.holds(pids):
                for member in leaving:
                    member.leave()
                continue
            if time.monotonic() > until or (open_ and stillness.holds(pids)):
                for member in open_:
                    member.hang(self._tree)

    def join(self, rank: Rank, folder: Path) -> None:
        """Make this process the rank of the group that it is."""
        # Asked here: the question alone can take a card from what the asking process forks.
        cards = torch.cuda.device_count() if torch.device(self._device).type == "cuda" else 0
        place = place_of(rank.index, rank.count, self._device, cards)
        rank.device = place.device
        if place.device != "cpu":
            torch.cuda.set_device(place.device)
        for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
            # The name of this machine may lead nowhere.
            os.environ[name] = _loopback()
        store = dist.FileStore(  # type: ignore[attr-defined]
            str(folder / "store"), rank.count
        )
        dist.init_process_group(
            place.backend,
            store=store,
            rank=rank.index,
            world_size=rank.count,
            timeout=timedelta(seconds=_ABANDONED_S),
            # With a card it forms the connections now: who waits in an exchange waits for rows.
            device_id=torch.device(place.device) if place.device != "cpu" else None,
        )


@dataclass(frozen=True)
class Place:
    """Where one rank of a group has its tensors, and what joins the group."""

    #: `cpu`, or a card: `cuda:0`.
    device: str
    #: As torch names it. What ranks tell each other as objects goes over the CPU in any case.
    backend: str


def place_of(rank: int, count: int, device: str, cards: int) -> Place:
    """Return where a rank has its tensors, and what joins its group.

    With a card for each rank, each has its own, and nccl joins them. With fewer, all are ranks of
    the CPU: nccl takes no two ranks on one card, and gloo would take their rows through the CPU.

    Args:
        rank: Which rank.
        count: How many ranks the group has.
        device: Where tensors are wanted, `cpu` or `cuda`.
        cards: How many cards torch sees.
    """
    if torch.device(device).type == "cuda" and cards >= count:
        return Place(f"cuda:{rank}", "cpu:gloo,cuda:nccl")
    return Place("cpu", "gloo")


class _Member:
    """One rank, seen from the worker."""

    def __init__(self, index: int, pid: int, connection: Connection, stack: Path) -> None:
        self.index = index
        self.pid = pid
        self.connection = connection
        self._stack = stack
        self._step = "join the group"
        self._outcome: Outcome | None = None
        self.has_joined = False
        self.has_left = False
        self._is_over = False
        self._is_reaped = False

    @property
    def is_open(self) -> bool:
        """Whether it is not known yet how the rank ends."""
        return not self._is_over

    @property
    def end(self) -> RankEnd:
        """How it ended."""
        return RankEnd(self.index, self._outcome, self._step)

    @property
    def has_raised(self) -> bool:
        """Whether it ended in an error, and is there still or was."""
        return self._outcome is not None and self._outcome.ending is Ending.RAISED

    def leave(self) -> None:
        """Let a rank end that raised, so that its peers see it go."""
        self.has_left = True
        self.connection.send(None)

    def receive(self) -> None:
        """Take what the rank has sent; a closed connection is its death."""
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._outcome = Outcome(Ending.CRASHED, death=ended(self._reap()))
            self._is_over = True
            return
        if isinstance(message, _Step):
            self._step = message.what
            return
        if isinstance(message, _Joined):
            self.has_joined = True
            return
        if isinstance(message, _Gone):
            self._step = message.how
        else:
            self._outcome = message
        self._is_over = True

    def hang(self, tree: Tree) -> None:
        """Note where the rank stands, and end it."""
        self._outcome = hung(frames(told(self.pid, self._stack, _RANK_MAIN), tree, _RANK_MAIN))
        self._is_over = True

    def stop(self) -> None:
        """End the rank, however it stands."""
        if not self._is_reaped:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()
        self.connection.close()

    def _reap(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self._is_reaped = True
        children.pids.discard(self.pid)
        return os.waitstatus_to_exitcode(status)


def _be_rank(rank: Rank, ranks: Ranks, drive: Drive, folder: Path, stack: Path) -> None:
    children.pids.clear()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_with_parent()
    connection = rank._connection
    with stack.open("w") as file:
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)
        # What no exchange has filled shall not look like rows of an earlier case.
        # (The public function imports the compiler first, which takes a second.)
        torch._C._set_deterministic_algorithms(True, warn_only=True)
        try:
            ranks.join(rank, folder)
            connection.send(_Joined())
            connection.recv()
            outcome = drive(rank)
        except Exception as error:  # noqa: BLE001 - the tool's own failure says nothing of upstream
            said = f"the tool failed on rank {rank.index}: {type(error).__name__}: {error}"
            outcome = Outcome(Ending.RAISED, unsure=(said,))
        connection.send(_portless(outcome))
        # Its peers may still read from it: it ends when the worker says so.
        with contextlib.suppress(EOFError):
            connection.recv()
    os._exit(0)


def _portless(outcome: Outcome) -> Outcome:
    raised = outcome.raised
    if raised is None:
        return outcome
    address = "[127.0.0.1]:"
    before, *parts = raised.message.split(address)
    message = before + "".join(f"{address}*{part.lstrip('0123456789')}" for part in parts)
    return replace(outcome, raised=replace(raised, message=message))


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in ("lo", "lo0") if name in names), names[0])


def _end_with_parent() -> None:
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
