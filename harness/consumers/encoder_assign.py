"""encoder-assign: upstream shares a request's media out among encoders, and asks each for a part.

Driven: `encode` of the receiver of the mode, with the counts of items as they were assigned; or,
where the entry says so, `send_encode_request`, which the tokenizer calls with a client's request:
it finds the media, assigns them by itself, and encodes in a thread, whose end is awaited here.
Read: which items each request for a part holds, in the order of the parts, and whether what is
told of the parts agrees. An error that the thread tells on is returned; one that it only logs is
not.

Provided, by name: see `harness.consumers.encode_calls`, and the client's request.
"""

import asyncio
import inspect
import threading
from collections.abc import Mapping
from typing import Any

from contracts.contract import RETURNED
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.encode_calls import EncodeCalls, Sent
from harness.outcome import Ending, Outcome, Passed, Raised, Run, Span, Whose
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.assigned_items import hashes_of, honest_assignment, modalities_of, told_counts
from simulators.encode_request import REQUEST, ItemReader, urls

_ROUTE = "encode"


class EncoderAssign:
    """The consumer of encoder-assign."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._calls = EncodeCalls(upstream, module, device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the assignment as it would be told."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which items were asked for, part by part."""
        passed = _passed(dims, lie)
        receiver = self._calls.receiver(passed.payload["mode"], passed.payload["urls"])
        told: list[str] = []

        def call() -> Output:
            if dims["entry"] == "request":
                self._request(receiver, passed, told)
            else:
                self._encode(receiver, passed)
            return _read(self._calls.sent, passed)

        outcome = outcome_of(self._upstream, call)
        if told and outcome.ending is Ending.ACCEPTED and not outcome.unsure:
            outcome = Outcome(Ending.RAISED, Raised(RETURNED, told[0], "upstream"))
        return Run(outcome, passed)

    def _encode(self, receiver: Any, passed: Passed) -> None:
        modality = self._calls.module.Modality
        named = zip(passed.payload["items"], passed.request["modalities"], strict=True)
        media = [{"url": url, "modality": modality[name]} for url, name in named]
        counts = passed.payload["counts"]
        if isinstance(counts, dict) and passed.payload["keys"] == "enum":
            counts = {modality[name]: told for name, told in counts.items()}
        fields = {
            "req_id": REQUEST,
            "mm_data": media,
            "embedding_port": None,
            "endpoint_encode": _ROUTE,
            "num_items_assigned": counts,
            "encode_urls": passed.payload["urls"],
        }
        # It was told the route of the second call, before there was none.
        if "endpoint_send" in inspect.signature(receiver.encode).parameters:
            fields["endpoint_send"] = None
        asyncio.run(receiver.encode(**fields))

    def _request(self, receiver: Any, passed: Passed, told: list[str]) -> None:
        asked = _asked(passed)
        running = set(threading.enumerate())
        fields: dict[str, Any] = {}
        if "on_dispatch_error" in inspect.signature(receiver.send_encode_request).parameters:
            fields["on_dispatch_error"] = lambda error: told.append(error.error_msg)
        ready = receiver.send_encode_request(asked, **fields)
        if ready is not None:
            ready.set()
        for thread in set(threading.enumerate()) - running:
            thread.join()


def _asked(passed: Passed) -> Provided:
    named = list(zip(passed.payload["items"], passed.request["modalities"], strict=True))
    return Provided(
        "GenerateReqInput",
        rid=REQUEST,
        image_data=[url for url, name in named if name == "IMAGE"],
        video_data=[url for url, name in named if name == "VIDEO"],
        audio_data=None,
        mm_content_hashes=passed.payload["hashes"],
        need_wait_for_mm_inputs=None,
        num_items_assigned=None,
        encoder_urls=None,
    )


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    items, modality, mode = int(dims["items"]), dims["modality"], dims["mode"]
    payload = lie.told(honest_assignment(int(dims["records"]), items, modality, mode))
    told = {
        "mode": payload.beside["mode"],
        "counts": told_counts(payload),
        "keys": payload.beside["keys"],
        "urls": payload.beside["urls"],
        "hashes": payload.beside["hashes"],
        "items": list(urls(REQUEST, items)),
    }
    request = {
        "modalities": modalities_of(items, modality),
        "hashes": hashes_of(items, modality),
        "entry": dims["entry"],
    }
    return Passed(told, request, ItemReader(items))


def _read(sent: list[Sent], passed: Passed) -> Output:
    parts = sorted(sent, key=lambda one: one.fields["part_idx"])
    modalities, read = passed.request["modalities"], passed.owner_of
    assert read is not None
    items = [item for part in parts for item in part.fields["mm_items"]]
    origins = read(items)
    wants = [Whose(REQUEST, place) for place in range(len(modalities))]
    has = [None if o is None else Whose(str(o.owner), o.position) for o in origins]
    wants += [Whose(REQUEST, place) for place in range(len(wants), len(has))]
    promised = {part.fields["num_parts"] for part in parts}
    known = [part.fields["part_idx"] for part in parts]
    agree = promised == {len(parts)} and known == list(range(len(parts)))
    told = [(part.fields.get("modality"), read(part.fields["mm_items"])) for part in parts]
    strange = sum(
        origin is None or name not in (None, modalities[origin.position])
        for name, origins in told
        for origin in origins
    )
    facts = {
        "the number of parts": "as told" if agree else f"{len(parts)}, told as {sorted(promised)}",
        "the count of parts without items": str(sum(not p.fields["mm_items"] for p in parts)),
        "the count of items under another modality": str(strange),
        "the count of parts at another encoder": str(_astray(parts, passed.payload["urls"])),
        "the count of parts under another id": str(sum(map(_misnamed, parts))),
    }
    found = [*spans(REQUEST, wants, has, unit="items"), *_of_hashes(items, passed)]
    return Output(tuple(found), facts, [part.fields for part in parts])


def _astray(parts: list[Sent], told: list[str]) -> int:
    ways = [
        {f"{told[part.fields['encoder_idx']]}/{_ROUTE}",
         told[part.fields["encoder_idx"]].removeprefix("grpc://")}
        for part in parts
    ]  # fmt: skip
    return sum(part.url not in way for part, way in zip(parts, ways, strict=True))


def _misnamed(part: Sent) -> bool:
    name = part.fields["req_id"]
    return name not in (REQUEST, f"{REQUEST}_local_part_{part.fields['part_idx']}")


def _of_hashes(items: list[Any], passed: Passed) -> tuple[Span, ...]:
    asked = passed.request["hashes"]
    known = {text: Whose(REQUEST, place) for place, text in enumerate(asked)}
    wants = list(known.values())
    keys = [item.get("content_hash") if isinstance(item, dict) else None for item in items]
    # They are an offer: without one the encoder makes its own.
    has = [want if key is None else known.get(key) for key, want in zip(keys, wants, strict=False)]
    return spans(f"the cache's key of {REQUEST}", wants[: len(has)], has, unit="hashes")
