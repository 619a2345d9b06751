"""The AR server for httpx clients without a socket: the same answers, through respx.

    with respx.mock() as router:
        mount(router, ArSimulator(), "http://ar.test")
        httpx.post("http://ar.test/generate", json=...)

respx sees httpx only. The stage under test uses `requests`, which needs the real socket.
"""

import httpx
import respx

from simulators.ar_server.simulator import ArSimulator
from simulators.http_answer import Answer

_DEFAULT_PORTS = {"http": 80, "https": 443}


def mount(router: respx.Router, simulator: ArSimulator, base_url: str) -> respx.Route:
    """Answer every request to a base URL from the simulator; return the route.

    A delay is not waited for: over the client's read timeout it raises at once, else it is
    nothing. A reset raises `httpx.ReadError`.

    Args:
        router: What intercepts the client's requests.
        simulator: What answers.
        base_url: Scheme, host and port, as in `http://ar.test`.

    Raises:
        ValueError: if the base URL has a path; and, out of the client's call, if an answer has
            a wire fault that only a socket can show.
    """
    base = httpx.URL(base_url)
    if base.path != "/":
        raise ValueError(f"the base URL {base_url!r} has a path: expected scheme, host and port")

    def answered(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode("latin-1")
        answer = simulator.answer(request.method, path, request.content)
        return _response(answer, request)

    port = base.port or _DEFAULT_PORTS[base.scheme]
    route = router.route(scheme=base.scheme, host=base.host, port=port)
    return route.mock(side_effect=answered)


def _response(answer: Answer, request: httpx.Request) -> httpx.Response:
    wire = answer.wire
    if wire.cut_at is not None or wire.trickle or _lies(answer):
        raise ValueError(f"only a socket can show this, serve it with ArServer: {wire}")
    read_s = request.extensions.get("timeout", {}).get("read")
    if read_s is not None and wire.delay_s > read_s:
        raise httpx.ReadTimeout("The read operation timed out", request=request)
    if wire.reset_at is not None:
        raise httpx.ReadError("[Errno 104] Connection reset by peer", request=request)
    body = b"" if answer.head_only else answer.body
    # A stream, since httpx adds a length of its own to content.
    stream = httpx.ByteStream(body)
    return httpx.Response(answer.status, headers=list(answer.all_headers), stream=stream)


def _lies(answer: Answer) -> bool:
    declared = answer.wire.content_length
    return isinstance(declared, int) and declared != len(answer.body)
