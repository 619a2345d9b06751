"""The AR server's behaviour without a socket: a request in, an answer out.

Routes: POST and PUT /generate; GET /health, /health_generate, /ready (0.5.20 on), /model_info,
/server_info and the last two's older names. Everything else gets FastAPI's 404 or 405. The
redirects by which FastAPI mends a trailing slash are not spoken.
"""

import json
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

from contracts.releases import NEWEST, ordinal
from simulators.ar_server.exchange import Exchange
from simulators.ar_server.info import get_routes
from simulators.ar_server.plan import HONEST, Plan
from simulators.ar_server.reply import HonestReply
from simulators.ar_server.request import Refusal, read_request
from simulators.http_answer import Answer, json_answer
from simulators.payload import ANSWER, Payload

#: Requests whose honest replies are kept, and so are not made again.
_KEPT_REPLIES = 128

_NOT_FOUND = json_answer(404, {"detail": "Not Found"})


def _unheard(exchange: Exchange) -> None:
    pass


class ArSimulator:
    """An AR server, honest until its plan says otherwise.

    One thread may serve while another reads the exchanges and sets the plan.

    Args:
        release: The SGLang release that it speaks like.
        plan: What goes wrong and when.
        kept_exchanges: How many exchanges are kept; the oldest are dropped.
        listener: Told each exchange as it happens.

    Raises:
        ValueError: if the release is no version.
    """

    def __init__(
        self,
        release: str = NEWEST,
        plan: Plan = HONEST,
        kept_exchanges: int = 1000,
        listener: Callable[[Exchange], None] = _unheard,
    ) -> None:
        ordinal(release)
        self._listener = listener
        self.release = release
        self._get_routes = get_routes(release)
        self._readings: OrderedDict[bytes, HonestReply | Refusal] = OrderedDict()
        self._exchanges: deque[Exchange] = deque(maxlen=kept_exchanges)
        self._count = 0
        self._lock = Lock()
        self.plan = plan

    @property
    def plan(self) -> Plan:
        """What goes wrong and when. Setting it starts the dose's count of requests anew."""
        return self._plan

    @plan.setter
    def plan(self, plan: Plan) -> None:
        with self._lock:
            self._plan = plan
            self._asked = 0
            self._healed = False

    def heal(self) -> None:
        """End a dose of `until-healed`; other doses do not heal."""
        with self._lock:
            self._healed = True

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges kept, oldest first."""
        with self._lock:
            return list(self._exchanges)

    def forget(self) -> None:
        """Drop the exchanges kept, so that the next one is the first."""
        with self._lock:
            self._exchanges.clear()

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        """Return the answer to one request, and keep the exchange.

        Args:
            method: GET, POST ..., in capitals.
            path: With or without a query, which is ignored.
            body: The bytes of the HTTP body.

        Raises:
            Exception: whatever a fault raises; an honest simulator raises nothing.
        """
        route = path.partition("?")[0]
        with self._lock:
            if route == "/generate" and method in ("POST", "PUT"):
                exchange = self._generate(method, path, body)
            else:
                answer = self._elsewhere(method, route)
                exchange = Exchange(self._count, method, path, _parsed(body), answer, False)
            self._count += 1
            self._exchanges.append(exchange)
            self._listener(exchange)
        return exchange.answer

    def _generate(self, method: str, path: str, body: bytes) -> Exchange:
        plan, index = self._plan, self._asked
        self._asked += 1
        reading = self._read(body)
        honest = reading if isinstance(reading, HonestReply) else None
        answer, injected = reading.answer, False
        if plan.dose.hits(index, body, plan.seed, self._healed):
            # The payload's foreign items are made only for a fault.
            payload = plan.changed(honest.payload, index) if honest and plan.injections else None
            if honest and payload:
                answer, injected = honest.answer_of(payload), True
            sent = plan.changed(Payload(ANSWER, (answer,)), index) if plan.injections else None
            if sent:
                answer, injected = sent.records[0], True
            if plan.wire:
                answer, injected = answer.sent(plan.wire), True
        prompts = honest.request.prompts if honest else ()
        return Exchange(self._count, method, path, reading.json, answer, injected, prompts)

    def _elsewhere(self, method: str, route: str) -> Answer:
        allowed = "POST, PUT" if route == "/generate" else "GET"
        known = self._get_routes.get(route)
        if known and method == "GET":
            return known
        if known or route == "/generate":
            answer = json_answer(405, {"detail": "Method Not Allowed"}, (("allow", allowed),))
        else:
            answer = _NOT_FOUND
        return replace(answer, head_only=True) if method == "HEAD" else answer

    def _read(self, body: bytes) -> HonestReply | Refusal:
        reading = self._readings.get(body)
        if reading is not None:
            self._readings.move_to_end(body)
            return reading
        read = read_request(body, self.release)
        reading = read if isinstance(read, Refusal) else HonestReply(read)
        self._readings[body] = reading
        if len(self._readings) > _KEPT_REPLIES:
            self._readings.popitem(last=False)
        return reading


def _parsed(body: bytes) -> Any:
    # What was asked of a path that is not there still says what the client wanted.
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None
