"""What must hold of an HTTP exchange that carries an AR server's reply.

In words, and in the order in which the stage meets them:

- the base URL that the stage was given has no slash at its end, and a server is there;
- the reply begins, and each part of it comes within the read timeout;
- all of it comes within the read timeout too (the stage does not watch that);
- it is the answer itself and no redirect;
- it comes whole: the connection is kept, and as many bytes come as were declared;
- it is compressed if and as its header says;
- its status is 200;
- it is in the charset that its header says;
- its body is JSON, strictly: no key twice, no NaN.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contracts.clauses.ar_item import STAGE_FILE
from contracts.contract import Clause, Guard, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source


class _NoJson:
    def __repr__(self) -> str:
        return "NO_JSON"


#: What is parsed of a body that is no JSON, or that does not come.
NO_JSON: Final = _NoJson()


@dataclass(frozen=True)
class Heard:
    """What comes to a client over the wire."""

    #: The server's base URL as the client was given it.
    url: str
    #: Whether anything listens there.
    reachable: bool = True
    status: int = 200
    #: Names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The bytes of the body that come.
    body: bytes = b""
    #: The length that the head declares, if it does.
    declared: int | None = None
    #: Whether the connection is reset: "before" the reply, "within" it, or not (empty).
    reset: str = ""
    #: Seconds before the first byte, the longest pause between two parts, and in all.
    wait_s: float = 0.0
    pause_s: float = 0.0
    whole_s: float = 0.0


_OLD = "GlmImageAR.generate_prior_tokens"
_NEW = "GlmImageAR._request_external_ar"


def _reraised(error: str, caught: str, text: str = "", since: str = "0.5.16") -> tuple[Guard, ...]:
    # The stage catches what requests raises, logs it with the server's URL, and raises it again.
    old = Source("0.5.16", STAGE_FILE, _OLD)
    new = Source("0.5.23", STAGE_FILE, _NEW)
    spans = ((Span("0.5.16", "0.5.18"), old), (Span("0.5.18"), new))
    return tuple(
        Guard(error, text, span, source, caught=caught)
        for span, source in spans
        if since == "0.5.16" or span.since == since
    )


URL_BASE = Clause("url-base", "The server's base URL has no slash at its end.")
SERVER_THERE = Clause(
    "server-there",
    "A server listens at the URL.",
    guards=_reraised("ConnectionError", "requests.ConnectionError"),
)
REPLY_BEGINS = Clause(
    "reply-begins",
    "The connection is kept until the reply begins.",
    guards=_reraised("ConnectionError", "requests.ConnectionError"),
)
PART_IN_TIME = Clause(
    "part-in-time",
    "Each part of the reply comes within the read timeout.",
    guards=_reraised("ReadTimeout", "requests.ReadTimeout", "Read timed out."),
)
WHOLE_IN_TIME = Clause("whole-in-time", "All of the reply comes within the read timeout.")
REPLY_WHOLE = Clause(
    "reply-whole",
    "As many bytes come as were declared, before the connection ends.",
    guards=_reraised("ChunkedEncodingError", "requests.RequestException"),
)
NO_REDIRECT = Clause(
    "no-redirect",
    "The reply is the answer itself, and does not point elsewhere.",
    incidental=("HTTPError", "TooManyRedirects", "JSONDecodeError", "RuntimeError"),
)
STATUS_OK = Clause(
    "status-ok",
    "The status is no error's.",
    guards=(
        Guard(
            "HTTPError",
            "{status} {kind} Error: ",
            Span("0.5.18", "0.5.22"),
            Source("0.5.21", STAGE_FILE, _NEW),
            caught="requests.RequestException",
        ),
        Guard(
            "HTTPError",
            "{status} {kind} Error: ",
            Span("0.5.22"),
            Source("0.5.23", STAGE_FILE, _NEW),
            caught="requests.HTTPError",
        ),
    ),
)
STATUS_200 = Clause("status-200", "The status is 200.")
ENCODING_TRUE = Clause(
    "encoding-true",
    "The body is compressed if and as its header says.",
    guards=_reraised("ContentDecodingError", "requests.RequestException"),
)
CHARSET_TRUE = Clause(
    "charset-true",
    "The body is in the charset that its header says.",
    incidental=("JSONDecodeError",),
)
BODY_JSON = Clause(
    "body-json", "The body is JSON, with no mark before it.", incidental=("JSONDecodeError",)
)
JSON_STRICT = Clause("json-strict", "No key stands twice, and no number is NaN.")

WIRE_CLAUSES = (
    URL_BASE,
    SERVER_THERE,
    REPLY_BEGINS,
    PART_IN_TIME,
    WHOLE_IN_TIME,
    NO_REDIRECT,
    REPLY_WHOLE,
    ENCODING_TRUE,
    STATUS_OK,
    STATUS_200,
    CHARSET_TRUE,
    BODY_JSON,
    JSON_STRICT,
)


def walk_wire(heard: Heard, timeout_s: float) -> Iterator[Violation | Unchecked]:
    """Yield what an exchange breaks, up to its body's being JSON.

    Args:
        heard: What comes to the client.
        timeout_s: Seconds that the client waits for each part.
    """
    if heard.url.endswith("/"):
        yield Violation(URL_BASE, "url", "no slash at the end", heard.url)
    if not heard.reachable:
        yield Violation(SERVER_THERE, "url", "a server", "nothing listens")
        yield from (Unchecked(clause, "there is no reply") for clause in WIRE_CLAUSES[2:])
        return
    yield from _walk_time(heard, timeout_s)
    yield from _walk_redirect(heard)
    if heard.reset == "within":
        yield Violation(REPLY_WHOLE, "reply", "the whole", "a reset in the middle")
    body, found = _decoded(heard)
    # A client unpacks what comes as it comes, before it misses the rest and sees the status; it
    # reads the whole as text after that.
    if found is not None and found.clause is ENCODING_TRUE:
        yield found
    yield from _walk_whole(heard)
    yield from _walk_status(heard)
    if found is not None and found.clause is CHARSET_TRUE:
        yield found
    if parsed(heard) is NO_JSON:
        yield Violation(BODY_JSON, "body", "JSON", _shown(body))
        yield Unchecked(JSON_STRICT, "the body is no JSON")
    else:
        yield from _walk_strict(body)


def parsed(heard: Heard) -> Any:
    """Return the JSON value that a client reads from the body, or `NO_JSON`."""
    if not heard.reachable:
        return NO_JSON
    try:
        return json.loads(_decoded(heard)[0])
    except ValueError:
        return NO_JSON


def _walk_time(heard: Heard, timeout_s: float) -> Iterator[Violation]:
    limit = f"within {timeout_s} s"
    if heard.reset == "before":
        yield Violation(REPLY_BEGINS, "reply", "a first byte", "a reset")
    if max(heard.wait_s, heard.pause_s) > timeout_s:
        slowest = max(heard.wait_s, heard.pause_s)
        yield Violation(PART_IN_TIME, "reply", limit, f"after {slowest} s")
    elif heard.whole_s > timeout_s:
        yield Violation(WHOLE_IN_TIME, "reply", limit, f"after {heard.whole_s:.1f} s")


def _walk_redirect(heard: Heard) -> Iterator[Violation]:
    # A redirect is followed as soon as its head is read; without a place to go to, it is not.
    if 300 <= heard.status < 400:
        followed = None if "location" in heard.headers else ()
        yield Violation(NO_REDIRECT, "status", "200", str(heard.status), incidental=followed)


def _walk_whole(heard: Heard) -> Iterator[Violation]:
    short = heard.declared is not None and heard.declared > len(heard.body)
    if short and not heard.reset:
        said = f"{len(heard.body)} bytes"
        yield Violation(REPLY_WHOLE, "reply", f"{heard.declared} bytes", said)


def _walk_status(heard: Heard) -> Iterator[Violation]:
    status = heard.status
    if status >= 400:
        fields = {"status": status, "kind": "Client" if status < 500 else "Server"}
        yield Violation(STATUS_OK, "status", "200", str(status), fields)
    elif not 300 <= status < 400 and status != 200:
        yield Violation(STATUS_200, "status", "200", str(status))


def _decoded(heard: Heard) -> tuple[str, Violation | None]:
    body, declared = heard.body, heard.declared
    if declared is not None and declared < len(body):
        body = body[:declared]
    if heard.headers.get("content-encoding") == "gzip":
        try:
            # What breaks off is no error to a client: it takes what has come.
            body = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body)
        except zlib.error:
            return "", Violation(ENCODING_TRUE, "body", "gzip", _shown(body.decode("latin-1")))
    _, _, charset = heard.headers.get("content-type", "").partition("charset=")
    try:
        return body.decode(charset or "utf-8"), None
    except UnicodeDecodeError:
        wrong = Violation(CHARSET_TRUE, "body", charset or "utf-8", "bytes that are none")
        return body.decode(charset or "utf-8", errors="replace"), wrong


def _walk_strict(body: str) -> Iterator[Violation]:
    twice: list[str] = []
    constants: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in found]
        twice.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(found)

    json.loads(body, object_pairs_hook=pairs, parse_constant=constants.append)
    if twice:
        yield Violation(JSON_STRICT, "body", "each key once", f"{twice[0]} twice")
    if constants:
        yield Violation(JSON_STRICT, "body", "numbers", constants[0])


def _shown(text: str) -> str:
    return repr(text[:20]) if text else "nothing"
