"""Clauses of a request to encode one part, wherever it comes in.

A request is a JSON object with an id, a modality, items, the number of parts and which it is.
Refusals are returned: as a text, which becomes the body of a 400.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.contract import RETURNED, Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

_SOURCE = Source("0.5.23", "srt/disaggregation/encoder/runtime.py", "validate_encode_request")
_MODALITIES = ("IMAGE", "VIDEO", "AUDIO")


def guarded(
    name: str,
    sentence: str,
    text: str,
    direct: bool = False,
    incidental: tuple[str, ...] = (),
    accidents: Span = EVER,
) -> Clause:
    """Return a clause that the look at a request guards, from 0.5.20 on."""
    guard = Guard(RETURNED, text, Span("0.5.20"), _SOURCE, direct=direct)
    return Clause(name, sentence, (guard,), incidental, accidents)


ITEMS_THERE = guarded("items-there", "It has items.", "missing or empty mm_items")
COUNT_POSITIVE = guarded(
    "count-positive",
    "The number of parts is a positive int.",
    "num_parts must be a positive integer",
)
INDEX_WITHIN = guarded(
    "index-within",
    "The index of the part is an int below the number of parts.",
    "part_idx must be in [0, {count})",
)
HASHES_KIND = guarded(
    "hashes-kind", "Hashes are a list or stand alone.", "hashes must be list/scalar, got {got}"
)
ITEMS_LIST = Clause("items-list", "The items are a list.")
ITEM_KIND = Clause("item-kind", "An item is a URL, or an object with one.")
HASHES_EACH = Clause("hashes-each", "There is one hash for each item.")
ID_ASKED = Clause("id-asked", "The id is that of the request.")
MODALITY_ASKED = Clause("modality-asked", "The modality is that of the items.")
PART_ASKED = Clause("part-asked", "The part is the one that was assigned, of as many.")
ITEMS_COUNT = Clause("items-count", "There are as many items as were assigned.")
ITEM_IDENTITY = Clause("item-identity", "Item k is the request's item k.", identity=True)
HASH_IDENTITY = Clause("hash-identity", "Hash k is that of item k.")

_REST = (
    ITEMS_THERE, COUNT_POSITIVE, INDEX_WITHIN, HASHES_KIND, ID_ASKED, MODALITY_ASKED, PART_ASKED,
    ITEMS_LIST, ITEMS_COUNT, ITEM_KIND, ITEM_IDENTITY, HASHES_EACH, HASH_IDENTITY,
)  # fmt: skip


@dataclass(frozen=True)
class Head:
    """The first clauses, whose breach ends differently at each entry."""

    request_object: Clause
    id_text: Clause
    modality_text: Clause
    modality_known: Clause

    @property
    def all(self) -> tuple[Clause, ...]:
        """All clauses of a request, in the order in which upstream meets them."""
        first = (self.request_object, self.id_text, self.modality_text, self.modality_known)
        return (*first, *_REST)


_Found = Iterator[Violation | Unchecked]


def walk_request(
    payload: Any, request: Mapping[str, Any], owner_of: OwnerOf | None, head: Head
) -> _Found:
    """Yield what a request breaks.

    Args:
        payload: The request.
        request: What was asked for: `req_id`, `modality`, `items` (how many), `num_parts`,
            `part_idx` and `hashes` (those of the items).
        owner_of: Reads whose each item is.
        head: The first clauses.
    """
    if not isinstance(payload, dict):
        got = type(payload).__name__
        yield Violation(head.request_object, "$", "an object", got, {"got": got})
        yield from (Unchecked(clause, "the request is no object") for clause in head.all[1:])
        return
    yield from _walk_fields(payload, head)
    yield from _walk_part(payload)
    yield from _walk_hashes(payload.get("hashes"))
    yield from _walk_asked(payload, request)
    items = payload.get("mm_items")
    yield from _walk_items(items, request["items"])
    if not isinstance(items, list | tuple) or owner_of is None:
        yield Unchecked(ITEM_IDENTITY, "whose an item is can be told only by a reader, of a list")
    else:
        yield from _walk_owners(items, request["req_id"], owner_of)
    yield from _walk_hashes_asked(payload.get("hashes"), request["hashes"])


def _walk_fields(payload: Mapping[str, Any], head: Head) -> Iterator[Violation]:
    named, modality, items = (payload.get(key) for key in ("req_id", "modality", "mm_items"))
    if not isinstance(named, str) or not named:
        # What is there is not looked at before 0.5.20.
        accident = None if "req_id" not in payload else ()
        said = repr(named)
        yield Violation(head.id_text, "$.req_id", "a text", said, incidental=accident)
    if not isinstance(modality, str):
        yield Violation(head.modality_text, "$.modality", "a text", repr(modality))
    elif modality.upper() not in _MODALITIES:
        fields = {"got": modality}
        known = " or ".join(_MODALITIES)
        yield Violation(head.modality_known, "$.modality", known, modality, fields)
    if items is None or (isinstance(items, list | tuple) and not items):
        yield Violation(ITEMS_THERE, "$.mm_items", "items", repr(items))


def _walk_part(payload: Mapping[str, Any]) -> Iterator[Violation]:
    count, index = payload.get("num_parts"), payload.get("part_idx")
    if type(count) is not int or count <= 0:
        yield Violation(COUNT_POSITIVE, "$.num_parts", "a positive int", repr(count))
    if type(index) is not int or type(count) is not int or not 0 <= index < count:
        fields = {"count": count}
        yield Violation(INDEX_WITHIN, "$.part_idx", f"below {count}", repr(index), fields)


def _walk_hashes(hashes: Any) -> Iterator[Violation]:
    if isinstance(hashes, dict | float):
        got = type(hashes).__name__
        yield Violation(HASHES_KIND, "$.hashes", "a list", got, {"got": got})


def _walk_asked(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    if payload.get("req_id") != request["req_id"]:
        yield Violation(ID_ASKED, "$.req_id", request["req_id"], repr(payload.get("req_id")))
    modality = str(payload.get("modality"))
    if modality.upper() != request["modality"]:
        yield Violation(MODALITY_ASKED, "$.modality", request["modality"], modality)
    part = (payload.get("part_idx"), payload.get("num_parts"))
    if part != (request["part_idx"], request["num_parts"]):
        asked = f"{request['part_idx']} of {request['num_parts']}"
        yield Violation(PART_ASKED, "$.part_idx", asked, "{} of {}".format(*part))


def _walk_items(items: Any, count: int) -> Iterator[Violation]:
    if not isinstance(items, list | tuple):
        if items is not None:
            yield Violation(ITEMS_LIST, "$.mm_items", "a list", type(items).__name__)
        return
    if len(items) != count:
        yield Violation(ITEMS_COUNT, "$.mm_items", str(count), str(len(items)))
    for index, item in enumerate(items):
        url = item.get("url") if isinstance(item, dict) else item
        if not isinstance(url, str) or not url:
            yield Violation(ITEM_KIND, f"$.mm_items[{index}]", "a URL", repr(item))


def _walk_owners(items: Sequence[Any], asked: str, owner_of: OwnerOf) -> Iterator[Violation]:
    for index, origin in enumerate(owner_of(items)):
        if origin != (asked, index):
            said = "nobody's" if origin is None else f"{origin.owner}'s item {origin.position}"
            yield Violation(ITEM_IDENTITY, f"$.mm_items[{index}]", f"{asked}'s item {index}", said)


def _walk_hashes_asked(hashes: Any, asked: Sequence[str]) -> Iterator[Violation]:
    if hashes is None or isinstance(hashes, dict | float):
        return
    told = list(hashes) if isinstance(hashes, list | tuple) else [hashes]
    if len(told) != len(asked):
        yield Violation(HASHES_EACH, "$.hashes", str(len(asked)), str(len(told)))
    elif told != list(asked):
        yield Violation(HASH_IDENTITY, "$.hashes", str(list(asked)), str(told))
