"""encoder-zmq-frame: upstream's scheduler reads the messages of a request that waits.

Driven: `_try_recv_mm_data` of the waiting request, of its own constructor, once, with all messages
at its socket; it has `consume_parts` read each. A request that failed says why, and that is its
refusal; one that still waits has nothing. The time-out is not waited for.

Provided, by name: the socket (`get_zmq_socket_on_host`), which yields real `zmq.Frame`s; the
request; and the processor, which keeps what it is given: what it would say of the number of rows
is the business of encoder-precomputed-layout. Parts are pickled by upstream's own class.
"""

import pickle
from collections.abc import Mapping
from typing import Any

import torch
import zmq

from contracts.contract import RETURNED
from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_receiver import (
    load_with_modality,
    part_of,
    passed_parts,
    read_embeddings,
)
from harness.outcome import Ending, Outcome, Passed, Raised, Run
from harness.upstream.hermetic import provide
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.embedding_parts import REQUEST, honest_parts
from simulators.part_messages import frames_of, message_of, part_id
from simulators.payload import Payload

_MODEL = "qwen2_5_vl"
_PORT = 30_001


class EncoderZmqFrame:
    """The consumer of encoder-zmq-frame."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._receiver = load_with_modality(upstream, module)
        self._frames: list[list[zmq.Frame]] = []
        socket = Provided("socket", recv_multipart=self._next, close=lambda: None)
        provide(
            self._receiver,
            get_zmq_socket_on_host=lambda context, kind, host: (_PORT, socket),
        )

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the messages as they would come."""
        return _passed(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the messages became."""
        honest = _honest(dims)
        passed = _passed(lie.told(honest), dims)
        kept: dict[str, Any] = {}
        waiting = self._waiting(kept)
        self._frames = [self._sent(message) for message in passed.payload]

        def call() -> Output:
            waiting._try_recv_mm_data()
            meta = {name: value for name, value in kept.items() if name != "embeddings"}
            return read_embeddings(kept.get("embeddings"), meta, passed, honest)

        return Run(_with_state(outcome_of(self._upstream, call), waiting), passed)

    def _waiting(self, kept: dict[str, Any]) -> Any:
        def keep(prompt: Any, embeddings: Any, **meta: Any) -> Provided:
            kept.update(meta, embeddings=embeddings)
            return Provided("mm_inputs", input_ids=[], mm_items=[])

        processor = Provided(
            "processor", get_mm_data=keep, get_validated_mm_data=keep, prefer_tokenized_input=False
        )
        asked = Provided(
            "TokenizedGenerateReqInput",
            rid=REQUEST,
            num_items_assigned={},
            input_text="a picture",
            input_ids=None,
            mm_inputs=None,
        )
        zmq_request = getattr(self._receiver, "WaitingZmqRequest", None)
        if zmq_request is None:
            zmq_request = self._receiver.WaitingImageRequest
        names = zmq_request.__init__.__code__.co_varnames
        context = {"zmq_context": Provided("context")} if "zmq_context" in names else {}
        return zmq_request(REQUEST, asked, processor, [], _MODEL, "127.0.0.1", 1, **context)

    def _sent(self, message: Mapping[str, Any]) -> list[zmq.Frame]:
        part = part_of(self._receiver, message, part_id(message))
        if isinstance(part, dict):
            head = {name: value for name, value in part.items() if name != "embedding"}
        else:
            said = message["said_dtype"]
            part.dtype = None if said is None else getattr(torch, said)
            head = part.copy_without_embedding()
        frames = frames_of(message, pickle.dumps(head))
        return [zmq.Frame(data) for data in frames]

    def _next(self, flags: int, copy: bool) -> list[zmq.Frame]:
        if not self._frames:
            raise zmq.Again
        return self._frames.pop(0)


def _passed(payload: Payload, dims: Mapping[str, str]) -> Passed:
    passed = passed_parts(payload, dims)
    messages = [message_of(record) for record in passed.payload]
    return Passed(messages, passed.request, passed.owner_of)


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_parts(int(dims["records"]), dims["modality"], dims["dtype"])


def _with_state(outcome: Outcome, waiting: Any) -> Outcome:
    if outcome.ending is not Ending.ACCEPTED or outcome.unsure or waiting.status.name != "FAIL":
        return outcome
    return Outcome(Ending.RAISED, Raised(RETURNED, str(waiting.error_msg), "upstream"))
