"""The ledger of what was touched that is not upstream's own: stubs, and undeclared members.

A touch while a case runs is written down and then raised as a `BaseException`. The writing is
what counts: even where upstream swallows the raise, the case becomes inconclusive.
"""

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn


class StubReached(BaseException):
    """A case came upon something that stands in for upstream's own code."""


class NotProvided(BaseException):
    """While loading, upstream did with a stub what only the real thing can answer."""


@dataclass
class Ledger:
    """What was touched, and whether touching is still allowed."""

    #: False while modules are imported, True while cases run.
    sealed: bool = False
    touched: list[str] = field(default_factory=list)
    #: Functions that a stub decorated: they run undecorated.
    decorated: list[str] = field(default_factory=list)

    def reach(self, name: str, how: str) -> NoReturn:
        """Write down a touch that cannot be answered, and raise it."""
        said = f"{name} was reached ({how}) at {_caller()}"
        self.touched.append(said)
        raise (StubReached if self.sealed else NotProvided)(said)

    def take(self) -> list[str]:
        """Return what was touched since the last call."""
        taken, self.touched = self.touched, []
        return taken


#: One release and one set of stubs live in a process, and so one ledger.
LEDGER = Ledger()


def _caller() -> str:
    frame = sys._getframe(2)
    here = ("harness.upstream.", "importlib", "copy", "json")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(here):
        frame = frame.f_back
    name = frame.f_code.co_filename.rpartition("/")[2]
    return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"


class Provided:
    """An object that the harness provides: the smallest honest thing, and nothing beside it.

    Members are given by name. Reaching, or setting, one that was not given makes the case
    inconclusive: the real object might have answered otherwise.
    """

    def __init__(self, what: str, **members: Any) -> None:
        self.__dict__["what"] = what
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self.__dict__.get("lacks", ()):
            raise AttributeError(name)
        LEDGER.reach(f"{self.__dict__.get('what', 'a provided object')}.{name}", "not provided")

    def __bool__(self) -> bool:
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            LEDGER.reach(f"{self.__dict__['what']}.{name}", "set, and not provided")
        self.__dict__[name] = value


def without(provided: Provided, names: Collection[str]) -> Provided:
    """Return a provided object that is known not to have some members, as the real one has not."""
    provided.__dict__["lacks"] = names
    return provided


def _undeclared(name: str) -> Callable[..., Any]:
    def touched(self: Provided, *args: Any) -> Any:
        LEDGER.reach(str(self.__dict__["what"]), f"its {name}, not provided")

    return touched


# What the real object would answer is not known here. An object is true, and has a text, unless
# its class says otherwise; the classes that are provided for do not.
for _name in "eq ne hash len iter contains getitem lt le gt ge".split():
    setattr(Provided, f"__{_name}__", _undeclared(_name))
