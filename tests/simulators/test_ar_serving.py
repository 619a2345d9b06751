"""The server thread: it starts, ends without a trace, and tells its own failures."""

import gc
import socket
import threading
import warnings
from pathlib import Path
from random import Random

import httpx
import pytest

from simulators.ar_server import ArServer, ArSimulator, Injection, Plan, Wire, listen
from simulators.faults import Fault, Place
from simulators.faults.fault import FaultError, whole
from simulators.payload import REPLY, Payload


def open_sockets() -> int:
    """Return how many sockets this process holds."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return sum(link.startswith("socket:") for link in links)


def test_nothing_is_left_after_it_ends() -> None:
    """No thread, no socket and no pending task is left, whatever was under way."""
    before, threads = open_sockets(), threading.active_count()
    slow = Plan(wire=Wire(delay_s=60.0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ArServer(ArSimulator(plan=slow)) as server:
            clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
            clients[0].sendall(b"POST /generate HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            clients[1].sendall(b"GET /health HTTP/1.1\r\n\r\n")
            assert clients[1].recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        for client in clients:
            client.close()
        gc.collect()

    assert (before, threads) == (open_sockets(), threading.active_count())


def test_it_ends_before_it_has_begun() -> None:
    """A server that is left at once leaves nothing either."""
    before = open_sockets()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            with ArServer(ArSimulator()):
                pass
        gc.collect()

    assert before == open_sockets()


def test_a_taken_port_is_named() -> None:
    """The error tells host and port, and is an OSError."""
    with ArServer(ArSimulator()) as first, pytest.raises(OSError, match=str(first.port)) as raised:
        ArServer(ArSimulator(), port=first.port).__enter__()

    assert "cannot listen on 127.0.0.1 port" in str(raised.value)


def test_it_serves_again_on_the_port_it_had() -> None:
    """A server can be entered again, on the same port."""
    server = ArServer(ArSimulator())
    with server:
        url = server.url
    with server:
        assert url == server.url
        assert httpx.get(f"{url}/health").status_code == 200


def test_the_plan_can_be_changed_while_it_serves() -> None:
    """The next request sees the new plan."""
    simulator = ArSimulator()
    with ArServer(simulator) as server, httpx.Client(base_url=server.url) as client:
        assert client.post("/generate", json={"input_ids": [1]}).status_code == 200
        simulator.plan = Plan(wire=Wire(cut_at=0))
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/generate", json={"input_ids": [1]})

    assert [exchange.injected for exchange in simulator.exchanges] == [False, True]


def fails(payload: Payload, at: Place, rng: Random) -> Payload:
    """Be a fault that is itself at fault."""
    raise RuntimeError("the fault itself is at fault")


def test_a_failure_of_the_tool_is_raised_on_leaving() -> None:
    """A fault that raises closes the connection, and is not taken for a lost one."""
    plan = Plan((Injection(Fault("fails", "noop", fails, (REPLY,), whole, "x -> !")),))

    with (
        pytest.raises(FaultError, match="itself is at fault"),
        ArServer(ArSimulator(plan=plan)) as server,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        httpx.post(f"{server.url}/generate", json={"input_ids": [1]})


def test_an_address_of_the_newer_kind_is_put_in_brackets() -> None:
    """The URL of an IPv6 address is one that clients take."""
    assert ArServer(ArSimulator(), "::1", 8000).url == "http://[::1]:8000"


def test_listening_hands_out_a_free_port() -> None:
    """Port 0 takes a free one, which the caller can tell before anything is served."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockname()[1] > 0
