"""Worker processes for cases: a crash or a hang costs one worker, never the run.

Workers come from a fork server that has torch and the packages of the seams imported already,
so that a fresh worker costs milliseconds. Results are given in the order of the cases,
whichever finishes first.
"""

import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext, ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.bench import JUDGING
from harness.case import Case
from harness.device import CUDA, NATIVE, ON_CPU, Device
from harness.kernels.trust import trust
from harness.outcome import Ending, Outcome
from harness.result import CaseResult, unjudged
from harness.seams import SEAMS
from harness.stack import ended, frames, hung, told
from harness.telling import Progress, unheard
from harness.upstream.source import INSTALLED, Tree
from harness.verdict import Verdict
from harness.worker import LOADING, STACK_FILE, Begun, Done, Job, Setup, work
from simulators.faults import FAULTS

#: What the fork server imports once, for every worker.
PRELOADED = (
    "torch",
    # Upstream's stages import it, and it takes most of a second.
    "torch.distributed.fsdp",
    "numpy",
    "requests",
    "PIL.Image",
    "msgspec",
    "httptools",
    "harness.worker",
)
_BATCH = 16
#: Cases of one seam from which on a second worker is worth the loading.
_WORTH_SHARING = 64
#: Seconds that a seam's modules may take to load: an installed SGLang takes over a minute.
_LOADING_S = 300.0
#: Seconds more for a case whose kernels may have to be compiled first, in every width and dtype.
_COMPILING_S = 60.0
#: Seconds that a worker whose pipe is closed has for ending by itself.
_ENDING_S = 2.0


class Pool:
    """Runs cases of one tree in worker processes.

    A context manager; leaving it ends every worker and removes their folders.
    """

    def __init__(self, tree: Tree, device: Device = ON_CPU, workers: int | None = None) -> None:
        self._tree = tree
        self._device = device
        self._count = workers or os.cpu_count() or 1
        self._context = _fork_server(tree)
        self._folder = tempfile.TemporaryDirectory(prefix="seamproof-")
        self._started = 0
        self._workers: list[_Worker] = []

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._folder.cleanup()

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that live now."""
        return [worker.pid for worker in self._workers]

    def run(
        self, cases: Sequence[Case], progress: Progress = unheard, whole: bool = False
    ) -> list[CaseResult]:
        """Return one result for each case, in order.

        Args:
            cases: What to run.
            progress: Told how many cases of how many are done.
            whole: Whether the results shall hold requests and payloads too.
        """
        waiting: _Waiting = {}
        results = {index: lost for index, case in enumerate(cases) if (lost := self._lacks(case))}
        # What may wait out a deadline is begun first, so that the rest runs meanwhile.
        for index, case in sorted(enumerate(cases), key=lambda item: -_seconds(item[1])):
            if index in results:
                continue
            waiting.setdefault(case.seam, deque()).append(Job(index, case, whole=whole))
        while len(results) < len(cases):
            self._give(waiting)
            for done in self._step():
                results[done.index] = done.result
                progress(len(results), len(cases))
            for worker in [w for w in self._workers if w.over]:
                self._workers.remove(worker)
                for done in self._bury(worker, waiting):
                    results[done.index] = done.result
                    progress(len(results), len(cases))
        return [results[index] for index in range(len(cases))]

    def _lacks(self, case: Case) -> CaseResult | None:
        said = SEAMS[case.seam].lacks(dict(case.dims), self._device)
        return unjudged(case, said, Verdict.UNAVAILABLE) if said else None

    def _give(self, waiting: "_Waiting") -> None:
        # A worker is one seam's for good: what a seam loads for real is a stub to another, and a
        # verdict must not depend on what ran before it.
        while sum(1 for worker in self._workers if worker.jobs) < self._count:
            busy = {worker.seam for worker in self._workers if worker.jobs}
            seam = _next_seam(waiting, busy)
            if seam is None:
                return
            jobs = waiting[seam]
            worker = self._worker_for(seam, waiting)
            worker.give([jobs.popleft() for _ in range(min(_BATCH, len(jobs)))])

    def _worker_for(self, seam: str, waiting: "_Waiting") -> "_Worker":
        idle = [worker for worker in self._workers if not worker.jobs and not worker.over]
        for worker in idle:
            if worker.seam == seam:
                return worker
        for worker in idle:
            # Idle, it costs a machine nothing; but a card keeps half a gigabyte for each.
            if self._device.tensors == CUDA and not waiting.get(worker.seam):
                worker.stop()
                self._workers.remove(worker)
        worker = self._worker(seam)
        self._workers.append(worker)
        return worker

    def _worker(self, seam: str) -> "_Worker":
        self._started += 1
        folder = Path(self._folder.name, str(self._started))
        folder.mkdir()
        is_kernel = SEAMS[seam].kernel
        known = trust() if self._device.interprets(is_kernel) else None
        shared = Path(self._folder.name, _KEPT)
        shared.mkdir(exist_ok=True)
        setup = Setup(self._tree, self._device, is_kernel, known, Path.cwd(), folder, shared)
        context: BaseContext = self._context
        if self._tree.mode == INSTALLED and self._device.interprets(is_kernel):
            # The fork server has imported upstream, and Triton with it, to be compiled.
            context = multiprocessing.get_context("spawn")
        return _Worker(context, setup, seam)

    def _step(self) -> Iterator[Done]:
        busy = [worker for worker in self._workers if worker.jobs]
        due = min((worker.due for worker in busy), default=time.monotonic())
        handles = [worker.connection for worker in busy]
        ready = set(wait(handles, timeout=max(0.0, due - time.monotonic())))
        for worker in busy:
            if worker.connection in ready:
                yield from worker.receive()
            if worker.jobs and time.monotonic() >= worker.due:
                worker.hung = True
                worker.over = True

    def _bury(self, worker: "_Worker", waiting: "_Waiting") -> Iterator[Done]:
        outcome = worker.bury(self._tree)
        job, rest = worker.jobs[0], worker.jobs[1:]
        again = waiting[job.case.seam]
        again.extendleft(reversed(rest))
        how = outcome.death
        if worker.phase == LOADING:
            yield Done(job.index, unjudged(job.case, f"the worker {how} while loading the seam"))
        elif worker.phase == JUDGING:
            yield Done(job.index, unjudged(job.case, f"the worker {how} while judging the case"))
        elif job.died is not None:
            yield Done(job.index, unjudged(job.case, f"after {job.died.death}, the golden {how}"))
        elif worker.phase == "golden":
            yield Done(job.index, unjudged(job.case, f"the golden run {how}"))
        else:
            again.appendleft(Job(job.index, job.case, outcome, job.whole))


#: Jobs that no worker has yet, by seam.
_Waiting = dict[str, deque[Job]]


def _next_seam(waiting: _Waiting, busy: set[str]) -> str | None:
    # A seam of one's own first: loading it twice costs more than it saves, but for a long one.
    left = {seam: len(jobs) for seam, jobs in waiting.items() if jobs}
    free = [seam for seam in left if seam not in busy]
    shared = [seam for seam, count in left.items() if count > _WORTH_SHARING]
    for candidates in (free, shared):
        if candidates:
            return max(candidates, key=lambda seam: _seconds(waiting[seam][0].case))
    return None


def _seconds(case: Case) -> float:
    # What a case takes at most: a delay may last to the deadline.
    kinds = {FAULTS[step.fault].kind for step in case.steps if step.fault in FAULTS}
    return SEAMS[case.seam].deadline_s if "delay" in kinds else 0.0


class _Worker:
    """One worker process, seen from outside."""

    def __init__(self, context: BaseContext, setup: Setup, seam: str) -> None:
        self.connection, theirs = context.Pipe()
        self._folder = setup.folder
        # What the types of the standard library say of every context but this base.
        start: Any = context
        self._process: BaseProcess = start.Process(target=work, args=(theirs, setup))
        with _empty_main():
            self._process.start()
        theirs.close()
        self.seam = seam
        compiles = setup.is_kernel and setup.device.kernels == NATIVE
        self._deadline_s = SEAMS[seam].deadline_s + (_COMPILING_S if compiles else 0.0)
        self.jobs: list[Job] = []
        self.phase = LOADING
        self.due = 0.0
        self.hung = False
        self.over = False

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid or 0

    def give(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self.phase = LOADING
        self.due = time.monotonic() + _LOADING_S
        with contextlib.suppress(BrokenPipeError):  # It died idle: the next read says so.
            self.connection.send(jobs)

    def receive(self) -> Iterator[Done]:
        """Yield what is finished of all that has come, and note what has begun."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if isinstance(message, Done):
                    self.jobs = self.jobs[1:]
                    yield message
                if isinstance(message, Begun):
                    self._begin(message)
        except (EOFError, ConnectionResetError):
            self.over = True

    def _begin(self, message: Begun) -> None:
        self.phase = message.phase
        own = message.phase in (LOADING, JUDGING)
        self.due = time.monotonic() + (_LOADING_S if own else self._deadline_s)

    def bury(self, tree: Tree) -> Outcome:
        """Return how the worker ended, having made sure that it did."""
        stack = told(self.pid, self._folder / STACK_FILE) if self.hung else ""
        if not self.hung:
            # Its pipe is closed and it may still be ending: its own end is told, not the kill.
            self._process.join(timeout=_ENDING_S)
        self._process.kill()
        self._process.join()
        self.connection.close()
        if self.hung:
            return hung(frames(stack, tree))
        return Outcome(Ending.CRASHED, death=ended(self._process.exitcode or 0))

    def stop(self) -> None:
        """End the worker, asking first."""
        if self.connection.closed:
            return
        with contextlib.suppress(OSError):
            self.connection.send([])
        self._process.join(timeout=1.0 if not self.jobs else 0.0)
        self._process.kill()
        self._process.join()
        self.connection.close()


#: Folder of what workers share; theirs have numbers.
_KEPT = "made-of-source"
#: What the running fork server has imported; empty before there is one.
_served: list[str] = []


def _fork_server(tree: Tree) -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    preload = list(PRELOADED)
    if tree.mode == INSTALLED:
        preload += sorted({seam.module(tree.release) for seam in SEAMS.values()})
    if _served and _served != preload:
        # There is one fork server in a process, and what it has imported it keeps. Workers that
        # it started live on without it.
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
    _served[:] = preload
    context.set_forkserver_preload(preload)
    return context


@contextlib.contextmanager
def _empty_main() -> Iterator[None]:
    # A child imports its parent's main module again, and with it all that the parent imported.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
