"""What must hold of each column of a /generate request, in the order in which it is read.

- The ids are a list, or a list of lists, of 64-bit integers, read when the body is parsed.
- What the published schema calls an integer is one, and no sampling parameter is unknown to it
  (from 0.5.22 on; `contracts.clauses.sampling_params` has what is tried before that).
- No prompt of a batch is empty, and no id is under zero.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span
from contracts.source import Source

IO_STRUCT = "srt/managers/io_struct.py"
_VALIDATORS = "srt/utils/field_validators.py"
_SCHEMA = "api/v1/api_types.py"

_GATED = Span("0.5.22")
_INT64 = 2**63

#: Integers among the sampling parameters that the stage sends, or that a fault puts there.
_INTEGERS = ("max_new_tokens", "sampling_seed", "n")
KNOWN_PARAMS = (*_INTEGERS, "temperature", "ignore_eos")


def normalizing(symbol: str, text: str) -> Guard:
    """Return a check that the server's normalization makes in every release."""
    source = Source("0.5.23", IO_STRUCT, f"GenerateReqInput.{symbol}")
    return Guard("ValueError", text, Span("0.5.16"), source)


def _parsing(symbol: str, text: str) -> Guard:
    source = Source("0.5.23", _VALIDATORS, symbol)
    return Guard("ValueError", text, Span("0.5.16"), source, direct=True)


def _gating(symbol: str, text: str, maker: str = "_invalid_type") -> Guard:
    source = Source("0.5.23", _SCHEMA, symbol)
    return Guard("JsonContractError", text, _GATED, source, maker=maker)


_EITHER = "validate_optional_list_i64_1d_2d"

IDS_LIST = Clause(
    "ids-list",
    "The ids are a list or null.",
    guards=(_parsing(_EITHER, "must be list or null; got {got}"),),
)
IDS_FIRST = Clause(
    "ids-first",
    "The first of the ids is an integer or a list.",
    guards=(_parsing(_EITHER, "elements must be int or list; got {got}"),),
)
IDS_INT64 = Clause(
    "ids-int64",
    "Every id is an integer of 64 bits.",
    guards=(_parsing("validate_list_i64_1d", "contains non-int64 element"),),
)
ROWS_INT64 = Clause(
    "rows-int64",
    "Every row of a batch is a list of integers of 64 bits.",
    guards=(_parsing(_EITHER, "row {row}: "),),
)
PARSED = (IDS_LIST, IDS_FIRST, IDS_INT64, ROWS_INT64)

INTEGERS = Clause(
    "integers",
    "What the schema calls an integer is one: no truth, no fraction, no text.",
    guards=(_gating("_expect_int", "invalid type: {seen}, expected i64"),),
)
SEQUENCES = Clause(
    "sequences",
    "What the schema calls a sequence is one.",
    guards=(_gating("_expect_seq", "invalid type: {seen}, expected a sequence"),),
)
MEDIA_ITEMS = Clause(
    "media-items",
    "What stands for one image is an object, a text or null.",
    guards=(
        _gating("decode_MediaItem", "invalid type: {seen}, expected one of the MediaItem shapes"),
    ),
)
FIELDS_KNOWN = Clause(
    "fields-known",
    "Every sampling parameter is known.",
    guards=(
        _gating(
            "decode_SamplingParams",
            "unknown field `{field}`, expected one of ",
            maker="_unknown_field",
        ),
    ),
)
SCHEMA = (INTEGERS, SEQUENCES, MEDIA_ITEMS, FIELDS_KNOWN)

IDS_EACH = Clause("ids-each", "No prompt is empty, and no id is under zero.")


def rows_of(body: Mapping[str, Any]) -> tuple[list[Any], bool]:
    """Return a body's rows of ids, and whether it is a batch."""
    ids = body["input_ids"]
    batch = bool(ids) and not isinstance(ids[0], int)
    return (ids if batch else [ids]), batch


def params_of(body: Mapping[str, Any]) -> list[Any]:
    """Return a body's objects of sampling parameters, as many as it has."""
    params = body.get("sampling_params")
    if isinstance(params, list):
        return params
    return [] if params is None else [params]


def images_at(images: Any, index: int) -> Any:
    """Return what a batch's image data has for one prompt."""
    if not isinstance(images, list):
        # One thing serves every prompt.
        return None if images is None else [images]
    if index >= len(images):
        return None
    # A plain list has one thing for each prompt.
    return images[index] if isinstance(images[0], list) else [images[index]]


def walk_parse(body: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what the parse of the ids refuses."""
    ids, where = body.get("input_ids"), "$.input_ids"
    if ids is None or ids == []:
        return
    if not isinstance(ids, list):
        got = type(ids).__name__
        yield Violation(IDS_LIST, where, "a list", got, {"got": got})
    elif isinstance(ids[0], list):
        row = next((i for i, row in enumerate(ids) if not _is_row(row)), None)
        if row is not None:
            at = f"{where}[{row}]"
            yield Violation(ROWS_INT64, at, "a list of integers", _first(ids[row]), {"row": row})
    elif not isinstance(ids[0], int):
        got = type(ids[0]).__name__
        yield Violation(IDS_FIRST, f"{where}[0]", "an integer", got, {"got": got})
    elif not _is_row(ids):
        yield Violation(IDS_INT64, where, "integers of 64 bits", _first(ids))


def _is_row(row: Any) -> bool:
    # Python counts a truth as an integer, and so does the parse.
    return isinstance(row, list) and all(isinstance(i, int) and -_INT64 <= i < _INT64 for i in row)


def _first(row: Any) -> str:
    if not isinstance(row, list):
        return type(row).__name__
    return next(repr(i) for i in row if not _is_row([i]))


def walk_schema(body: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what the published schema refuses, in the order of the body's keys."""
    for key in body:
        if key == "input_ids" and isinstance(body[key], list):
            yield from _walk_ids_schema(body[key], "$.input_ids")
        elif key == "image_data" and isinstance(body[key], list):
            yield from _walk_media(body[key], "$.image_data")
        elif key == "sampling_params":
            for one in params_of(body):
                yield from _walk_fields(one)


def _walk_ids_schema(ids: list[Any], where: str) -> Iterator[Violation]:
    flat = not ids or (isinstance(ids[0], int | float) and not isinstance(ids[0], bool))
    for index, row in enumerate([ids] if flat else ids):
        at = where if flat else f"{where}[{index}]"
        if isinstance(row, list):
            yield from _wrong(at, row)
        else:
            yield Violation(SEQUENCES, at, "a sequence", repr(row), {"seen": _seen(row)})
            return


def _walk_media(images: list[Any], where: str) -> Iterator[Violation]:
    # The first entry says whether there is one thing for each prompt, or a list of them.
    nested = bool(images) and isinstance(images[0], list)
    for index, entry in enumerate(images):
        if nested and entry is not None and not isinstance(entry, list):
            seen = {"seen": _seen(entry)}
            yield Violation(SEQUENCES, f"{where}[{index}]", "a sequence", seen["seen"], seen)
            return
        for item in (entry or []) if nested else [entry]:
            at = f"{where}[{index}]"
            if item is not None and not isinstance(item, str | dict):
                seen = {"seen": _seen(item)}
                yield Violation(MEDIA_ITEMS, at, "one image", seen["seen"], seen)
                return
            grids = item.get("image_grid_thw") if isinstance(item, dict) else None
            rows = [row for row in grids or [] if isinstance(row, list)]
            yield from _wrong(at, [size for row in rows for size in row])


def _walk_fields(params: Any) -> Iterator[Violation]:
    for name, value in params.items() if isinstance(params, dict) else ():
        at = f"$.sampling_params.{name}"
        if name in _INTEGERS and value is not None:
            yield from _wrong(at, [value])
        elif name not in KNOWN_PARAMS:
            yield Violation(FIELDS_KNOWN, at, "a known field", name, {"field": name})


def _wrong(where: str, values: list[Any]) -> Iterator[Violation]:
    wrong = next((value for value in values if type(value) is not int), None)
    if wrong is not None:
        yield Violation(INTEGERS, where, "an integer", repr(wrong), {"seen": _seen(wrong)})


def _seen(value: Any) -> str:
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value}"'
    return "sequence" if isinstance(value, list) else "map"


def walk_ids(rows: list[Any]) -> Iterator[Violation]:
    """Yield the first prompt that is empty or has an id under zero."""
    for index, row in enumerate(rows):
        numbers = [i for i in row if isinstance(i, int)] if isinstance(row, list) else []
        if row == [] and len(rows) > 1:
            yield Violation(IDS_EACH, f"$.input_ids[{index}]", "ids", "none")
            return
        if any(i < 0 for i in numbers):
            yield Violation(IDS_EACH, f"$.input_ids[{index}]", "ids from 0 on", str(min(numbers)))
            return
