"""How fast the AR server answers, beside a bare uvicorn and Starlette app with orjson.

    python benchmarks/ar_server.py --rounds 5 --format json

Each answer is a list of 8 items of 1025 ids. The bare app parses the request and encodes the
same answer each time. Server and load generator are processes of their own, each pinned to a
core; the generator keeps 8 connections busy, one request in flight on each. Every server is
started anew in each round and the order of the modes rotates, so that a slow minute of the
machine does not fall on one of them. Wanted: 1.5 times the bare app when every answer is
faulted, 3 times when none is; a start under 0.1 s.
"""

import argparse
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BATCH, IDS, PROMPT = 8, 1025, 64
DISTINCT = 64
CONNECTIONS = 8
SERVER_CORE, CLIENT_CORE = 0, 1
BARE = "bare"
MODES = (BARE, "unfaulted", "first-sight", "faulted")


def request_bytes(number: int) -> bytes:
    """Return one whole HTTP request, different for every number."""
    grids = [[1, 28, 32], [1, 8, 16]]
    params = {"temperature": 1.0, "max_new_tokens": IDS, "ignore_eos": True}
    body = {
        "input_ids": [[number + 1, row, *range(PROMPT - 2)] for row in range(BATCH)],
        "image_data": [[{"image_grid_thw": grids}]] * BATCH,
        "sampling_params": [params] * BATCH,
    }
    content = json.dumps(body).encode()
    head = (
        "POST /generate HTTP/1.1\r\nHost: ar\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def serve_ours(mode: str) -> None:
    """Serve the simulator in this process, its port on stdout."""
    sys.path.insert(0, str(ROOT))
    import asyncio

    from simulators.ar_server import ArSimulator, Injection, Plan, listen, serve
    from simulators.faults import FAULTS

    faulted = (Injection(FAULTS["reordering"], (0, 5)),) if mode == "faulted" else ()
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    asyncio.run(serve(ArSimulator(plan=Plan(faulted)), listener))


def serve_bare() -> None:
    """Serve the bare app in this process, its port on stdout."""
    import orjson
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    meta = {"id": "0" * 32, "prompt_tokens": PROMPT, "completion_tokens": IDS, "cached_tokens": 0}
    ids = [number * 7919 % 16384 for number in range(IDS)]
    answer = [{"text": "", "output_ids": ids, "meta_info": meta}] * BATCH

    async def generate(request: Request) -> Response:
        orjson.loads(await request.body())
        return Response(orjson.dumps(answer), media_type="application/json")

    app = Starlette(routes=[Route("/generate", generate, methods=["POST"])])
    # With an explicit protocol number, or asyncio leaves Nagle's algorithm on: 200 requests/s.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, loop="asyncio", http="httptools", log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


class _Client:
    """One kept connection with one request in flight."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(1 << 17))
        self._got = 0
        self._due = 0

    def send(self, request: bytes) -> None:
        """Send the next request."""
        self._got = self._due = 0
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Take what has come; return whether the answer is whole."""
        got = self.socket.recv_into(self._buffer[self._got :])
        if got == 0:
            raise ConnectionError("the server closed the connection")
        self._got += got
        if not self._due:
            head, end, _ = bytes(self._buffer[:1024]).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200") or not end:
                raise ConnectionError(f"not a good answer: {head[:80]!r}")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            self._due = len(head) + len(end) + length
        return self._got >= self._due


def measure(port: int, requests: Iterator[bytes], seconds: float) -> float:
    """Return the requests answered per second."""
    clients = [_Client(port) for _ in range(CONNECTIONS)]
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send(next(requests))
    answered, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        for key, _ in selector.select():
            if key.data.receive():
                answered += 1
                key.data.send(next(requests))
    selector.close()
    for client in clients:
        client.socket.close()
    return answered / (now - start)


def run_mode(mode: str, seconds: float, numbers: Iterator[int]) -> float:
    """Start the mode's server, measure it, stop it; return requests per second."""
    command = [sys.executable, __file__, "--serve", mode]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        if mode == "first-sight":
            return measure(port, map(request_bytes, numbers), seconds)
        requests = [request_bytes(number) for number in range(DISTINCT)]
        # The first pass over the distinct requests is not counted, nor is any server's warm-up.
        measure(port, cycle(requests), max(seconds / 4, 1.0))
        return measure(port, cycle(requests), seconds)
    finally:
        server.terminate()
        server.wait()


def start_seconds(times: int = 20) -> float:
    """Return the median time from making the server to its first answer, in this process."""
    sys.path.insert(0, str(ROOT))
    from simulators.ar_server import ArServer, ArSimulator

    taken = []
    for _ in range(times):
        start = time.perf_counter()
        with ArServer(ArSimulator()) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(b"GET /health HTTP/1.1\r\n\r\n")
                client.recv(1024)
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    """Run every mode in every round, and print the medians and the ratios to the bare app."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="measured, a mode and round")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--serve", choices=MODES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        os.sched_setaffinity(0, {SERVER_CORE})
        return serve_bare() if arguments.serve == BARE else serve_ours(arguments.serve)
    os.sched_setaffinity(0, {CLIENT_CORE})
    numbers = count(DISTINCT)
    rates: dict[str, list[float]] = {mode: [] for mode in MODES}
    for turn in range(arguments.rounds):
        for place in range(len(MODES)):
            mode = MODES[(turn + place) % len(MODES)]
            rates[mode].append(run_mode(mode, arguments.seconds, numbers))
    report(rates, start_seconds(), arguments.format)
    return None


def report(rates: dict[str, list[float]], start_s: float, form: str) -> None:
    """Print the results as a table or as JSON."""
    bare = statistics.median(rates[BARE])
    rows: dict[str, Any] = {
        mode: {
            "requests_per_s": round(statistics.median(found)),
            "lowest": round(min(found)),
            "highest": round(max(found)),
            "ratio": round(statistics.median(found) / bare, 2),
        }
        for mode, found in rates.items()
    }
    if form == "json":
        print(json.dumps({"modes": rows, "start_s": round(start_s, 4)}, indent=2))
        return
    for mode, row in rows.items():
        spread = f"{row['lowest']} to {row['highest']}"
        print(f"{mode:12} {row['requests_per_s']:7} requests/s ({spread}), {row['ratio']:.2f}x")
    print(f"start to first answer, in process: {start_s * 1000:.1f} ms")


if __name__ == "__main__":
    main()
