"""What a consumer is: upstream's own function, and how it is driven with one payload."""

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

from harness.outcome import Ending, Outcome, Passed, Raised, Run, Span, Whose
from harness.stretches import spans_between, stretched
from harness.upstream.loading import Upstream
from harness.upstream.stub_names import HIDDEN
from harness.upstream.stubs import is_stub
from harness.upstream.touches import LEDGER, Provided
from simulators.faults import Fault, Place
from simulators.payload import Payload

#: Where the tool stands, and that part of it where an error may be upstream's all the same: what
#: is compiled has no frame where it is called.
_TOOL = Path(__file__).parents[2]
_CALLING = _TOOL / "harness" / "consumers"


@dataclass(frozen=True)
class Lie:
    """What is done to the honest payload: faults at places, one after the other."""

    steps: Sequence[tuple[Fault, Place]]
    rng: Random

    def told(self, payload: Payload) -> Payload:
        """Return the payload with every fault done to it that still has its place."""
        for fault, at in self.steps:
            if payload.form in fault.forms and fault.fits(payload, at):
                payload = fault.done(payload, at, self.rng)
        return payload


class Consumer(Protocol):
    """Drives one seam's real function. Built once in a worker, then driven with many cases."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None: ...

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream did with the payload of one request under a lie."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed | None:
        """Return what would pass under a lie, without driving upstream.

        It tells what was broken where the drive took the whole process with it.
        """

    def close(self) -> None:
        """Stop what was started."""


@dataclass(frozen=True)
class Output:
    """What can be seen of an accepted output."""

    spans: tuple[Span, ...] = ()
    facts: Mapping[str, str] | None = None
    #: The output itself, searched for stubs.
    value: Any = None


class Lacking(BaseException):
    """A call came to what this machine is known not to be able to run; the text says to what.

    Args:
        why: The text.
        past_checks: Whether every check of upstream's stands before it.
    """

    def __init__(self, why: str, past_checks: bool = False) -> None:
        super().__init__(why)
        self.past_checks = past_checks


def outcome_of(upstream: Upstream, call: Callable[[], Output]) -> Outcome:
    """Return how a call into upstream ended, once all that it left to a card has ended too.

    What goes wrong on a card is told late, and takes the process's hold on the card with it: no
    later case could be judged. So the process dies of it, as upstream's would.

    Args:
        upstream: Tells upstream's own frames from those of other packages.
        call: Drives the function and reads its output.
    """
    outcome = _outcome_of(upstream, call)
    # Loaded in every worker; the processes that import this file without one do without torch.
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return outcome
    try:
        torch.cuda.synchronize()
    except torch.AcceleratorError:
        os.abort()
    return replace(outcome, on_card=True)


def _outcome_of(upstream: Upstream, call: Callable[[], Output]) -> Outcome:
    LEDGER.take()
    output, raised, is_tools = Output(), None, False
    try:
        output = call()
    except KeyboardInterrupt:
        raise
    except Lacking as error:
        LEDGER.take()
        return Outcome(Ending.RAISED, lacks=str(error), past_checks=error.past_checks)
    except BaseException as error:  # noqa: BLE001 - whatever upstream ends in is the finding
        raised, is_tools = _raised(error, upstream), _is_tools(error)
    unsure = [*LEDGER.take(), *_stubs_in(output.value)]
    if raised is not None and ("Stub" in raised.message or "BaseException" in raised.message):
        unsure.append(f"a stub had a part in {raised.type}: {raised.message}")
    if raised is not None and not raised.frames and is_tools:
        unsure.append(f"the tool failed, and not upstream: {raised.type}: {raised.message}")
    if raised is not None and raised.type == "NameError" and _names_hidden(raised.message):
        unsure.append(f"a stub was looked for where it cannot be found: {raised.message}")
    if raised is not None and raised.type == "OutOfMemoryError":
        unsure.append("the card had no memory left")
    if unsure:
        return Outcome(Ending.RAISED if raised else Ending.ACCEPTED, raised, unsure=tuple(unsure))
    if raised is not None:
        return Outcome(Ending.RAISED, raised)
    return Outcome(Ending.ACCEPTED, None, output.spans, output.facts or {})


def _names_hidden(message: str) -> bool:
    return any(f"name '{name}'" in message for name in HIDDEN)


def _raised(error: BaseException, upstream: Upstream) -> Raised:
    root = str(upstream.tree.root)
    frames = traceback.extract_tb(error.__traceback__)
    ours = tuple(
        (str(Path(f.filename).relative_to(root)), f.lineno or 0, f.name)
        for f in frames
        if f.filename.startswith(f"{root}/sglang/")
    )
    last = frames[-1].filename if frames else ""
    return Raised(type(error).__name__, str(error), _origin(last, root), ours)


def _is_tools(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    last = Path(frames[-1].filename) if frames else Path()
    ours = any(last.is_relative_to(_TOOL / name) for name in ("harness", "simulators"))
    return ours and not last.is_relative_to(_CALLING)


def _origin(file: str, root: str) -> str:
    if file.startswith(root + "/sglang"):
        return "upstream"
    parts = Path(file).parts
    for anchor in ("site-packages", "dist-packages"):
        if anchor in parts:
            return parts[parts.index(anchor) + 1].removesuffix(".py")
    return "harness" if "harness" in parts else "python"


def _stubs_in(value: Any, depth: int = 4) -> list[str]:
    if is_stub(value):
        return ["a stub stands in the output"]
    if depth == 0:
        return []
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        parts = list(vars(value).values()) if isinstance(value, Provided) else []
    return [said for part in parts for said in _stubs_in(part, depth - 1)]


def spans(
    place: str, wants: Sequence[Whose], has: Sequence[Whose | None], unit: str = "tokens"
) -> tuple[Span, ...]:
    """Return the runs of one provenance in one output.

    Args:
        place: The output, in words.
        wants: Whose each token should be.
        has: Whose each token is; where it is shorter, there is nothing.
        unit: What the tokens are called in words.
    """
    return spans_between(place, stretched(wants), stretched(has), unit)
