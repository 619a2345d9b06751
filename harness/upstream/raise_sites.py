"""Finds, in a tree, the function that a seam enters and the line at which a guard raises.

Lines move with every release, so they are never written down: they are found at run time from
the documented text.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from contracts.contract import RETURNED, Guard
from harness.errors import SourceError

_Node = TypeVar("_Node", bound=ast.AST)
_FIELD = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class RaiseSite:
    """Where upstream refuses: a `raise`, or the statement that says what is returned.

    Lines count from 1, both inclusive.
    """

    first: int
    last: int
    error: str
    #: The function that holds it, with its class.
    symbol: str
    #: For an error that is caught and raised again: the first line that was tried.
    tried: int | None = None

    def holds(self, line: int) -> bool:
        """Return whether a traceback's line says that this statement raised.

        What is raised again keeps the line that was tried.
        """
        return (self.tried or self.first) <= line <= self.last

    def raised_at(self, file: str, frames: Iterable[tuple[str, int, str]]) -> bool:
        """Return whether one of some innermost frames (file, line, function) is this statement."""
        return any(place == file and self.holds(line) for place, line, _ in frames)


@lru_cache(maxsize=64)
def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"{file} is nothing that Python can read: {error}") from error


def has_symbol(file: Path, symbol: str) -> bool:
    """Return whether a file defines a dotted name, as in `GlmImageAR.forward`."""
    body = _parsed(file).body
    for part in symbol.split("."):
        found = next((n for n in body if getattr(n, "name", None) == part), None)
        if found is None:
            return False
        body = getattr(found, "body", [])
    return True


@lru_cache(maxsize=1024)
def guard_site(file: Path, guard: Guard) -> RaiseSite | None:
    """Return where a file raises what a guard documents, or None if nowhere."""
    if guard.caught:
        return _find_reraise(file, guard.caught)
    if guard.maker:
        return _find_made(file, guard)
    return find_raise(file, guard.error, guard.text, guard.source.symbol, guard.which)


def find_raise(
    file: Path, error: str, text: str, symbol: str = "", which: int = 0
) -> RaiseSite | None:
    """Return the statement that raises an error with a text, or None if there is none.

    An `assert` with a text is one too, of an AssertionError.

    Args:
        file: A file of upstream's.
        error: Name of the error's type; `RETURNED` for a text that is returned.
        text: The documented text; its `{fields}` stand for anything that is filled in.
        symbol: The function that holds it, where several say the same.
        which: Which of several statements in that function, counted from 0.
    """
    wanted = _FIELD.sub("{}", text)
    if error == RETURNED:
        return _find_returned(file, wanted, symbol, which)
    found = [site for site, said in _refusals(file, error) if wanted in said]
    # The same words may stand in several functions.
    own = [site for site in found if site.symbol == symbol]
    if which and own:
        # One of several is meant: an earlier one, which says the same, is another guard.
        return own[which] if which < len(own) else None
    return next(iter([*own, *found]), None)


@lru_cache(maxsize=256)
def _refusals(file: Path, error: str) -> tuple[tuple[RaiseSite, str], ...]:
    """Return each statement that raises an error of a type, with its text."""
    return tuple(_found_refusals(file, error))


def _found_refusals(file: Path, error: str) -> Iterator[tuple[RaiseSite, str]]:
    if error == AssertionError.__name__:
        for symbol, test in _nodes(_parsed(file), "", ast.Assert):
            if test.msg is not None:
                yield _site(test, error, symbol), _text(test.msg)
    for symbol, node in _nodes(_parsed(file), "", ast.Raise):
        call = node.exc
        if isinstance(call, ast.Call) and call.args and ast.unparse(call.func).endswith(error):
            yield _site(node, error, symbol), _text(call.args[0])


def _site(node: ast.stmt, error: str, symbol: str) -> RaiseSite:
    return RaiseSite(node.lineno, node.end_lineno or node.lineno, error, symbol)


def _find_returned(file: Path, wanted: str, own: str, which: int) -> RaiseSite | None:
    found = [
        _site(node, RETURNED, symbol)
        for kinds in (ast.Assign | ast.Return | ast.Expr, ast.Raise)
        for symbol, node in _nodes(_parsed(file), "", ast.stmt)
        if isinstance(node, kinds) and _says(node, wanted)
    ]
    # What is raised here and returned by a caller may be worded in several functions.
    there = [site for site in found if site.symbol == own]
    return next(iter([*there[which:], *found]), None)


def _says(node: ast.stmt, wanted: str) -> bool:
    if wanted == "{}":
        # What is passed on word for word: it is taken out of the message as its `error`.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            return ast.unparse(node.value.args[0]).endswith(".error_msg")
        targets = node.targets if isinstance(node, ast.Assign) else []
        taken = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        return taken and any(isinstance(t, ast.Name) and t.id == "error" for t in targets)
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant | ast.JoinedStr))
    return any(wanted in _text(part) for part in parts)


def _find_made(file: Path, guard: Guard) -> RaiseSite | None:
    wanted = _FIELD.sub("{}", guard.text)
    words = [
        _text(part)
        for symbol, part in _nodes(_parsed(file), "", ast.JoinedStr)
        if symbol == guard.maker
    ]
    said = any(re.match(re.escape(text).replace(r"\{\}", ".*"), wanted) for text in words)
    if guard.maker in _held(file, guard.source.symbol, wanted):
        return _find_raise_of(file, guard)
    for symbol, node in _nodes(_parsed(file), "", ast.Raise):
        made = isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) == guard.maker
        if said and made and symbol == guard.source.symbol:
            return RaiseSite(node.lineno, node.end_lineno or node.lineno, guard.error, symbol)
    return None


def _held(file: Path, symbol: str, wanted: str) -> set[str]:
    """Return the names of the variables that hold a text in a function."""
    return {
        target.id
        for where, node in _nodes(_parsed(file), "", ast.Assign)
        if where == symbol and wanted in _text(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _find_raise_of(file: Path, guard: Guard) -> RaiseSite | None:
    """Return the statement that raises an error with the text that a variable holds."""
    for symbol, node in _nodes(_parsed(file), "", ast.Raise):
        call = node.exc
        if symbol != guard.source.symbol or not isinstance(call, ast.Call):
            continue
        held = [arg.id for arg in call.args if isinstance(arg, ast.Name)]
        if guard.maker in held and ast.unparse(call.func).endswith(guard.error):
            return _site(node, guard.error, symbol)
    return None


def _find_reraise(file: Path, caught: str) -> RaiseSite | None:
    for symbol, node in _nodes(_parsed(file), "", ast.Try):
        for handler in node.handlers:
            if handler.type is None or ast.unparse(handler.type) != caught:
                continue
            again = [n for n in handler.body if isinstance(n, ast.Raise) and n.exc is None]
            if again:
                line = again[-1].lineno
                return RaiseSite(line, line, caught, symbol, tried=node.lineno)
    return None


def _nodes(node: ast.AST, symbol: str, kind: type[_Node]) -> list[tuple[str, _Node]]:
    found: list[tuple[str, _Node]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kind):
            found.append((symbol, child))
        inner = symbol
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{symbol}.{child.name}".lstrip(".")
        found += _nodes(child, inner, kind)
    return found


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(v) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""
