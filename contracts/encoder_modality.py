"""encoder-modality: by gRPC encoders are asked for images, and for nothing else.

- All items are images; it is looked at only where the first one is told with its modality.
- An item is told with its modality, all in the same way.
- A URL is a text: that is what a message of gRPC carries.
- What else is told of an item reaches the encoder too.
- There are items, as many as the request has, and item k is its item k.

The payload is the list of items: each a mapping with `url` and `modality` (upstream's own), or a
plain URL. What was asked for says `req_id` and `items`, how many.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_TEXT = "gRPC encode only supports IMAGE modality, got: {modalities}"
_CALL = "MMReceiverGrpc.encode"
_TOLD = ("url", "modality")

IMAGES_ONLY = Clause(
    "images-only",
    "All items are images.",
    guards=(
        Guard(
            "NotImplementedError",
            _TEXT,
            Span("0.5.19"),
            Source("0.5.23", "srt/disaggregation/encoder/receiver.py", _CALL),
        ),
        Guard(
            "NotImplementedError",
            _TEXT,
            Span(until="0.5.19"),
            Source("0.5.18", "srt/disaggregation/encode_receiver.py", _CALL),
        ),
    ),
)
TOLD_ALIKE = Clause(
    "told-alike", "Every item is told with its modality.", incidental=("AttributeError",)
)
UNSEEN_IMAGES = Clause(
    "unseen-images", "All items are images, where the first one is a plain URL, too."
)
URL_TEXT = Clause("url-text", "A URL is a text.", incidental=("TypeError",))
URL_THERE = Clause("url-there", "A URL is not empty.")
OPTIONS_KEPT = Clause("options-kept", "What else is told of an item reaches the encoder too.")
ITEMS_COUNT = Clause("items-count", "There are as many items as the request has.")
ITEM_IDENTITY = Clause("item-identity", "Item k is the request's item k.", identity=True)

_CLAUSES = (
    TOLD_ALIKE, IMAGES_ONLY, URL_TEXT, URL_THERE, UNSEEN_IMAGES, OPTIONS_KEPT, ITEMS_COUNT,
    ITEM_IDENTITY,
)  # fmt: skip


def _walk(
    payload: Sequence[Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    is_looked_at = bool(payload) and isinstance(payload[0], Mapping)
    if is_looked_at:
        yield from _walk_modalities(payload)
    elif payload:
        said = "the first one is a plain URL"
        yield Violation(TOLD_ALIKE, "$[0]", "an item with its modality", said, incidental=())
    # What is left of a plain list goes out as it is.
    sent = [item.get("url") for item in payload] if _all_told(payload) else list(payload)
    for index, url in enumerate(sent):
        if not isinstance(url, str):
            yield Violation(URL_TEXT, f"$[{index}]", "a text", type(url).__name__)
        elif not url:
            yield Violation(URL_THERE, f"$[{index}]", "a URL", "nothing")
    for index, item in enumerate(payload):
        if isinstance(item, Mapping):
            if not is_looked_at and _name(item) != "IMAGE":
                yield Violation(UNSEEN_IMAGES, f"$[{index}]", "an image", str(_name(item)))
            more = sorted(set(item) - set(_TOLD))
            if more:
                yield Violation(OPTIONS_KEPT, f"$[{index}]", ", ".join(more), "only the URL")
    yield from _walk_owners(payload, request, owner_of)


def _all_told(payload: Sequence[Any]) -> bool:
    return all(isinstance(item, Mapping) for item in payload)


def _name(item: Mapping[str, Any]) -> Any:
    return getattr(item.get("modality"), "name", None)


def _walk_modalities(payload: Sequence[Any]) -> Iterator[Violation]:
    for index, item in enumerate(payload):
        if not isinstance(item, Mapping):
            yield Violation(TOLD_ALIKE, f"$[{index}]", "an item", "a plain URL")
            return
    strange = [item.get("modality") for item in payload if _name(item) != "IMAGE"]
    if strange:
        fields = {"modalities": strange}
        yield Violation(IMAGES_ONLY, "$", "images", str(strange), fields)


def _walk_owners(
    payload: Sequence[Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    asked, count = request["req_id"], request["items"]
    if len(payload) != count:
        yield Violation(ITEMS_COUNT, "$", str(count), str(len(payload)))
    if owner_of is None:
        yield Unchecked(ITEM_IDENTITY, "whose an item is can be told only by a reader")
        return
    for index, origin in enumerate(owner_of(payload)):
        if origin != (asked, index):
            said = "nobody's" if origin is None else f"{origin.owner}'s item {origin.position}"
            yield Violation(ITEM_IDENTITY, f"$[{index}]", f"{asked}'s item {index}", said)


CONTRACT = Contract(
    "encoder-modality",
    "By gRPC encoders are asked for images, and for nothing else.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
