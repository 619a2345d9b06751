"""Faults that are not in the table: a user's own function, reply, splits, counts and rows.

`file.py::name` is a function `(payload, at, rng) -> payload`, or a `Fault`, in a user's file. A
`Reply` is a body from a user's file with its status and content type; `Splits` are what ranks are
told, `Counts` what a preprocessor tells and an encoder makes. All are named in a case by text, so
that a worker process can make them again.
"""

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from harness.errors import UsageError, unknown
from harness.given_counts import Counts
from harness.given_splits import Splits
from simulators.faults import FAULTS, Fault, Place
from simulators.faults.fault import whole
from simulators.http_answer import Answer
from simulators.payload import ANSWER, REPLY, ROWS, Payload

_FORMS = (REPLY, ROWS)
#: The folder from which files are named; a worker process stands elsewhere.
_STANDING = [Path()]
#: What was loaded, by folder and name; the table of the product's own faults stays as it is.
_LOADED: dict[tuple[Path, str], Fault] = {}
_REPLY = "reply="


@dataclass(frozen=True)
class Reply:
    """A user's own payload: the file, and how it is sent if it goes over HTTP."""

    file: Path
    status: int = 200
    content_type: str = "application/json"
    #: Whether its tokens are stamped, so that identity can be judged.
    stamped: bool = False

    @property
    def name(self) -> str:
        """The name under which a case carries it."""
        stamped = "stamped" if self.stamped else "plain"
        return f"{_REPLY}{self.status},{self.content_type},{stamped},{self.file}"

    @classmethod
    def named(cls, name: str) -> "Reply | None":
        """Return the reply that a fault's name carries, or None if it carries none."""
        if not name.startswith(_REPLY):
            return None
        status, content_type, stamped, file = name.removeprefix(_REPLY).split(",", 3)
        return cls(Path(file), int(status), content_type, stamped == "stamped")


def stand_in(folder: Path) -> None:
    """Name files from a folder."""
    _STANDING[0] = folder


def fault_named(name: str) -> Fault:
    """Return a fault of the table, a user's own, or a user's reply, splits or counts.

    Raises:
        UsageError: if there is none of that name; the text says why.
    """
    if name in FAULTS:
        return FAULTS[name]
    reply = Reply.named(name)
    if reply is not None:
        return _fault_of(reply)
    own = Splits.named(name) or Counts.named(name)
    if own is not None:
        return own.fault
    if "::" in name:
        key = (_STANDING[0].resolve(), name)
        if key not in _LOADED:
            _LOADED[key] = _loaded(name)
        return _LOADED[key]
    if name.endswith(".py"):
        raise UsageError(f"fault {name!r}: expected FILE.py::FUNCTION")
    raise unknown("fault", name, FAULTS)


def _loaded(name: str) -> Fault:
    file, _, symbol = name.partition("::")
    path = Path(_STANDING[0], file).expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"fault {name!r}: there is no file {file}")
    spec = importlib.util.spec_from_file_location(f"given_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"fault {name!r}: {file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(
            f"fault {name!r}: {file} fails: {type(error).__name__}: {error}"
        ) from error
    value = getattr(module, symbol, None)
    if isinstance(value, Fault):
        return Fault(**{**vars(value), "name": name})
    if not callable(value):
        named = [key for key, item in vars(module).items() if callable(item) and key[0] != "_"]
        raise unknown(f"function of {file}", symbol, named)
    return Fault(name, "substitution", value, _FORMS, whole, value.__doc__ or "-> your own")


def _fault_of(reply: Reply) -> Fault:
    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        body = reply.file.read_bytes()
        if payload.form == ROWS:
            return payload.with_body(_rows(body))
        headers = (("content-type", reply.content_type),)
        return payload.with_records([Answer(reply.status, headers, body)])

    return Fault(reply.name, "substitution", change, (ANSWER, ROWS), whole, "-> your own", "body")


def _rows(body: bytes) -> Any:
    import torch

    value = json.loads(body)
    try:
        return torch.tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return value  # What is no tensor is given as it is.
