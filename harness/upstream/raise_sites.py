"""Finds, in a tree, the function that a seam enters and the line at which a guard raises.

Lines move with every release, so they are never written down: they are found at run time from
the documented text.
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FIELD = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class RaiseSite:
    """A `raise` statement in upstream's source; lines count from 1, both inclusive."""

    first: int
    last: int
    error: str
    #: The function that holds it, with its class.
    symbol: str


@lru_cache(maxsize=64)
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


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
def find_raise(file: Path, error: str, text: str) -> RaiseSite | None:
    """Return the statement that raises an error with a text, or None if there is none.

    Args:
        file: A file of upstream's.
        error: Name of the error's type.
        text: The documented text; its `{fields}` stand for anything that is filled in.
    """
    wanted = _FIELD.sub("{}", text)
    for symbol, node in _raises(_parsed(file), ""):
        call = node.exc
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if ast.unparse(call.func).endswith(error) and wanted in _text(call.args[0]):
            return RaiseSite(node.lineno, node.end_lineno or node.lineno, error, symbol)
    return None


def _raises(node: ast.AST, symbol: str) -> list[tuple[str, ast.Raise]]:
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise):
            found.append((symbol, child))
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = f"{symbol}.{child.name}".lstrip(".") if named else symbol  # type: ignore[attr-defined]
        found += _raises(child, inner)
    return found


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(v) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""
