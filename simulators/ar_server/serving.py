"""The AR server on a real socket: in a thread beside a test, or in the foreground.

    with ArServer(ArSimulator()) as server:
        requests.post(f"{server.url}/generate", json=...)

The foreground is `asyncio.run(serve(simulator, listen(host, port)))`.
"""

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Any, Self

from simulators.ar_server.connection import Connection
from simulators.ar_server.simulator import ArSimulator

_BACKLOG = 256


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Args:
        host: Name or address to bind to.
        port: 0 takes a free one.

    Raises:
        OSError: if the port is taken or may not be bound; the text names host and port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        text = f"the AR server cannot listen on {host} port {port}: {error.strerror}"
        raise OSError(error.errno, text) from error


async def serve(simulator: ArSimulator, listener: socket.socket) -> None:
    """Serve until cancelled; then no connection, no task and no socket is left.

    Args:
        simulator: What answers.
        listener: From `listen`; it is closed at the end.
    """
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(simulator, connections), sock=listener)
    try:
        await loop.create_future()
    finally:
        server.close()
        for connection in list(connections):
            connection.abort()
        # An aborted transport closes its socket in the next turn of the loop.
        while connections:
            await asyncio.sleep(0)


class ArServer:
    """An AR server on a thread of its own, as a context manager.

    Args:
        simulator: What answers; its plan may be changed while it serves.
        host: Name or address to bind to.
        port: 0 takes a free one.

    Raises:
        OSError: on entering, if the port is taken; the text names it.
        Exception: on leaving, what a fault raised while it served, so that a mistake of the
            tool is not taken for a lost connection.
    """

    def __init__(self, simulator: ArSimulator, host: str = "127.0.0.1", port: int = 0) -> None:
        self.simulator = simulator
        self.host = host
        self.port = port
        self._failures: list[BaseException] = []

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def raise_failure(self) -> None:
        """Raise what a fault has raised while it served, if one has; say so only once.

        Raises:
            Exception: what the fault raised.
        """
        failures, self._failures = self._failures, []
        if failures:
            raise failures[0]

    def __enter__(self) -> Self:
        self._listener = listen(self.host, self.port)
        self.port = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._note)
        self._serving = self._loop.create_task(serve(self.simulator, self._listener))
        self._thread = threading.Thread(target=self._run, name="ar-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()
        if kind is None:
            self.raise_failure()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        self._loop.close()
        # Left open only if the task was cancelled before it began.
        self._listener.close()

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        if isinstance(failure, Exception) and not isinstance(failure, OSError):
            self._failures.append(failure)
