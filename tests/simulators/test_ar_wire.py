"""Wire faults, to the byte, as a client on a raw socket sees them."""

import json
import socket
from typing import NamedTuple

import pytest

from simulators.ar_server import OMIT, ArServer, ArSimulator, Dose, Plan, Trickle, Wire
from simulators.ar_server.asking import batch_request

CONTENT = json.dumps(batch_request([[1], [2]], 32, 32)).encode()
POST = b"POST /generate HTTP/1.1\r\nHost: ar\r\nContent-Length: %d\r\n\r\n" % len(CONTENT) + CONTENT
HONEST = ArSimulator().answer("POST", "/generate", CONTENT)


class Seen(NamedTuple):
    """What came back until the connection ended, and whether it ended in a reset."""

    data: bytes
    reset: bool


def talk(server: ArServer, request: bytes, close_after: int | None = None) -> Seen:
    """Send bytes and read until the end, or until so many bytes have come."""
    data = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(request)
        while close_after is None or len(data) < close_after:
            try:
                got = client.recv(65536)
            except ConnectionResetError:
                return Seen(data, True)
            if not got:
                break
            data += got
    return Seen(data, False)


def talk_with(wire: Wire, close_after: int | None = None) -> Seen:
    """Return what one request sees of an answer that goes out so."""
    with ArServer(ArSimulator(plan=Plan(wire=wire))) as server:
        return talk(server, POST, close_after)


def test_an_honest_answer_is_the_rendered_one() -> None:
    """Head and body come as `Answer.render` says, with no byte more."""
    with ArServer(ArSimulator()) as server:
        seen = talk(server, POST.replace(b"Host: ar", b"Connection: close"))

    assert (HONEST.render(), False) == seen
    assert seen.data.startswith(b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-length: ")
    assert b"date:" not in HONEST.head


@pytest.mark.parametrize("false", [0, 5, len(HONEST.body) + 10])
def test_a_false_length_is_declared_and_the_body_is_whole(false: int) -> None:
    """The head lies about the length; every byte of the body goes out all the same."""
    head = HONEST.head.replace(b"%d" % len(HONEST.body), b"%d" % false)

    seen = talk_with(Wire(content_length=false), len(head) + len(HONEST.body))

    assert (head + HONEST.body, False) == seen


def test_no_length_ends_with_the_connection() -> None:
    """Without a length the connection is closed after the body."""
    seen = talk_with(Wire(content_length=OMIT))

    head, _, body = seen.data.partition(b"\r\n\r\n")
    assert b"content-length" not in head
    assert (HONEST.body, False) == (body, seen.reset)


@pytest.mark.parametrize("cut", [0, 1, 100, len(HONEST.body)])
def test_a_cut_sends_so_many_bytes_of_the_body(cut: int) -> None:
    """The head tells the true length, the body stops short, the end is in good order."""
    assert (HONEST.head + HONEST.body[:cut], False) == talk_with(Wire(cut_at=cut))


@pytest.mark.parametrize("reset", [0, 1, len(HONEST.head), len(HONEST.head) + 100])
def test_a_reset_sends_so_many_bytes_of_all(reset: int) -> None:
    """The connection is reset after so many bytes of head and body, 0 before any."""
    assert (HONEST.render()[:reset], True) == talk_with(Wire(reset_at=reset))


def test_a_trickle_sends_every_byte() -> None:
    """Piece by piece the same bytes arrive."""
    seen = talk_with(Wire(trickle=Trickle(7, 0.0)), len(HONEST.render()))

    assert (HONEST.render(), False) == seen


def test_a_trickle_can_be_cut() -> None:
    """A cut ends a trickle, and the delay before it changes no byte."""
    seen = talk_with(Wire(delay_s=0.001, trickle=Trickle(64, 0.0), cut_at=130))

    assert (HONEST.head + HONEST.body[:130], False) == seen


def test_a_stream_goes_out_in_chunks() -> None:
    """Each event is one HTTP chunk, and an empty chunk ends the stream."""
    content = b'{"input_ids":[1],"sampling_params":{"max_new_tokens":4},"stream":true}'
    request = b"POST /generate HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"

    with ArServer(ArSimulator()) as server:
        seen = talk(server, request % (len(content), content))

    assert b"transfer-encoding: chunked" in seen.data
    assert seen.data.endswith(b"\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


def test_pipelined_requests_are_answered_in_order() -> None:
    """Three requests in one packet: a slow answer first, and the others wait behind it."""
    plan = Plan(dose=Dose.parse("nth:1"), wire=Wire(trickle=Trickle(50, 0.0)))
    health = b"GET /health HTTP/1.1\r\nHost: ar\r\n\r\n"
    last = b"GET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n"

    with ArServer(ArSimulator(plan=plan)) as server:
        seen = talk(server, POST + health + last)

    answers = [ArSimulator().answer("GET", path, b"").render() for path in ("/health", "/nowhere")]
    assert (b"".join([HONEST.render(), *answers]), False) == seen


def test_a_request_may_come_in_pieces() -> None:
    """A connection is kept, and a request is answered when its last byte is there."""
    with (
        ArServer(ArSimulator()) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as client,
    ):
        for _ in range(2):
            for start in range(0, len(POST), 40):
                client.sendall(POST[start : start + 40])
            data = b""
            while len(data) < len(HONEST.render()):
                data += client.recv(65536)
            assert HONEST.render() == data


def test_what_is_no_http_gets_uvicorns_400() -> None:
    """Bytes that are no request are answered so, and the connection is closed."""
    with ArServer(ArSimulator()) as server:
        seen = talk(server, b"\x16\x03\x01 hello\r\n\r\n")

    assert seen.data.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert seen.data.endswith(b"Invalid HTTP request received.")


@pytest.mark.parametrize(
    "numbers",
    [
        {"delay_s": -1.0},
        {"cut_at": -1},
        {"reset_at": -1},
        {"trickle": Trickle(0, 0.1)},
        {"trickle": Trickle(1, -0.1)},
        {"cut_at": 1, "reset_at": 1},
    ],
)
def test_a_wire_that_makes_no_sense_is_refused(numbers: dict[str, float]) -> None:
    """Negative numbers, empty pieces and two endings are the caller's mistakes."""
    with pytest.raises(ValueError, match="Wire"):
        Wire(**numbers)  # type: ignore[arg-type]
