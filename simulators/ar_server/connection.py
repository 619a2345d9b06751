"""One connection to the AR server: requests parsed by httptools, answers sent to the byte.

Requests are answered in the order in which they came, pipelined or not. A plain answer is one
write; one with a wire fault is sent by a task, and later answers wait behind it.
"""

import asyncio
import socket
import struct
from collections import deque
from typing import NamedTuple, cast

import httptools

from simulators.ar_server.simulator import ArSimulator
from simulators.http_answer import PLAIN, Answer, text_answer

#: SO_LINGER on, for 0 s: closing discards what is unsent and resets the connection.
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
#: Source: uvicorn, protocols/http/httptools_impl.py, HttpToolsProtocol.send_400_response
_NOT_HTTP = text_answer(400, "Invalid HTTP request received.")


class _Request(NamedTuple):
    method: str
    path: str
    body: bytes
    keep_alive: bool


class Connection(asyncio.Protocol):
    """One connection; `open_connections` holds it while it is open."""

    def __init__(self, simulator: ArSimulator, open_connections: "set[Connection]") -> None:
        self._simulator = simulator
        self._open = open_connections
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._parts: list[bytes] = []
        self._requests: list[_Request] = []
        self._waiting: deque[tuple[Answer, bool]] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self._lost = False

    @property
    def _socket(self) -> socket.socket:
        return cast(socket.socket, self._transport.get_extra_info("socket"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: no delay for small packets, and writes that tell when they are through."""
        self._transport = cast(asyncio.Transport, transport)
        # asyncio sets it only for a listener that was made with an explicit protocol number.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport.set_write_buffer_limits(high=0)
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and give up what is still to be sent."""
        self._lost = True
        self._drained.set()
        if self._sender is not None:
            self._sender.cancel()
        self._forget()

    def pause_writing(self) -> None:
        """Note that the system's buffer is full."""
        self._drained.clear()

    def resume_writing(self) -> None:
        """Note that all that was written is with the system."""
        self._drained.set()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and answer every request that is whole."""
        try:
            self._parser.feed_data(data)
            spoiled = False
        except httptools.HttpParserUpgrade:
            # As uvicorn without websockets does: the request is answered as if it asked for none.
            spoiled = False
        except httptools.HttpParserError:
            spoiled = True
        # Not in the parser's callback, which would hide what a fault raises.
        requests, self._requests = self._requests, []
        for method, path, body, keep_alive in requests:
            self._send(self._simulator.answer(method, path, body), keep_alive)
        if spoiled:
            self._send(_NOT_HTTP, False)

    def on_url(self, url: bytes) -> None:
        """Take a part of the request's target."""
        self._url += url

    def on_body(self, body: bytes) -> None:
        """Take a part of the request's body."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Take the request as whole."""
        method = self._parser.get_method().decode("latin-1")
        path, body = self._url.decode("latin-1"), b"".join(self._parts)
        keep_alive = self._parser.should_keep_alive()
        self._requests.append(_Request(method, path, body, keep_alive))
        self._url, self._parts = b"", []

    def abort(self) -> None:
        """Close at once, whatever is unsent."""
        self._transport.abort()

    def _send(self, answer: Answer, keep_alive: bool) -> None:
        if self._transport.is_closing():
            return
        if self._sender is None and (answer.wire is PLAIN or answer.wire == PLAIN):
            self._transport.write(answer.render())
            if not keep_alive:
                self._transport.close()
            return
        self._waiting.append((answer, keep_alive))
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_waiting())

    def _forget(self) -> None:
        # Not before the sender has ended too, so that no task outlives the server.
        if self._lost and self._sender is None:
            self._open.discard(self)

    async def _send_waiting(self) -> None:
        try:
            while self._waiting and not self._transport.is_closing():
                answer, keep_alive = self._waiting.popleft()
                await self._send_slowly(answer)
                if not keep_alive:
                    self._transport.close()
        finally:
            self._sender = None
            self._forget()

    async def _send_slowly(self, answer: Answer) -> None:
        wire, message = answer.wire, answer.render()
        await asyncio.sleep(wire.delay_s)
        piece_bytes = wire.trickle.piece_bytes if wire.trickle else max(len(message), 1)
        for start in range(0, len(message), piece_bytes):
            if start and wire.trickle:
                await asyncio.sleep(wire.trickle.pause_s)
            self._transport.write(message[start : start + piece_bytes])
            await self._drained.wait()
        if wire.reset_at is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()
        elif not answer.keeps_alive:
            self._transport.close()
