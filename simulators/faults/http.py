"""Substitution of the HTTP answer: its status, its headers, or its body as bytes."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Place
from simulators.http_answer import CHUNKED, Answer, Wire, json_answer
from simulators.payload import Payload

UTF8_JSON = "application/json; charset=utf-8"
_HTML = b"<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>"
#: More than any honest answer, and a thousand times less on the wire.
_BOMB_BYTES = 8 * 2**20


def answer_becomes(edit: Callable[[Answer], Answer]) -> Change:
    """Return the fault that replaces the answer."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records([edit(answer) for answer in payload.records])

    return change


def url_becomes(edit: Callable[[str], str]) -> Change:
    """Return the fault that tells the stage another base URL of the server."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        url = edit(str(payload.beside.get("url", "")))
        return replace(payload, beside={**payload.beside, "url": url})

    return change


def status(code: int) -> Callable[[Answer], Answer]:
    """Return the edit that sends the honest body with another status."""
    return lambda answer: replace(answer, status=code)


def error(code: int) -> Callable[[Answer], Answer]:
    """Return the edit that sends an error as SGLang words it, with its status."""
    said = {"object": "error", "message": "out of memory", "type": "ServerError", "code": code}
    return lambda answer: json_answer(code, said)


def html(code: int) -> Callable[[Answer], Answer]:
    """Return the edit that sends a gateway's page."""
    return lambda answer: Answer(code, (("content-type", "text/html"),), _HTML)


def empty(code: int) -> Callable[[Answer], Answer]:
    """Return the edit that sends no body."""
    return lambda answer: Answer(code, answer.headers)


def not_found(answer: Answer) -> Answer:
    """Return FastAPI's answer to a path that it has not."""
    return json_answer(404, {"detail": "Not Found"})


def redirect(code: int, location: str | None) -> Callable[[Answer], Answer]:
    """Return the edit that sends the client elsewhere, or nowhere."""
    headers = () if location is None else (("location", location),)
    return lambda answer: Answer(code, headers)


def events(answer: Answer) -> Answer:
    """Return the answer as server-sent events, which nobody asked for."""
    body = b"data: " + answer.body + b"\n\ndata: [DONE]\n\n"
    headers = (("content-type", "text/event-stream; charset=utf-8"),)
    return Answer(200, headers, body, Wire(content_length=CHUNKED))


def body(edit: Callable[[bytes], bytes], *headers: tuple[str, str]) -> Callable[[Answer], Answer]:
    """Return the edit that changes the body's bytes, and adds headers."""

    def change(answer: Answer) -> Answer:
        kept = tuple(pair for pair in answer.headers if pair[0] not in dict(headers))
        return replace(answer, headers=(*kept, *headers), body=edit(answer.body))

    return change


def gzipped_bomb(honest: bytes) -> bytes:
    """Return the body with megabytes of blanks in it, compressed."""
    return gzip.compress(honest + b" " * _BOMB_BYTES, mtime=0)


def key_twice(honest: bytes) -> bytes:
    """Return the body whose last object has `output_ids` twice, the false ones last."""
    end = honest.rfind(b"}")
    return honest if end < 0 else honest[:end] + b',"output_ids":[1,2,3]' + honest[end:]


def with_nan(honest: bytes) -> bytes:
    """Return the body with `NaN`, which is no JSON, for every id."""
    try:
        value: Any = json.loads(honest)
    except ValueError:
        return honest  # An earlier fault has left no JSON to put it into.
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("output_ids"), list):
            item["output_ids"] = [float("nan")] * len(item["output_ids"])
    return json.dumps(value).encode()


def with_mark(honest: bytes) -> bytes:
    """Return the body behind a byte-order mark."""
    return b"\xef\xbb\xbf" + honest


def in_utf16(honest: bytes) -> bytes:
    """Return the body in another charset than its header says."""
    return honest.decode(errors="replace").encode("utf-16")
