"""The second check, from 0.5.22 on: a body that the published schema rejects.

It refuses a wrong type or an unknown sampling field with one line of text, in the order of the
body's own keys. Unknown fields at the top pass. Only the fields that the simulator reads are
checked.

Source: sglang 0.5.23, sglang/api/v1/api_types.py, GenerateRequest.from_json_value
"""

from collections.abc import Callable, Mapping
from typing import Any

from contracts.releases import Span

_Check = Callable[[Any], None]

#: Releases that have the gate.
GATED = Span("0.5.22")
_CHOICE = Span("0.5.23")


class _GateError(ValueError):
    pass


def gate_error(body: Mapping[str, Any], release: str) -> str | None:
    """Return the schema's text against a body, or `None`.

    Args:
        body: The parsed JSON body, an object.
        release: The release that answers; before 0.5.22 there is no gate.
    """
    if release not in GATED:
        return None
    params = _struct("SamplingParams", _SAMPLING if release in _CHOICE else _BEFORE_CHOICE)
    fields: dict[str, _Check] = {
        "rid": _one_or_many(_STRING, "StringOrList"),
        "text": _one_or_many(_STRING, "StringOrList"),
        "input_ids": _token_ids,
        "stream": _BOOLEAN,
        "sampling_params": _one_or_many(params, "SamplingParamsOrList"),
        "image_data": _media,
    }
    try:
        for key, value in body.items():
            if key in fields and value is not None:
                fields[key](value)
    except _GateError as error:
        return str(error)
    return None


def _seen(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f'string "{value}"'
        case list():
            return "sequence"
        case _:
            return "map"


def _typed(expected: str, *types: type) -> _Check:
    def check(value: Any) -> None:
        # Python's bool is an int, the schema's is not.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise _GateError(f"invalid type: {_seen(value)}, expected {expected}")

    return check


_BOOLEAN = _typed("a boolean", bool)
_INTEGER = _typed("i64", int)
_NUMBER = _typed("f64", int, float)
_STRING = _typed("a string", str)
_SEQUENCE = _typed("a sequence", list)
_MAP = _typed("a map", dict)


def _list_of(check: _Check) -> _Check:
    def checked(value: Any) -> None:
        _SEQUENCE(value)
        for item in value:
            check(item)

    return checked


def _one_or_many(check: _Check, name: str) -> _Check:
    single = _typed(f"a value or an array of values for {name}", str, dict)

    def checked(value: Any) -> None:
        if isinstance(value, list):
            _list_of(check)(value)
        else:
            single(value)
            check(value)

    return checked


def _struct(name: str, fields: Mapping[str, _Check]) -> _Check:
    whole = _typed(f"struct {name}", dict)

    def checked(value: Any) -> None:
        whole(value)
        for key, item in value.items():
            if key not in fields:
                known = ", ".join(f"`{field}`" for field in fields)
                raise _GateError(f"unknown field `{key}`, expected one of {known}")
            # `url` is the only field of either struct that may not be null.
            if item is not None or key == "url":
                fields[key](item)

    return checked


def _logit_bias(value: Any) -> None:
    _MAP(value)
    for item in value.values():
        _NUMBER(item)


def _anything(value: Any) -> None:
    return None


def _token_ids(value: Any) -> None:
    flat = not value or (isinstance(value[0], int | float) and not isinstance(value[0], bool))
    (_list_of(_INTEGER) if flat else _list_of(_list_of(_INTEGER)))(value)


def _media(value: Any) -> None:
    _typed("one of the MediaInput shapes", str, dict, list)(value)
    if not isinstance(value, list):
        return _media_item(value)
    nested = bool(value) and isinstance(value[0], list)
    rows = value if nested else [value]
    for row in rows:
        if row is not None:
            _list_of(_optional_media_item)(row)
    return None


def _optional_media_item(value: Any) -> None:
    if value is not None:
        _media_item(value)


def _media_item(value: Any) -> None:
    _typed("one of the MediaItem shapes", str, dict)(value)
    if isinstance(value, dict):
        _struct("MediaRef", _MEDIA)(value)


# fmt: off
_SAMPLING: dict[str, _Check] = {
    "max_new_tokens": _INTEGER, "stop": _one_or_many(_STRING, "StringOrList"),
    "stop_token_ids": _list_of(_INTEGER), "stop_regex": _one_or_many(_STRING, "StringOrList"),
    "temperature": _NUMBER, "top_p": _NUMBER, "top_k": _INTEGER, "min_p": _NUMBER,
    "frequency_penalty": _NUMBER, "presence_penalty": _NUMBER, "repetition_penalty": _NUMBER,
    "min_new_tokens": _INTEGER, "n": _INTEGER, "json_schema": _STRING, "regex": _STRING,
    "ebnf": _STRING, "structural_tag": _STRING, "ignore_eos": _BOOLEAN,
    "skip_special_tokens": _BOOLEAN, "spaces_between_special_tokens": _BOOLEAN,
    "no_stop_trim": _BOOLEAN, "stream_interval": _INTEGER, "logit_bias": _logit_bias,
    "sampling_seed": _INTEGER, "custom_params": _anything, "beam_width": _INTEGER,
    "watermark": _anything, "choice": _list_of(_STRING),
}
_BEFORE_CHOICE = {name: check for name, check in _SAMPLING.items() if name != "choice"}
_MEDIA: dict[str, _Check] = {
    "url": _STRING, "detail": _STRING, "max_dynamic_patch": _INTEGER, "content_hash": _STRING,
    "min_pixels": _INTEGER, "max_pixels": _INTEGER, "total_max_pixels": _INTEGER, "fps": _NUMBER,
    "num_frames": _INTEGER, "min_frames": _INTEGER, "max_frames": _INTEGER,
    "max_tokens_per_frame": _INTEGER, "max_image_tokens": _INTEGER, "use_audio": _BOOLEAN,
    "image_grid_thw": _list_of(_list_of(_INTEGER)),
}
# fmt: on
