"""Finds, in upstream's source, what a stub cannot notice while the code runs.

Python answers `x is stub`, `callable(stub)` and `except stub` without asking the object, and
`super().name` does not ask the base's `__getattr__`. So the source of each real module is read:
names caught are made exceptions, names asked of `super()` are put on the stub bases, and an
identity test or `callable` on a stub refuses the module.
"""

import ast
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from harness.upstream.stubs import Inherited, StubType, is_stub, stub_error
from harness.upstream.touches import NotProvided


class Spots(NamedTuple):
    """What is asked in one source that a stub cannot notice; plain values, that can be kept."""

    #: Names asked of `super()`.
    asked: tuple[str, ...]
    #: Names caught as exceptions.
    caught: tuple[str, ...]
    #: Names tested by identity or `callable`, each with its line.
    tested: tuple[tuple[str, int], ...]


def spots_of(source: str) -> Spots:
    """Return the blind spots of a source.

    Raises:
        SyntaxError: if it is no Python.
    """
    nodes = list(ast.walk(ast.parse(source)))
    asked = {name for node in nodes for name in (*_by_attribute(node), *_by_text(node))}
    caught = [name for node in nodes for name in _caught(node)]
    tested = [(name, getattr(node, "lineno", 0)) for node in nodes for name in _unseen(node)]
    return Spots(tuple(sorted(asked)), tuple(caught), tuple(tested))


def close(module: ModuleType, spots: Spots) -> None:
    """Close the blind spots of one module that was just executed.

    Raises:
        NotProvided: if the module tests a stub by identity or by `callable`; the text names the
            stub, so that its consumer can provide it.
    """
    for name in spots.caught:
        if is_stub(_value(module, name)):
            module.__dict__[name] = stub_error(name, module.__name__)
    _inherit(module, spots.asked)
    for name, line in spots.tested:
        if is_stub(_value(module, name)):
            raise NotProvided(
                f"{module.__name__} line {line} asks of the stub {name} what a stub "
                "cannot notice: the consumer must provide it"
            )


def _value(module: ModuleType, name: str) -> object:
    return module.__dict__.get(name)


def _unseen(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return [part.id for part in (node.left, *node.comparators) if isinstance(part, ast.Name)]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "callable"
    ):
        return [part.id for part in node.args if isinstance(part, ast.Name)]
    return []


def _caught(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.ExceptHandler) or node.type is None:
        return []
    parts = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _by_attribute(node: ast.AST) -> list[str]:
    is_asked = (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "super"
    )
    return [node.attr] if is_asked and isinstance(node, ast.Attribute) else []


def _by_text(node: ast.AST) -> list[str]:
    # getattr(super(), "name", None) and hasattr(super(), "name") ask the same.
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return []
    whom, what = node.args[:2]
    is_super = (
        isinstance(whom, ast.Call) and isinstance(whom.func, ast.Name) and whom.func.id == "super"
    )
    if not is_super or not isinstance(what, ast.Constant) or not isinstance(what.value, str):
        return []
    return [what.value]


def _inherit(module: ModuleType, asked: Sequence[str]) -> None:
    for value in list(module.__dict__.values()):
        if not isinstance(value, StubType) or is_stub(value):
            continue
        for base in type.mro(value):
            if isinstance(base, StubType) and is_stub(base):
                for name in set(asked) - {"__init__"}:
                    if name not in type.__getattribute__(base, "__dict__"):
                        type.__setattr__(base, name, Inherited(name))
