"""The encoder server's real app, and what it hands on.

Loaded for real: the app's module, with the server's, the runtime's and what they stand on; FastAPI
is the installed one. Provided, by name: how telemetry is switched off, which is nothing here; the
class of JSON answers, since the one that upstream names is another package's; what the app hands
a request on to, which takes it and answers as if it were encoded and sent (from 0.5.19 on the
pipeline; before, the scheduler of batches, or the encoder where a modality is not batched); and
before 0.5.19 the time statistics and the transfer backend.
"""

import asyncio
from types import ModuleType
from typing import Any

import httpx
from fastapi.responses import JSONResponse

from harness.consumers.encoder_server import FORWARD, REAL, CaptureHiddenMode
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided

_ENCODER = "sglang.srt.disaggregation.encoder"
_TRACE = "sglang.srt.observability.trace"
_BACKEND = "zmq_to_tokenizer"
#: Bytes, rows and width that are answered, no error and no code.
_ENCODED = (24, 2, 3, None, None)


class TimeStats:
    """Statistics of one request's time, which nobody reads."""

    modality = ""

    def set_metrics_collector(self, collector: Any) -> None:
        """Do nothing."""

    def set_mm_encode_start_time(self) -> None:
        """Do nothing."""

    def set_mm_encode_end_time(self) -> None:
        """Do nothing."""


class EncoderApp:
    """Upstream's app of one release."""

    def __init__(self, upstream: Upstream, module: str) -> None:
        also = (f"{_ENCODER}.server", f"{_ENCODER}.runtime")
        real = [name for name in (*REAL, *also) if upstream.tree.file_of(name)]
        provided: dict[str, dict[str, Any]] = {
            FORWARD: {"CaptureHiddenMode": CaptureHiddenMode},
            _TRACE: {"fastapi_telemetry_disabled_kwargs": dict},
        }
        self.module: ModuleType = upstream.load(Needs(module, real=real, provided=provided))
        #: The requests that went on.
        self.heard: list[dict[str, Any]] = []
        members = {
            "ORJSONResponse": JSONResponse,
            "execute_encode_pipeline": self._pipeline,
            "encoder_scheduler": Provided("EncoderScheduler", submit=self._encoded),
            "encoder": None,
            "EncoderReqTimeStats": TimeStats,
            "get_disagg": lambda: Provided("disaggregation", encoder_transfer_backend=_BACKEND),
        }
        known = names(self.module)
        provide(self.module, **{name: given for name, given in members.items() if name in known})

    async def post(self, route: str, body: bytes) -> httpx.Response:
        """Return the app's answer to a JSON body."""
        # A lock belongs to the loop that waits for it.
        self.module.__dict__["encoder"] = self._encoder()
        transport = httpx.ASGITransport(self.module.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://encoder") as client:
            return await client.post(
                route, content=body, headers={"content-type": "application/json"}
            )

    def _encoder(self) -> Provided:
        return Provided(
            "MMEncoder",
            encode_dispatch_lock=asyncio.Lock(),
            encode_request=self._encoded_alone,
            server_args=Provided("ServerArgs", encoder_transfer_backend=_BACKEND),
            send=self._send,
            embedding_to_send={},
        )

    async def _pipeline(
        self, encoder: Any, scheduler: Any, request: dict[str, Any], *, send_sockets: Any
    ) -> None:
        self.heard.append(dict(request))

    async def _encoded(self, request: dict[str, Any]) -> Any:
        self.heard.append(dict(request))
        return _ENCODED

    async def _encoded_alone(self, request: dict[str, Any], modality: Any) -> Any:
        return await self._encoded(request)

    async def _send(self, req_id: Any, prefill_host: Any, embedding_port: Any) -> None:
        """Do nothing: what is encoded is not looked at here."""
