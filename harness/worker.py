"""A worker process: confined, with a folder of its own, running one case after another.

It tells its parent what it is about to do before it does it, so that a death or a hang has a
case to belong to. The stack of a hang is written by a signal handler that needs no Python to
run.
"""

import faulthandler
import os
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from harness import given_faults
from harness.bench import Bench, lacking_package
from harness.case import Case
from harness.confinement import COMPILERS, confine, kept
from harness.device import NATIVE, Device
from harness.kernels.trust import Trust, tell
from harness.outcome import Outcome
from harness.result import CaseResult, unjudged
from harness.upstream.source import Tree
from harness.verdict import Verdict
from simulators.faults.fault import FaultError


@dataclass(frozen=True)
class Setup:
    """What a worker needs to begin."""

    tree: Tree
    device: Device
    #: Whether its seam launches Triton kernels.
    is_kernel: bool
    #: What Triton's interpreter can be trusted with, where it runs them.
    trust: Trust | None
    #: Where the user stands: a user's own faults are named from there.
    cwd: Path
    #: The worker's own folder; the stack of a hang is written into it.
    folder: Path
    #: Where all workers of the run keep what they made of upstream's source.
    kept: Path


@dataclass(frozen=True)
class Job:
    """One case to run; with `died`, one whose drive took an earlier worker with it."""

    index: int
    case: Case
    died: Outcome | None = None
    #: Whether the result shall hold the request and the payload too.
    whole: bool = False


@dataclass(frozen=True)
class Begun:
    """A message: the drive of a case begins. Phase: `loading`, `golden` or `case`."""

    index: int
    phase: str


@dataclass(frozen=True)
class Done:
    """A message: a case is judged."""

    index: int
    result: CaseResult


#: Variables that name a folder which code that runs here may write into.
_FOLDERS = (
    "TMPDIR",
    "HOME",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "XDG_CACHE_HOME",
)
STACK_FILE = "stack"
LOADING = "loading"


def work(connection: Connection, setup: Setup) -> None:
    """Run the cases that come over a connection until an empty batch comes.

    Args:
        connection: Brings lists of `Job`; takes `Begun` and `Done`.
        setup: Tree, device and folder.
    """
    given_faults.stand_in(setup.cwd)
    _settle(setup.folder)
    _interpret(setup.device.interprets(setup.is_kernel))
    if setup.trust is not None:
        tell(setup.trust)
    with (setup.folder / STACK_FILE).open("w") as stack:
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
        # A kernel is compiled as it is launched, by programs that are no part of this process.
        is_compiled = setup.is_kernel and setup.device.kernels == NATIVE
        kept.folder = setup.kept
        confine(setup.folder, COMPILERS if is_compiled else ())
        bench = Bench(setup.tree, setup.device.of(setup.is_kernel))
        batch: list[Job]
        while batch := connection.recv():
            for job in batch:
                connection.send(Begun(job.index, LOADING))
                bench.prepare(job.case)
                connection.send(Done(job.index, _result(bench, job, connection)))
        bench.close()


def _interpret(asked: bool) -> None:
    # Triton reads it where a kernel is decorated, its own kernels as it is imported.
    os.environ["TRITON_INTERPRET"] = "1" if asked else "0"


def _result(bench: Bench, job: Job, connection: Connection) -> CaseResult:
    def begun(phase: str) -> None:
        connection.send(Begun(job.index, phase))

    try:
        if job.died is None:
            return bench.run(job.case, begun, job.whole)
        begun("golden")
        return bench.autopsy(job.case, job.died)
    except FaultError as error:
        return unjudged(job.case, str(error))
    except Exception as error:  # noqa: BLE001 - the tool's own failure says nothing of upstream
        if package := lacking_package(error):
            said = f"the package {package} is not installed here"
            return unjudged(job.case, said, Verdict.UNAVAILABLE)
        return unjudged(job.case, f"the tool failed: {type(error).__name__}: {error}")


def _settle(folder: Path) -> None:
    for name in _FOLDERS:
        os.environ[name] = str(folder)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # A proxy would be asked for loopback too.
    os.chdir(folder)
    sys.dont_write_bytecode = True
    # What upstream prints is not part of a result.
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    import torch

    torch.set_num_threads(1)
