"""encoder-destinations: upstream's encoder takes registrations, and sends each rank its rows.

Driven, in one event loop: `MMEncoder.register_embedding_destinations`, as the route
/scheduler_receive_url calls it, once for each registration of two requests (before 0.5.19 the
route itself), then `MMEncoder.send_with_url` for both, down to the socket. A registration that is
late follows. Read: whose rows came to the endpoint of each rank.

Provided, by name: the requests' states and stamped rows, in upstream's own classes; the context
of sockets, which notes what goes where, and how a socket is configured; the transfer backend; and
how long is waited for a request that was not given (`ENCODER_REQ_TIMEOUT`) and for ranks that do
not register: hundredths of a second, and not three minutes.
"""

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.encoder_server import EncoderServer
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided
from simulators.part_rows import WIDTH, RowReader, stamped_rows
from simulators.receive_urls import OTHER, REQUEST, UrlReader, honest_registrations, url

_ALSO = ("sglang.srt.utils.network",)
_BACKEND = "zmq_to_scheduler"
_START_S = 0.01
_SEND_S = 0.04
_ROWS = 3
_OWNERS = {1: REQUEST, 2: OTHER}


@dataclass
class _Sockets:
    """The encoder's context: its sockets, and what went over them, by endpoint."""

    sent: list[tuple[str, list[bytes]]] = field(default_factory=list)
    waits: bool = True

    def socket(self, kind: int) -> "_Socket":
        return _Socket(self)


class _Socket:
    def __init__(self, context: _Sockets) -> None:
        self._context = context
        self._endpoint = ""

    def setsockopt(self, option: int, value: int) -> None:
        """Do nothing: there is no network below."""

    def connect(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def close(self, linger: int) -> None:
        """Do nothing: nothing was opened."""

    def send_multipart(self, frames: Sequence[Any], copy: bool, track: bool = False) -> Any:
        self._context.sent.append((self._endpoint, [bytes(frame) for frame in frames]))
        tracker = Provided("MessageTracker", wait=lambda timeout: None)
        return _ready(tracker) if self._context.waits else tracker


async def _ready(value: Any) -> Any:
    return value


class EncoderDestinations:
    """The consumer of encoder-destinations."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._server = EncoderServer(upstream, module, device, also=_ALSO)
        module_ = self._server.module
        given = {
            "ENCODER_REQ_TIMEOUT": _START_S,
            "config_socket": lambda socket, kind: None,
            "get_disagg": lambda: Provided("disaggregation", encoder_transfer_backend=_BACKEND),
            "encoder_metrics_collector": None,
        }
        provide(module_, **{k: v for k, v in given.items() if k in names(module_)})
        # Upstream's locks belong to the loop that first waits for them.
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the registrations as they would come."""
        return _passed(dims, lie)[0]

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return whose rows came to which rank."""
        passed, others = _passed(dims, lie)
        module = self._server.module
        tables = (module.rid_to_receive_endpoint, module.rid_to_receive_count, module.rid_to_cond)
        for table in tables:
            table.clear()
        sockets = _Sockets(), _Sockets(waits=False)
        encoder = self._encoder(passed.payload["states"], *sockets)

        def call() -> Output:
            self._loop.run_until_complete(self._told(encoder, passed, others))
            return _read([*sockets[0].sent, *sockets[1].sent], passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _encoder(self, states: Mapping[str, str], sockets: _Sockets, plain: _Sockets) -> Any:
        encoder = self._server.bare(lambda items: None)
        encoder.send_timeout, encoder.transfer_backend = _SEND_S, _BACKEND
        encoder.context, encoder.sync_context, encoder.executor = sockets, plain, None
        encoder.scheduler_send_locks, encoder.scheduler_send_sockets = {}, {}
        if not self._server.splits_preprocessor:
            encoder.server_args = Provided("ServerArgs", encoder_transfer_backend=_BACKEND)
            held = {name: self._data(name) for name in states if states[name] == "active"}
            encoder.embedding_to_send = held
            return encoder
        module = self._server.module
        encoder.delivery = module.ZmqDelivery(encoder, cleanup_receive_state=True)
        for name, told in states.items():
            state = module.ReqState(name)
            state.embedding_data, state.release_requested = self._data(name), told == "released"
            state.embedding_ready.set()
            encoder.req_states[name] = state
        return encoder

    def _data(self, name: str) -> Any:
        module = self._server.module
        owner = next(number for number, known in _OWNERS.items() if known == name)
        rows = stamped_rows(owner, 0, _ROWS, "float32")
        return module.EmbeddingData(name, 1, 0, None, module.Modality.IMAGE, embedding=rows)

    async def _told(self, encoder: Any, passed: Passed, others: Sequence[Any]) -> None:
        ours = passed.payload["registrations"]
        for one in (*(o for o in ours if not o["late"]), *others):
            await self._register(encoder, one)
        both = [encoder.send_with_url(req_id=name) for name in (REQUEST, OTHER)]
        for ended in await asyncio.gather(*both, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended
        for one in (o for o in ours if o["late"]):
            await self._register(encoder, one)

    async def _register(self, encoder: Any, one: Mapping[str, Any]) -> None:
        name, count, where = one["req_id"], one["count"], one["url"]
        if self._server.splits_preprocessor:
            await encoder.register_embedding_destinations(name, count, [where])
        else:
            body = {"req_id": name, "receive_count": count, "receive_url": where}
            await self._server.module.handle_scheduler_receive_url_request(body)


def _passed(dims: Mapping[str, str], lie: Lie) -> tuple[Passed, Sequence[Any]]:
    ranks = int(dims["records"])
    honest = honest_registrations(ranks)
    payload = lie.told(honest)
    told = {"registrations": list(payload.records), "states": payload.beside["states"]}
    request = {"req_id": REQUEST, "ranks": ranks, "timeout": _SEND_S}
    return Passed(told, request, UrlReader(ranks)), honest.foreign


def _read(sent: Sequence[tuple[str, list[bytes]]], passed: Passed) -> Output:
    ranks = passed.request["ranks"]
    known = {f"tcp://{url(name, rank)}": name for name in _OWNERS.values() for rank in range(ranks)}
    found: list[Span] = []
    for endpoint, name in known.items():
        rank = list(known).index(endpoint) % ranks
        heard = [_message(frames) for where, frames in sent if where == endpoint]
        # Its own come first: in which order others' came is not told by anybody.
        heard.sort(key=lambda message: message[0] != name)
        has = [whose for _, rows in heard for whose in rows]
        wants = [Whose(name, row) for row in range(max(_ROWS, len(has)))]
        found += spans(f"rank {rank} of {name}", wants, has, unit="rows")
    facts = {"the count of messages to nobody": str(sum(where not in known for where, _ in sent))}
    return Output(tuple(found), facts)


def _message(frames: Sequence[bytes]) -> tuple[str, list[Whose | None]]:
    # What upstream has pickled here itself.
    head = pickle.loads(frames[0])
    rows = torch.frombuffer(bytearray(frames[1]), dtype=torch.float32).reshape(-1, WIDTH).tolist()
    origins = RowReader(_OWNERS)(rows)
    return head.req_id, [None if o is None else Whose(str(o.owner), o.position) for o in origins]
