"""encoder-transport-mode: upstream makes a receiver of a mode and of encoders' URLs.

Driven: `create_mm_receiver`, which the tokenizer and the scheduler call. Which class stands for
which mode is upstream's own table. Provided, by name: the constructors of those classes, which
open sockets and load processors; the environment variable with the mode, and the server's
arguments with the URLs, where a case tells them so. Where a URL leads is read as the receiver
does it: by grpc with `_grpc_target`, by http with `/encode` behind it.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_receiver import load_with_modality
from harness.outcome import Passed, Run
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided
from simulators.encoder_urls import honest_urls, hosts, told_urls


class EncoderTransportMode:
    """The consumer of encoder-transport-mode."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._receiver = load_with_modality(upstream, module)
        self._told: dict[str, Any] = {}
        by_mode = self._receiver._MM_RECEIVER_BY_MODE
        made = {mode: _without_sockets(kind) for mode, kind in by_mode.items()}
        variable = Provided("SGLANG_ENCODER_MM_RECEIVER_MODE", get=lambda: self._told["mode"])
        provided = {
            "_MM_RECEIVER_BY_MODE": made,
            "envs": Provided("envs", SGLANG_ENCODER_MM_RECEIVER_MODE=variable),
        }
        if "get_disagg" in names(self._receiver):
            provided["get_disagg"] = self._arguments
        provide(self._receiver, **provided)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the mode and the URLs as they would be told."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which receiver was made, and where its URLs lead."""
        passed = _passed(dims, lie)
        mode, urls = passed.payload["mode"], passed.payload["urls"]
        self._told = {"mode": mode, "urls": urls}
        told = {"transport_mode": mode, "encode_urls": urls}
        if dims["told"] == "server":
            told = dict.fromkeys(told)

        def call() -> Output:
            made = self._receiver.create_mm_receiver(self._arguments(), **told)
            return self._read(made, passed, told["encode_urls"])

        return Run(outcome_of(self._upstream, call), passed)

    def _arguments(self) -> Provided:
        return Provided("server arguments", encoder_urls=self._told["urls"])

    def _read(self, made: Any, passed: Passed, handed: Any) -> Output:
        mode = passed.payload["mode"]
        facts = {"the receiver": type(made).__name__}
        # A receiver that is handed none reads the server's arguments itself.
        urls = passed.payload["urls"] if handed is None else made.handed
        if isinstance(urls, list):
            for index, (url, host) in enumerate(zip(urls, passed.request["hosts"], strict=True)):
                facts[f"the call of encoder {index}"] = self._call(mode, url, host)
        else:
            facts["the URLs"] = f"one {type(urls).__name__}"
        return Output((), facts)

    def _call(self, mode: str, url: str, host: str) -> str:
        if mode == "grpc":
            if url.startswith("grpcs://"):
                return "refused when it is made"
            target = self._receiver._grpc_target(url)
            return "its own" if target == host else "to nowhere"
        asked = urlsplit(url + "/encode")
        if url != url.strip() or asked.scheme not in ("http", "https") or asked.netloc != host:
            return "to nowhere"
        return "its own" if asked.path == "/encode" else f"to its route {asked.path}"


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    count = int(dims["records"])
    payload = lie.told(honest_urls(count, dims["mode"]))
    told = {"mode": payload.beside["mode"], "urls": told_urls(payload)}
    return Passed(told, {"hosts": hosts(count)})


def _without_sockets(kind: type) -> type:
    def __init__(self: Any, arguments: Any, **fields: Any) -> None:  # noqa: N807
        self.handed = fields["encode_urls"]

    return type(kind.__name__, (kind,), {"__init__": __init__})
