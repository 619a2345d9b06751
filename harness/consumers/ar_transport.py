"""ar-transport: upstream's GLM-Image stage over a wire that lies.

Driven is `generate_prior_tokens`, with short timeouts, against the simulated server or at the
URL that a fault names.
"""

from collections.abc import Mapping

from contracts.ar_transport import Asked
from contracts.clauses.http_reply import Heard
from harness.consumers.ar_exchange import ArExchange, Produced, heard
from harness.consumers.consumer import Lie
from harness.consumers.glm_image_stage import PROMPTS, server_args, size_of
from harness.outcome import Passed, Run
from harness.upstream.loading import Upstream
from simulators.faults.disconnect import CLOSED_URL
from simulators.http_answer import Answer
from simulators.payload import ANSWER, Payload
from simulators.stamp import StampReader

#: Seconds that the stage waits for a connection, and for each part of the reply.
CONNECT_S = 1.0
READ_S = 0.4


class ArTransport:
    """The consumer of ar-transport."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._ar = ArExchange(upstream, module, device)

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed | None:
        """Return what would be heard in answer to the golden run's request."""
        if golden.passed is None:
            return None
        asked: Asked = golden.passed.request
        self._ar.ask(lie, asked.body)
        return self._passed(self._url(lie), asked)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage did with what it heard."""
        self._ar.plan(lie)
        url = self._url(lie)
        outcome = self._ar.outcome(
            url, dims, lambda base: self._prior(dims, base), self._ar.exchange
        )
        return Run(outcome, self._passed(url, None))

    def _prior(self, dims: Mapping[str, str], url: str) -> Produced:
        height, width = size_of(dims)
        args = server_args(url, connect_s=CONNECT_S, read_s=READ_S)
        rows, _, *usage = self._ar.stage.generate_prior_tokens(PROMPTS[0], height, width, args)
        return Produced([rows], usage)

    def _url(self, lie: Lie) -> str:
        told = lie.told(Payload(ANSWER, (Answer(200),), beside={"url": self._ar.url}))
        return str(told.beside["url"])

    def _passed(self, url: str, asked: Asked | None) -> Passed | None:
        if url.rstrip("/") == CLOSED_URL:
            return Passed(Heard(url, reachable=False), Asked(READ_S, {}))
        seen = self._ar.exchange()
        if seen is None:
            return None
        request = asked or Asked(READ_S, seen.request)
        return Passed(heard(url, seen), request, StampReader(seen.sequences))
