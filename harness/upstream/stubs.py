"""Stubs: what stands for the parts of SGLang, and of missing packages, that are not loaded.

While upstream is imported a stub may be named, subclassed, called and decorate; anything that
only the real thing can answer raises `NotProvided`. Once sealed, every touch raises
`StubReached`. What Python does not let an object notice (identity, `callable`) is found in the
source beforehand, by `harness.upstream.blind_spots`.
"""

import types
from abc import ABCMeta
from collections.abc import Callable
from typing import Any

from harness.upstream.touches import LEDGER

_MARK = "_seamproof_stub"

#: What an object cannot do without the real thing answering.
_OPERATORS = """
    bool len length_hint iter next reversed contains getitem setitem delitem missing
    eq ne lt le gt ge hash add radd iadd sub rsub isub mul rmul imul matmul rmatmul imatmul
    truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow
    lshift rlshift rshift rrshift and rand iand or ror ior xor rxor ixor neg pos abs invert
    int float complex index round trunc floor ceil str repr format bytes fspath
    enter exit aenter aexit await aiter anext instancecheck subclasscheck
    copy deepcopy reduce reduce_ex getnewargs_ex array torch_function dlpack
""".split()


def is_stub(value: object) -> bool:
    """Return whether a value is a stub, without touching it."""
    kind = type(value)
    return kind is Stub or (
        issubclass(kind, StubType) and _MARK in type.__getattribute__(value, "__dict__")
    )


def stub_name(value: Any) -> str:
    """Return the name of a stub, without touching it."""
    return _named(value) if type(value) is Stub else _class_name(value)


def _named(value: Any) -> str:
    if type(value) is Stub:
        return str(object.__getattribute__(value, "_name"))
    return f"{type(value).__module__}.{type(value).__qualname__}, which has a stub for a base"


def _operator(name: str) -> Callable[..., Any]:
    def touched(self: Any, *args: Any, **kwargs: Any) -> Any:
        LEDGER.reach(_named(self), name)

    touched.__name__ = f"__{name}__"
    return touched


class Stub:
    """A stub for a function, an instance or a constant."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__(self, "_name")
        if LEDGER.sealed:
            LEDGER.reach(own, f"its {name}")
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        return Stub(f"{own}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        LEDGER.reach(_named(self), f"its {name} set")

    def __delattr__(self, name: str) -> None:
        LEDGER.reach(_named(self), f"its {name} deleted")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return another stub, or what is decorated; refused once sealed."""
        name = _named(self)
        if LEDGER.sealed:
            LEDGER.reach(name, "called")
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type):
            LEDGER.decorated.append(f"{args[0].__qualname__}, by {name}")
            return args[0]
        return Stub(f"{name}()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (stub_class(_named(self)),)


class StubType(ABCMeta):
    """The type of stub classes, and of upstream's real classes that derive from one."""

    def __getattribute__(cls, name: str) -> Any:
        if LEDGER.sealed and _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), f"its {name}")
        return super().__getattribute__(name)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or name.startswith("_abc_"):
            raise AttributeError(name)
        if LEDGER.sealed:
            LEDGER.reach(_class_name(cls), f"its {name}")
        return Stub(f"{_class_name(cls)}.{name}")

    def __setattr__(cls, name: str, value: Any) -> None:
        if _is_stub_class(cls) and not name.startswith(("__", "_abc_")):
            LEDGER.reach(_class_name(cls), f"its {name} set")
        super().__setattr__(name, value)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a stub for an instance, or a real class's real instance."""
        if not _is_stub_class(cls):
            return super().__call__(*args, **kwargs)
        if LEDGER.sealed:
            LEDGER.reach(_class_name(cls), "instantiated")
        return Stub(f"{_class_name(cls)}()")

    def __instancecheck__(cls, instance: Any) -> bool:
        if _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), "isinstance")
        return type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), "issubclass")
        return type.__subclasscheck__(cls, subclass)

    def __eq__(cls, other: object) -> bool:
        if LEDGER.sealed and _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), "compared")
        return cls is other

    def __hash__(cls) -> int:
        if LEDGER.sealed and _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), "hashed")
        return type.__hash__(cls)

    def __iter__(cls) -> Any:
        LEDGER.reach(_class_name(cls), "iterated")

    def __len__(cls) -> int:
        LEDGER.reach(_class_name(cls), "measured")

    def __bool__(cls) -> bool:
        if _is_stub_class(cls):
            LEDGER.reach(_class_name(cls), "its truth")
        return True


def _is_stub_class(cls: type) -> bool:
    return _MARK in type.__getattribute__(cls, "__dict__")


def _class_name(cls: type) -> str:
    module = type.__getattribute__(cls, "__module__")
    return f"{module}.{type.__getattribute__(cls, '__qualname__')}"


class _Base:
    """What upstream's real classes inherit where their real base is not loaded."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if LEDGER.sealed:
            LEDGER.reach(_named(self), f"its {name}")
        return Stub(f"{_named(self)}.{name}")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        LEDGER.reach(_named(self), "the base's __init__")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        pass

    def __class_getitem__(cls, item: Any) -> type:
        return cls


for _name in _OPERATORS:
    setattr(Stub, f"__{_name}__", _operator(_name))
    if _name not in ("instancecheck", "subclasscheck"):
        setattr(_Base, f"__{_name}__", _operator(_name))


class Inherited:
    """A name that real code asks of its stub base through `super()`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        LEDGER.reach(f"the base's {self._name}", "super()")


def stub_class(name: str, module: str = "") -> type:
    """Return a new stub class, to be named, subclassed or called."""
    full = f"{module}.{name}" if module else name
    holder, _, short = full.rpartition(".")
    members = {"__module__": holder, "__qualname__": short, _MARK: True}
    return StubType(short, (_Base,), members)


def stub_error(name: str, module: str) -> type[Exception]:
    """Return a stub for an exception type.

    It may be caught. Nothing real raises it, and raising it, which makes an instance, touches.
    """

    def touched(self: Exception, *args: Any) -> None:
        LEDGER.reach(f"{module}.{name}", "raised")

    return type(name, (Exception,), {"__module__": module, "__init__": touched})


class StubModule(types.ModuleType):
    """A module that is not loaded; each name asked of it is a stub."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if LEDGER.sealed:
            LEDGER.reach(f"{self.__name__}.{name}", "named")
        if name in self._made:
            return self._made[name]
        value: Any
        if name.endswith(("Error", "Exception", "Warning")):
            value = stub_error(name, self.__name__)
        elif name[0].isupper() and not name.isupper():
            value = stub_class(name, self.__name__)
        else:
            value = Stub(f"{self.__name__}.{name}")
        # Not an attribute: the next time it is named shall be seen too.
        self._made[name] = value
        return value
