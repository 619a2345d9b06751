"""encoder-request: upstream looks at a request to encode before it gives it to the encoder.

Driven: `validate_encode_request`, which both of the encoder's servers ask first. A text that it
returns is what the client reads in the body of a 400. A request without one goes on as it is, so
what was asked for is read from the request itself. Loaded for real beside it: the modality.
"""

from collections.abc import Mapping
from typing import Any

from contracts.contract import RETURNED
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.encoder_receiver import load_with_modality
from harness.outcome import Ending, Outcome, Passed, Raised, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.encode_request import (
    PART,
    PARTS,
    REQUEST,
    ItemReader,
    encode_request,
    hashes,
    honest_encode,
)


class EncoderRequest:
    """The consumer of encoder-request."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._runtime = load_with_modality(upstream, module)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the request as it would be sent."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what was said of the request."""
        passed = _passed(dims, lie)
        said: list[str] = []

        def call() -> Output:
            text = self._runtime.validate_encode_request(passed.payload)
            if text is not None:
                said.append(text)
                return Output()
            return self._read(passed)

        outcome = outcome_of(self._upstream, call)
        if said and outcome.ending is Ending.ACCEPTED and not outcome.unsure:
            outcome = Outcome(Ending.RAISED, Raised(RETURNED, said[0], "upstream"))
        return Run(outcome, passed)

    def _read(self, passed: Passed) -> Output:
        request = passed.payload
        modality = self._runtime.Modality.from_str(request["modality"])
        facts = {
            "the id of the request": request["req_id"],
            "the modality": modality.name,
            "the part": f"{request['part_idx']} of {request['num_parts']}",
            "the count of hashes": _count(request.get("hashes"), passed),
        }
        items = request["mm_items"]
        told = items if isinstance(items, list) else [items]
        facts["the count of items"] = str(len(told))
        found = [*_of_items(told, passed), *_of_hashes(request.get("hashes"), passed)]
        return Output(tuple(found), facts, request)


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    count, hashed = int(dims["records"]), dims["hashes"] == "yes"
    payload = lie.told(honest_encode(count, dims["modality"], hashed))
    request = {
        "req_id": REQUEST,
        "modality": dims["modality"].upper(),
        "items": count,
        "num_parts": PARTS,
        "part_idx": PART,
        "hashes": hashes(count),
    }
    return Passed(encode_request(payload), request, ItemReader(count))


def _of_items(items: list[Any], passed: Passed) -> tuple[Span, ...]:
    read = passed.owner_of
    assert read is not None
    wants = [Whose(REQUEST, place) for place in range(passed.request["items"])]
    has = [None if o is None else Whose(str(o.owner), o.position) for o in read(items)]
    return spans(REQUEST, wants, has, unit="items")


def _listed(told: Any) -> list[Any]:
    return list(told) if isinstance(told, list | tuple) else [told]


def _of_hashes(told: Any, passed: Passed) -> tuple[Span, ...]:
    if told is None:
        # They are an offer: without them the encoder makes its own.
        return ()
    known = {text: Whose(REQUEST, place) for place, text in enumerate(passed.request["hashes"])}
    wants = list(known.values())
    has = [known.get(text) if isinstance(text, str) else None for text in _listed(told)]
    return spans(f"the cache's key of {REQUEST}", wants, has, unit="hashes")


def _count(told: Any, passed: Passed) -> str:
    return str(passed.request["items"] if told is None else len(_listed(told)))
