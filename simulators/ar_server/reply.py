"""The honest reply to one request, and the bytes of it once a fault has changed it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from simulators.ar_server.items import foreign_items, honest_items
from simulators.ar_server.request import DONE, GenerateRequest
from simulators.http_answer import Answer, encode_json, json_bytes_answer, stream_answer
from simulators.payload import RECORDS, REPLY, JsonItem, Payload, plain

#: Into how many events the tokens of a streamed item are spread.
STREAM_STEPS = 4


class HonestReply:
    """What a server without a fault answers to one request; made once, sent often."""

    def __init__(self, request: GenerateRequest) -> None:
        self.request = request
        self.records = tuple(honest_items(request.prompts))

    @property
    def json(self) -> Any:
        """The request as it was sent, parsed."""
        return self.request.json

    @cached_property
    def answer(self) -> Answer:
        """The answer without a fault."""
        return self.answer_of(Payload(REPLY, self.records))

    @cached_property
    def payload(self) -> Payload:
        """The payload that faults change."""
        return Payload(REPLY, self.records, tuple(foreign_items(self.request.prompts)))

    def answer_of(self, payload: Payload) -> Answer:
        """Return the answer that carries a payload, single, batch or stream as was asked."""
        if not self.request.stream:
            return json_bytes_answer(200, _body(payload, self.request.batch))
        if payload.body is not RECORDS:
            return stream_answer([encode_json(payload.body), DONE])
        return stream_answer([*_events(payload.records, self.request.batch), DONE])


def _body(payload: Payload, batch: bool) -> bytes:
    if payload.body is not RECORDS:
        return encode_json(payload.body)
    records = [_encoded(record) for record in payload.records]
    if not batch and len(records) == 1:
        return records[0]
    return b"[" + b",".join(records) + b"]"


def _encoded(record: Any) -> bytes:
    return record.encoded if isinstance(record, JsonItem) else encode_json(record)


def _events(records: tuple[Any, ...], batch: bool) -> Iterator[bytes]:
    for step in range(1, STREAM_STEPS):
        for index, record in enumerate(records):
            partial = _partial(record, step)
            if partial is not None:
                yield encode_json(partial | {"index": index} if batch else partial)
    for index, record in enumerate(records):
        indexed = batch and isinstance(record, JsonItem | dict)
        yield encode_json(plain(record) | {"index": index}) if indexed else _encoded(record)


def _partial(record: Any, step: int) -> dict[str, Any] | None:
    """Return an item as it stands after some steps; `None` for what has no ids to spread."""
    fields = plain(record) if isinstance(record, JsonItem | dict) else {}
    ids, meta = fields.get("output_ids"), fields.get("meta_info")
    if not isinstance(ids, list) or not isinstance(meta, Mapping):
        return None
    count = len(ids) * step // STREAM_STEPS
    running = {key: value for key, value in meta.items() if key != "e2e_latency"}
    running |= {"finish_reason": None, "completion_tokens": count}
    return {**fields, "output_ids": ids[:count], "meta_info": running}
