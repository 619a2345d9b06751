"""One answer of the AR server: what is said, and how its bytes go out.

An `Answer` renders itself to bytes, head and all, so that the socket and the respx routes send
the same. It has no `Date` header: nothing may depend on wall time.
"""

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import msgspec

Headers = tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def _encoder() -> "msgspec.json.Encoder":
    # The table of faults is read where no reply is made, and a bare machine may lack the package.
    import msgspec

    return msgspec.json.Encoder()


def encode_json(value: object) -> bytes:
    """Return compact JSON: no blanks, keys in their order, as the server's orjson makes it."""
    return _encoder().encode(value)


class Framing(Enum):
    """How the end of the body is told, where it is not by its length."""

    OMIT = "omit"
    CHUNKED = "chunked"

    def __repr__(self) -> str:
        return self.name


#: No length is sent; the end of the connection ends the body.
OMIT: Final = Framing.OMIT
#: The body goes out in HTTP chunks, one for each event of a stream.
CHUNKED: Final = Framing.CHUNKED


class Trickle(NamedTuple):
    """Bytes sent piece by piece."""

    #: Bytes of each piece but the last, at least 1.
    piece_bytes: int
    #: Seconds between two pieces.
    pause_s: float


@dataclass(frozen=True)
class Wire:
    """How the bytes of an answer go out; without arguments, as an honest server sends them.

    Raises:
        ValueError: if a number is negative, a piece is empty, or the answer is to end twice.
    """

    #: Seconds before the first byte.
    delay_s: float = 0.0
    #: The length that the head declares. `None`: the true one; a number: that one, true or not.
    content_length: int | Framing | None = None
    #: Bytes of the body after which the connection is closed in good order.
    cut_at: int | None = None
    #: Bytes of head and body after which the connection is reset; 0 resets it before any.
    reset_at: int | None = None
    trickle: Trickle | None = None

    def __post_init__(self) -> None:
        pause_s = self.trickle.pause_s if self.trickle else 0.0
        if min(self.delay_s, self.cut_at or 0, self.reset_at or 0, pause_s) < 0:
            raise ValueError(f"times and counts of bytes cannot be negative: {self}")
        if self.trickle and self.trickle.piece_bytes < 1:
            raise ValueError(f"a piece has at least one byte: {self}")
        if self.cut_at is not None and self.reset_at is not None:
            raise ValueError(f"an answer ends once, by a cut or by a reset: {self}")


#: The bytes as they are, at once.
PLAIN: Final = Wire()


@dataclass(frozen=True)
class Answer:
    """Status, headers and body of one answer.

    `headers` are those of this answer alone; `all_headers` adds what every answer carries.
    """

    status: int
    headers: Headers = ()
    body: bytes = field(default=b"", repr=False)
    wire: Wire = PLAIN
    #: True for the answer to HEAD: the head of the same answer, and no body.
    head_only: bool = False

    @property
    def all_headers(self) -> Headers:
        """The headers in the order in which uvicorn sends them, names in lower case."""
        return _framed(self.headers, _length(self))

    @property
    def head(self) -> bytes:
        """Status line and headers, up to and including the empty line."""
        return _head(self.status, self.headers, _length(self))

    @property
    def framed_body(self) -> bytes:
        """The body as it goes out: cut where it is cut, in chunks where it has chunks."""
        if self.head_only:
            return b""
        body = self.body
        if self.wire.content_length is CHUNKED:
            events = [event + b"\n\n" for event in body.split(b"\n\n") if event]
            chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]
            body = b"".join([*chunks, b"0\r\n\r\n"])
        return body if self.wire.cut_at is None else body[: self.wire.cut_at]

    def sent(self, wire: Wire) -> "Answer":
        """Return the answer going out in another way; a stream stays in chunks if it may."""
        if wire.content_length is None:
            wire = replace(wire, content_length=self.wire.content_length)
        return replace(self, wire=wire)

    def render(self) -> bytes:
        """Return head and body exactly as they go out, up to the cut or the reset."""
        return (self.head + self.framed_body)[: self.wire.reset_at]

    @property
    def keeps_alive(self) -> bool:
        """Whether the connection may serve another request after this answer."""
        wire = self.wire
        return wire.cut_at is None and wire.reset_at is None and wire.content_length is not OMIT


def json_answer(status: int, value: Any, headers: Headers = ()) -> Answer:
    """Return an answer whose body is the value as compact JSON."""
    return json_bytes_answer(status, encode_json(value), headers)


def json_bytes_answer(status: int, body: bytes, headers: Headers = ()) -> Answer:
    """Return an answer whose body is JSON that is encoded already."""
    return Answer(status, (*headers, ("content-type", "application/json")), body)


def text_answer(status: int, text: str) -> Answer:
    """Return an answer in plain text."""
    return Answer(status, (("content-type", "text/plain; charset=utf-8"),), text.encode())


def stream_answer(events: list[bytes]) -> Answer:
    """Return an answer of server-sent events, each the JSON after its `data: `."""
    body = b"".join(b"data: " + event + b"\n\n" for event in events)
    headers = (("content-type", "text/event-stream; charset=utf-8"),)
    return Answer(200, headers, body, Wire(content_length=CHUNKED))


def _length(answer: Answer) -> int | Framing:
    declared = answer.wire.content_length
    return len(answer.body) if declared is None else declared


def _framed(headers: Headers, length: int | Framing) -> Headers:
    # Starlette puts the length before the content type and after what the route has set.
    kind = tuple(pair for pair in headers if pair[0] == "content-type")
    others = tuple(pair for pair in headers if pair[0] != "content-type")
    server = (("server", "uvicorn"),)
    if length is OMIT:
        return (*server, *others, *kind)
    if length is CHUNKED:
        return (*server, *others, *kind, ("transfer-encoding", "chunked"))
    return (*server, *others, ("content-length", str(length)), *kind)


@lru_cache(maxsize=256)
def _head(status: int, headers: Headers, length: int | Framing) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in _framed(headers, length)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
