"""One behaviour, two faces: the socket and the respx routes answer byte for byte alike."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest
import respx

from simulators.ar_server import OMIT, ArServer, ArSimulator, Injection, Plan, Wire
from simulators.ar_server.asking import batch_request, single_request
from simulators.ar_server.respx_routes import mount
from simulators.faults import FAULTS

BATCH = batch_request([[1, 2], [1, 2], [3]], 64, 96, seed=7)
SINGLE = single_request([5, 6, 7], 32, 32)


class Ask(NamedTuple):
    """One request and the status that it should get."""

    method: str
    path: str
    body: Any
    status: int
    plan: Plan = Plan()
    release: str = "0.5.23"


def faulted(name: str, *at: int) -> Plan:
    """Return the plan of one fault in every answer."""
    return Plan((Injection(FAULTS[name], at),))


ASKS = {
    "batch": Ask("POST", "/generate", BATCH, 200),
    "put": Ask("PUT", "/generate", BATCH, 200),
    "query": Ask("POST", "/generate?trace=1", BATCH, 200),
    "single": Ask("POST", "/generate", SINGLE, 200),
    "samples": Ask("POST", "/generate", {**SINGLE, "sampling_params": {"n": 2}}, 200),
    "text": Ask("POST", "/generate", {"text": "a cat"}, 200),
    "stream": Ask("POST", "/generate", {**SINGLE, "stream": True}, 200),
    "stream-batch": Ask("POST", "/generate", {**BATCH, "stream": True}, 200),
    "stream-invalid": Ask("POST", "/generate", {"stream": True}, 200),
    "no-json": Ask("POST", "/generate", b"{", 400),
    "no-text": Ask("POST", "/generate", b'{"text":"\xff"}', 400),
    "empty": Ask("POST", "/generate", b"", 400),
    "no-object": Ask("POST", "/generate", [1], 400),
    "no-inputs": Ask("POST", "/generate", {}, 400),
    "gated": Ask("POST", "/generate", {"input_ids": [True]}, 400),
    "params-short": Ask(
        "POST", "/generate", {**BATCH, "sampling_params": BATCH["sampling_params"][:1]}, 500
    ),
    "health": Ask("GET", "/health", b"", 200),
    "health-generate": Ask("GET", "/health_generate", b"", 200),
    "ready": Ask("GET", "/ready", b"", 200),
    "ready-before": Ask("GET", "/ready", b"", 404, release="0.5.19"),
    "model-info": Ask("GET", "/model_info", b"", 200),
    "get-model-info": Ask("GET", "/get_model_info", b"", 200),
    "server-info": Ask("GET", "/server_info", b"", 200),
    "get-server-info": Ask("GET", "/get_server_info", b"", 200),
    "get-generate": Ask("GET", "/generate", b"", 405),
    "post-health": Ask("POST", "/health", b"", 405),
    "head-health": Ask("HEAD", "/health", b"", 405),
    "nowhere": Ask("GET", "/nowhere", b"", 404),
    "double-slash": Ask("POST", "//generate", BATCH, 404),
    "omission": Ask("POST", "/generate", BATCH, 200, faulted("omission", 1)),
    "reordering": Ask("POST", "/generate", BATCH, 200, faulted("reordering", 0, 2)),
    "substitution": Ask("POST", "/generate", BATCH, 200, faulted("substitution", 2)),
    "item-null": Ask("POST", "/generate", BATCH, 200, faulted("item-null", 0)),
    "body-error": Ask("POST", "/generate", BATCH, 200, faulted("body-error")),
    "body-stream": Ask("POST", "/generate", {**BATCH, "stream": True}, 200, faulted("body-error")),
    "no-length": Ask("POST", "/generate", SINGLE, 200, Plan(wire=Wire(content_length=OMIT))),
}

Send = Callable[[ArSimulator, Ask], httpx.Response]


def content(ask: Ask) -> bytes:
    """Return the bytes of a request's body."""
    return ask.body if isinstance(ask.body, bytes) else json.dumps(ask.body).encode()


def over_socket(simulator: ArSimulator, ask: Ask) -> httpx.Response:
    """Send one request over a real socket."""
    with ArServer(simulator) as server, httpx.Client(timeout=0.1) as client:
        return client.request(ask.method, server.url + ask.path, content=content(ask))


def over_respx(simulator: ArSimulator, ask: Ask) -> httpx.Response:
    """Send one request through the respx routes."""
    with respx.mock() as router, httpx.Client(timeout=0.1) as client:
        mount(router, simulator, "http://ar.test:8000")
        url = "http://ar.test:8000" + ask.path
        return client.request(ask.method, url, content=content(ask))


@pytest.fixture(params=[over_socket, over_respx], ids=["socket", "respx"])
def send(request: pytest.FixtureRequest) -> Iterator[Send]:
    """Return each of the two faces."""
    yield request.param


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_both_faces_send_what_the_simulator_says(send: Send, ask: Ask) -> None:
    """Status, headers in their order and body are the simulator's own, on either face."""
    simulator = ArSimulator(ask.release, ask.plan)

    response = send(simulator, ask)

    said = ArSimulator(ask.release, ask.plan).answer(ask.method, ask.path, content(ask))
    headers = [(name.encode(), value.encode()) for name, value in said.all_headers]
    assert ask.status == response.status_code
    assert headers == response.headers.raw
    assert (b"" if said.head_only else said.body) == response.content


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_both_faces_keep_the_same_exchange(send: Send, ask: Ask) -> None:
    """The exchange that is kept tells method, path, parsed request and answer."""
    simulator = ArSimulator(ask.release, ask.plan)

    send(simulator, ask)

    (exchange,) = simulator.exchanges
    request = ask.body if isinstance(ask.body, dict | list) else None
    assert (0, ask.method, ask.path) == (exchange.index, exchange.method, exchange.path)
    assert request == exchange.request
    assert (ask.plan != Plan()) == exchange.injected


@pytest.mark.parametrize(
    ("wire", "error"),
    [(Wire(delay_s=60.0), httpx.ReadTimeout), (Wire(reset_at=0), httpx.ReadError)],
    ids=["delay", "reset"],
)
def test_both_faces_fail_alike(send: Send, wire: Wire, error: type[Exception]) -> None:
    """A delay over the read timeout and a reset are the same httpx errors on either face."""
    with pytest.raises(error):
        send(ArSimulator(plan=Plan(wire=wire)), ASKS["batch"])


@pytest.mark.parametrize(
    "wire", [Wire(cut_at=3), Wire(content_length=7), Wire(cut_at=0, delay_s=9.0)]
)
def test_respx_refuses_what_only_a_socket_can_show(wire: Wire) -> None:
    """A fault of the bytes that httpx would never see raises, and is not silently left out."""
    with pytest.raises(ValueError, match="only a socket can show this"):
        over_respx(ArSimulator(plan=Plan(wire=wire)), ASKS["batch"])


def test_a_delay_within_the_timeout_is_not_waited_for_without_a_socket() -> None:
    """The respx routes answer at once where the client would have waited long enough."""
    simulator = ArSimulator(plan=Plan(wire=Wire(delay_s=0.05)))

    assert over_respx(simulator, ASKS["batch"]).status_code == 200


async def answers_of(client: httpx.AsyncClient) -> list[int]:
    """Return the statuses of one good and one bad request."""
    good = await client.post("http://ar.test/generate", json=SINGLE)
    bad = await client.post("http://ar.test/generate", content=b"{")
    return [good.status_code, bad.status_code]


def test_the_routes_serve_async_clients_too() -> None:
    """An async httpx client gets the same answers."""

    async def run() -> list[int]:
        with respx.mock() as router:
            mount(router, ArSimulator(), "http://ar.test")
            async with httpx.AsyncClient() as client:
                return await answers_of(client)

    assert asyncio.run(run()) == [200, 400]


def test_a_base_url_with_a_path_is_refused() -> None:
    """The routes stand at the root of a host, as the real server's do."""
    with respx.mock() as router, pytest.raises(ValueError, match="has a path"):
        mount(router, ArSimulator(), "http://ar.test/v1")
