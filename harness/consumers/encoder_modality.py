"""encoder-modality: upstream's gRPC receiver asks encoders for a request's images.

Driven: `MMReceiverGrpc.encode`, with the media as `_extract_url_data` tells them and an honest
share for each encoder. Read: which items the messages hold, and what of their options.

Provided, by name: see `harness.consumers.encode_calls`.
"""

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.encode_calls import EncodeCalls
from harness.outcome import Passed, Run, Whose
from harness.upstream.loading import Upstream
from simulators.assigned_items import honest_assignment, told_counts
from simulators.encode_request import REQUEST, ItemReader
from simulators.requested_media import honest_asked_media


class EncoderModality:
    """The consumer of encoder-modality."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._calls = EncodeCalls(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the media as they would be told."""
        return self._passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which items were asked for."""
        passed = self._passed(dims, lie)
        items, encoders = int(dims["records"]), int(dims["encoders"])
        assigned = honest_assignment(encoders, items, "image", "grpc")
        urls = assigned.beside["urls"]
        receiver = self._calls.receiver("grpc", urls)
        told = told_counts(assigned)
        assert isinstance(told, dict)
        fields = {
            "req_id": REQUEST,
            "mm_data": passed.payload,
            "embedding_port": None,
            "endpoint_encode": "encode",
            "num_items_assigned": {self._calls.module.Modality.IMAGE: told["IMAGE"]},
            "encode_urls": urls,
        }
        # It was told the route of the second call, before there was none.
        if "endpoint_send" in inspect.signature(receiver.encode).parameters:
            fields["endpoint_send"] = None

        def call() -> Output:
            asyncio.run(receiver.encode(**fields))
            return self._read(passed)

        return Run(outcome_of(self._upstream, call), passed)

    def _passed(self, dims: Mapping[str, str], lie: Lie) -> Passed:
        count = int(dims["records"])
        payload = lie.told(honest_asked_media(count))
        told = [self._item(record) for record in payload.records]
        return Passed(told, {"req_id": REQUEST, "items": count}, ItemReader(count))

    def _item(self, record: Any) -> Any:
        if not isinstance(record, dict):
            return record
        item = {key: value for key, value in record.items() if key != "as_text"}
        name = record.get("modality")
        if name is not None and not record["as_text"]:
            item["modality"] = self._calls.module.Modality[name]
        return item

    def _read(self, passed: Passed) -> Output:
        sent = sorted(self._calls.sent, key=lambda one: one.fields["part_idx"])
        items = [item for one in sent for item in one.fields["mm_items"]]
        count, read = passed.request["items"], passed.owner_of
        assert read is not None
        wants = [Whose(REQUEST, place) for place in range(max(count, len(items)))]
        has = [None if o is None else Whose(str(o.owner), o.position) for o in read(items)]
        dropped = sum(map(_options, passed.payload)) - sum(map(_options, items))
        facts = {
            "the count of items": str(len(items)),
            "the count of parts without items": str(sum(not s.fields["mm_items"] for s in sent)),
            "the count of options that were dropped": str(dropped),
        }
        return Output(spans(REQUEST, wants, has, unit="items"), facts, items)


def _options(item: Any) -> int:
    return len(set(item) - {"url", "modality"}) if isinstance(item, Mapping) else 0
