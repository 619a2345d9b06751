"""encoder-http: upstream's encoder app takes a request to encode over HTTP.

Driven: the real FastAPI app, over an ASGI client: real routing, real JSON both ways. An answer
other than 200 is a refusal that is returned. What is let through is read where the app hands it
on. An error that the app does not catch is the framework's plain 500, as a client reads it.

Provided, by name: see `harness.consumers.encoder_app`.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts.contract import RETURNED
from harness.consumers.asked_request import passed_request, read_request
from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_app import EncoderApp
from harness.outcome import Ending, Outcome, Passed, Raised, Run
from harness.upstream.loading import Upstream

_FINE = 200


class EncoderHttp:
    """The consumer of encoder-http."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._app = EncoderApp(upstream, module)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the request as it would be sent."""
        return _passed(dims, lie)[0]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what was answered, or what went on."""
        passed, body = _passed(dims, lie)
        said: list[str] = []

        def call() -> Output:
            self._app.heard.clear()
            answer = asyncio.run(self._app.post("/encode", body))
            if answer.status_code != _FINE:
                said.append(f"{answer.status_code}: {_message(answer)}")
                return Output()
            (went_on,) = self._app.heard
            return read_request(went_on, passed, self._app.module.Modality)

        outcome = outcome_of(self._upstream, call)
        if said and outcome.ending is Ending.ACCEPTED and not outcome.unsure:
            outcome = Outcome(Ending.RAISED, Raised(RETURNED, said[0], "upstream"))
        return Run(outcome, passed)


def _passed(dims: Mapping[str, str], lie: Lie) -> tuple[Passed, bytes]:
    passed = passed_request(dims, lie)
    if isinstance(passed.payload, bytes):
        return passed, passed.payload
    body = json.dumps(passed.payload).encode()
    # What JSON makes of it is what passes.
    return replace(passed, payload=json.loads(body)), body


def _message(answer: Any) -> str:
    if "json" not in answer.headers.get("content-type", ""):
        return str(answer.text)
    body = answer.json()
    return str(body.get("message", body))
