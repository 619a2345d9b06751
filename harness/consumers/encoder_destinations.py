"""encoder-destinations: upstream's encoder takes the registrations of a request's ranks.

Driven: `MMEncoder.register_embedding_destinations`, as the route /scheduler_receive_url calls it,
once for each registration, in one event loop. What it wrote down is what the sender goes by: the
URLs that are sent to, until they are as many as the count says. Releases before 0.5.19 have it
within the route, with a bare `assert`.

Provided, by name: the states of the requests, in upstream's own class, and the time that is
waited for a request that was not given (`ENCODER_REQ_TIMEOUT`, 10 ms and not three minutes).
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.encoder_receiver import load_with_modality
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from simulators.receive_urls import OTHER, REQUEST, UrlReader, honest_registrations

_WAIT_S = 0.01


class EncoderDestinations:
    """The consumer of encoder-destinations."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = load_with_modality(upstream, module)
        provide(self._server, ENCODER_REQ_TIMEOUT=_WAIT_S)
        # Upstream's locks belong to the loop that first waits for them.
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the registrations as they would come."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return who was registered for what."""
        passed = _passed(dims, lie)
        server = self._server
        written = (server.rid_to_receive_endpoint, server.rid_to_receive_count, server.rid_to_cond)
        for table in written:
            table.clear()
        encoder = object.__new__(server.MMEncoder)
        encoder.req_states = self._states(passed.payload["states"])

        def call() -> Output:
            self._loop.run_until_complete(_register(encoder, passed))
            return _read(*written[:2], passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _states(self, told: Mapping[str, str]) -> dict[str, Any]:
        kind = getattr(self._server, "ReqState", None)
        if kind is None:
            return {}
        states = {name: kind(name) for name in told}
        for name, state in states.items():
            state.release_requested = told[name] == "released"
        return states


async def _register(encoder: Any, passed: Passed) -> None:
    for one in passed.payload["registrations"]:
        await encoder.register_embedding_destinations(one["req_id"], one["count"], [one["url"]])


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    ranks = int(dims["records"])
    payload = lie.told(honest_registrations(ranks))
    told = {"registrations": list(payload.records), "states": payload.beside["states"]}
    return Passed(told, {"req_id": REQUEST, "ranks": ranks}, UrlReader(ranks))


def _read(endpoints: Mapping[str, set[Any]], counts: Mapping[str, Any], passed: Passed) -> Output:
    ranks, read = passed.request["ranks"], passed.owner_of
    assert read is not None
    told = sorted(endpoints.get(REQUEST, ()), key=repr)
    origins = [None if o is None else Whose(str(o.owner), o.position) for o in read(told)]
    facts = {
        "the count of ranks": repr(counts.get(REQUEST)),
        "the count of URLs": str(len(told)),
        f"the receivers of {OTHER}": str(sorted(endpoints.get(OTHER, ()), key=repr)),
    }
    return Output(_of_ranks(ranks, origins), facts)


def _of_ranks(ranks: int, origins: list[Whose | None]) -> tuple[Span, ...]:
    wants = [Whose(REQUEST, rank) for rank in range(ranks)]
    strange = [origin for origin in origins if origin not in wants]
    has = [want if want in origins else strange.pop(0) if strange else NOTHING for want in wants]
    return spans(f"the receivers of {REQUEST}", wants, has, unit="ranks")
