"""A request to encode as it is sent under a lie, and as it is read where it goes on."""

from collections.abc import Mapping
from typing import Any

from harness.consumers.consumer import Lie, Output, spans
from harness.outcome import Passed, Span, Whose
from simulators.encode_request import (
    PART,
    PARTS,
    REQUEST,
    ItemReader,
    encode_request,
    hashes,
    honest_encode,
)


def passed_request(dims: Mapping[str, str], lie: Lie) -> Passed:
    """Return the request as it is sent, and what was asked for."""
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


def read_request(request: Mapping[str, Any], passed: Passed, modality: Any) -> Output:
    """Return whose items a request holds that was let through.

    Args:
        request: The request, where it goes on.
        passed: What was sent, and asked for.
        modality: Upstream's own class, which reads a modality's name.
    """
    told = request.get("modality")
    facts = {
        "the id of the request": str(request.get("req_id")),
        "the modality": _named(told, modality),
        "the part": f"{request.get('part_idx')} of {request.get('num_parts')}",
        "the count of hashes": _count(request.get("hashes"), passed),
    }
    items = _listed(request.get("mm_items"))
    facts["the count of items"] = str(len(items))
    found = [*_of_items(items, passed), *_of_hashes(request.get("hashes"), passed)]
    return Output(tuple(found), facts, request)


def _named(told: Any, modality: Any) -> str:
    known = isinstance(told, str) and told.upper() in modality.__members__
    return str(modality.from_str(told).name) if known else repr(told)


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
