"""The receiver that shares a request's media out among encoders, and what it sends to each.

Loaded for real: the receiver's module and those that it takes the modality and the media's
options from. Provided, by name: the client session of HTTP, which takes a request and answers it
with 200 and `null`, as an encoder of a zmq backend does; the call that sends a gRPC message,
which takes texts only for its items, as the message type's repeated string does; the environment's
time limit; the transfer backend; and a scheduler that has a device. The receiver is built without
its constructor, which opens sockets and loads processors.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided

_SRT = "sglang.srt"
#: What the receiver stands on, as far as a release has it.
_REAL = (
    f"{_SRT}.utils.common",
    f"{_SRT}.multimodal.modality",
    f"{_SRT}.multimodal.cache.identity",
    f"{_SRT}.managers.schedule_batch",
)
_HOST = "10.1.0.1"
_BACKEND = "zmq_to_scheduler"
_LIMIT_S = 1.0


@dataclass(frozen=True)
class Sent:
    """One request that went out to an encoder."""

    url: str
    fields: dict[str, Any]


@dataclass
class DispatchError:
    """What upstream tells the scheduler when it could not send: `EncoderDispatchErrorReq`."""

    rid: str
    error_msg: str
    error_code: int


class EncodeCalls:
    """Upstream's receiver of one release, and the calls that it made."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._device = device
        real = [name for name in _REAL if upstream.tree.file_of(name)]
        self.module: ModuleType = upstream.load(Needs(module, real=real))
        self.sent: list[Sent] = []
        limit = Provided("SGLANG_ENCODER_HTTP_TIMEOUT", get=lambda: _LIMIT_S)
        members = {
            "aiohttp": Provided(
                "aiohttp", ClientSession=self._session, ClientTimeout=lambda total: total
            ),
            "envs": Provided("envs", SGLANG_ENCODER_HTTP_TIMEOUT=limit),
            "_grpc_encode_request": self._call,
            "EncoderDispatchErrorReq": DispatchError,
        }
        known = names(self.module)
        real_utils = names(self.module) & {"ImageData", "VideoData", "media_preprocess_kwargs"}
        members |= {name: self._real(name) for name in real_utils}
        provide(self.module, **{n: given for n, given in members.items() if n in known})

    def _real(self, name: str) -> Any:
        import sys

        home = "multimodal.cache.identity" if name == "media_preprocess_kwargs" else "utils.common"
        return getattr(sys.modules[f"{_SRT}.{home}"], name)

    def receiver(self, mode: str, urls: Sequence[str]) -> Any:
        """Return a receiver of a mode, `http` or `grpc`, that knows some encoders."""
        self.sent = []
        kind = self.module._MM_RECEIVER_BY_MODE[mode]
        receiver = object.__new__(kind)
        receiver.host, receiver.encode_urls = _HOST, list(urls)
        receiver.encoder_transfer_backend = _BACKEND
        # Where a buffer would be, if it came to one.
        receiver.gpu_id = self._device
        receiver.scheduler = Provided("Scheduler", gpu_id=self._device)
        return receiver

    def _session(self, timeout: float) -> "_Session":
        return _Session(self.sent)

    def _call(self, target: str, request: dict[str, Any]) -> Any:
        for item in request["mm_items"]:
            if not isinstance(item, str):
                raise TypeError("bad argument type for built-in operation")
        self.sent.append(Sent(target, dict(request)))
        return Provided("EncodeResponse")


class _Session:
    """A session that notes what is posted."""

    def __init__(self, sent: list[Sent]) -> None:
        self._sent = sent

    async def __aenter__(self) -> "_Session":
        return self

    async def __aexit__(self, *args: object) -> None:
        """Do nothing: nothing was opened."""

    async def post(self, url: str, json: dict[str, Any]) -> Provided:
        """Return the answer of an encoder that has taken the request."""
        await asyncio.sleep(0)
        self._sent.append(Sent(url, dict(json)))

        async def body() -> None:
            return None

        return Provided("ClientResponse", status=200, json=body)
