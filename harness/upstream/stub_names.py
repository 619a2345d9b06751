"""Names of stubs in a real module: to name one while a case runs is a touch.

Python answers some questions without asking the object: `x is None`, `type(x)`, `id(x)`, or what
a function written in C makes of it. But a name has to be looked up first. So once a module has
been executed, its names that stand for stubs are taken out of it and kept behind its builtins,
where a function looks last, and where the look-up is seen.
"""

import builtins
from types import ModuleType
from typing import Any

from harness.upstream.stubs import is_stub, stub_name
from harness.upstream.touches import LEDGER


class Behind(dict[str, Any]):
    """A module's builtins, and behind them its names that stand for stubs."""

    def __init__(self) -> None:
        super().__init__(vars(builtins))
        self.stubs: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        if name not in self.stubs:
            raise KeyError(name)
        return self.found(name)

    def found(self, name: str) -> Any:
        """Return a stub by its name; once sealed, that is a touch."""
        stub = self.stubs[name]
        if LEDGER.sealed:
            LEDGER.reach(stub_name(stub), "named")
        return stub


#: The names that were taken out of any module.
HIDDEN: set[str] = set()


def prepare(module: ModuleType) -> None:
    """Give a module, before it is executed, builtins that stubs can be kept behind."""
    module.__dict__["__builtins__"] = Behind()


def hide(module: ModuleType) -> None:
    """Take the names of stubs out of a module that was prepared and executed."""
    behind = vars(module)["__builtins__"]
    for name, value in list(vars(module).items()):
        if is_stub(value):
            behind.stubs[name] = value
            HIDDEN.add(name)
            del module.__dict__[name]

    own = vars(module).get("__getattr__")

    def asked(name: str) -> Any:
        if name in behind.stubs:
            return behind.found(name)
        if own is not None:
            return own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__dict__["__getattr__"] = asked


def names(module: ModuleType) -> set[str]:
    """Return the names that a module has, those of stubs included."""
    behind = vars(module).get("__builtins__")
    hidden = set(behind.stubs) if isinstance(behind, Behind) else set()
    return set(vars(module)) | hidden
