"""The first check of a /generate body: the types that FastAPI asks of the request's fields.

Only the fields that the simulator reads are checked; the real server has about eighty more.

Source: sglang 0.5.23, srt/managers/io_struct.py, GenerateReqInput, and
srt/utils/field_validators.py; the texts were seen in the answers of the real route.
"""

from array import array
from collections.abc import Callable
from typing import Any

Loc = tuple[str | int, ...]
#: One finding, in pydantic's form: type, loc, msg, input and sometimes ctx.
Finding = dict[str, Any]
_Check = Callable[[Any, Loc], list[Finding]]

_TRUE_WORDS = ("1", "on", "t", "true", "y", "yes")
_FALSE_WORDS = ("0", "off", "f", "false", "n", "no")


def shape_errors(value: Any) -> list[Finding]:
    """Return what FastAPI's parse has to say against a body; empty if nothing.

    Args:
        value: The parsed JSON body.
    """
    if not isinstance(value, dict):
        text = "Input should be a dictionary or an instance of GenerateReqInput"
        context = {"class_name": "GenerateReqInput"}
        return [_finding("dataclass_type", ("body",), text, value) | {"ctx": context}]
    present = [(name, check) for name, check in _FIELDS.items() if name in value]
    return [finding for name, check in present for finding in check(value[name], ("body", name))]


def truth(value: Any) -> bool:
    """Return the truth that pydantic reads in a value that `shape_errors` has let through."""
    return value.lower() in _TRUE_WORDS if isinstance(value, str) else bool(value)


def _finding(kind: str, loc: Loc, text: str, value: Any) -> Finding:
    return {"type": kind, "loc": loc, "msg": text, "input": value}


def _token_ids(value: Any, loc: Loc) -> list[Finding]:
    problem = _ids_problem(value)
    if problem is None:
        return []
    finding = _finding("value_error", loc, f"Value error, {problem}", value)
    return [finding | {"ctx": {"error": ValueError(problem)}}]


def _ids_problem(value: Any) -> str | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list):
        return f"must be list or null; got {type(value).__name__}"
    if isinstance(value[0], int):
        return _row_problem(value)
    if not isinstance(value[0], list):
        return f"elements must be int or list; got {type(value[0]).__name__}"
    problems = ((index, _row_problem(row)) for index, row in enumerate(value))
    return next((f"row {index}: {text}" for index, text in problems if text), None)


def _row_problem(row: Any) -> str | None:
    if row is None:
        return "must not be None"
    if not isinstance(row, list):
        return f"must be list; got {type(row).__name__}"
    if row and not isinstance(row[0], int):
        return f"elements must be int; got {type(row[0]).__name__}"
    try:
        array("q", row)
    except (TypeError, OverflowError) as error:
        return f"contains non-int64 element: {error}"
    return None


def _string(value: Any, loc: Loc) -> list[Finding]:
    if isinstance(value, str):
        return []
    return [_finding("string_type", loc, "Input should be a valid string", value)]


def _mapping(value: Any, loc: Loc) -> list[Finding]:
    if isinstance(value, dict):
        return []
    return [_finding("dict_type", loc, "Input should be a valid dictionary", value)]


def _list_of(check: _Check) -> _Check:
    def checked(value: Any, loc: Loc) -> list[Finding]:
        if not isinstance(value, list):
            return [_finding("list_type", loc, "Input should be a valid list", value)]
        return [f for index, item in enumerate(value) for f in check(item, (*loc, index))]

    return checked


def _optional(**members: _Check) -> _Check:
    """Return the check that holds for null and wherever one of its members holds."""

    def checked(value: Any, loc: Loc) -> list[Finding]:
        found = [check(value, (*loc, _LABELS[name])) for name, check in members.items()]
        fits = value is None or [] in found
        return [] if fits else [finding for some in found for finding in some]

    return checked


def _boolean(value: Any, loc: Loc) -> list[Finding]:
    if isinstance(value, bool) or value in (0, 1):
        return []
    text = "Input should be a valid boolean"
    if not isinstance(value, str | int):
        return [_finding("bool_type", loc, text, value)]
    if str(value).lower() in (*_TRUE_WORDS, *_FALSE_WORDS):
        return []
    return [_finding("bool_parsing", loc, f"{text}, unable to interpret input", value)]


_LABELS = {
    "string": "str",
    "strings": "list[str]",
    "mapping": "dict[str,any]",
    "mappings": "list[dict[str,any]]",
}
_FIELDS: dict[str, _Check] = {
    "rid": _optional(string=_string, strings=_list_of(_string)),
    "text": _optional(string=_string, strings=_list_of(_string)),
    "input_ids": _token_ids,
    "sampling_params": _optional(mappings=_list_of(_mapping), mapping=_mapping),
    "stream": _boolean,
}
