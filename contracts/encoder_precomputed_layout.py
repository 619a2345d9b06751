"""encoder-precomputed-layout: the rows that an encoder sent are dealt out to a prompt's items.

- What was received is a tensor of rows for each modality of the prompt, under its name once.
- An item's rows are a tensor, as many as its offsets have positions, of a received modality.
- All rows that were received are consumed, none twice.
- Each item has its own rows, in order, at the offsets where its placeholders stand.

The payload holds `received` (pairs of a modality and its rows; a modality that begins with "text "
is a plain text in the place of the enumeration's member) and `items`, each with `modality`,
`offsets` and `rows`. `dealt` says that the processor cut the items' rows out of what was received,
in the prompt's order. The request says `places` (the offsets of each item in the prompt),
`modalities`, `width` and `owners` (whose rows the items are).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_SOURCE = Source(
    "0.5.23",
    "srt/multimodal/processors/base_processor.py",
    "BaseMultimodalProcessor._validate_precomputed_embedding_layout",
)


def _refused(text: str) -> tuple[Guard, ...]:
    return (Guard("RuntimeError", text, Span("0.5.20"), _SOURCE),)


MODALITY_RECEIVED = Clause(
    "modality-received",
    "Rows were received for each modality of the prompt, that can be cut.",
    incidental=("KeyError", "TypeError"),
)
ITEM_TENSOR = Clause(
    "item-tensor",
    "An item's rows are a tensor.",
    guards=_refused(
        "EPD multimodal items must contain tensor embeddings; got {kind} for {modality}"
    ),
)
ITEM_ROWS = Clause(
    "item-rows",
    "An item has a row for each position of its offsets.",
    guards=_refused(
        "Precomputed multimodal embedding length mismatch for {modality}: expected {wanted} rows "
        "from prompt offsets, got {got}"
    ),
)
ITEM_MODALITY = Clause(
    "item-modality",
    "An item is of a modality that was received.",
    guards=_refused("EPD processor returned an unexpected embedding modality: {modality}"),
)
RECEIVED_TENSOR = Clause(
    "received-tensor",
    "What was received for a modality is a tensor.",
    guards=_refused("EPD encoder output must contain tensor embeddings; got {kind} for {modality}"),
)
RECEIVED_MEMBER = Clause(
    "received-member",
    "What was received stands under a member of the enumeration.",
    incidental=("AttributeError",),
)
RECEIVED_CONSUMED = Clause(
    "received-consumed",
    "All rows that were received are consumed, each once.",
    guards=_refused(
        "Precomputed multimodal embedding consumption mismatch for {modality}: received {received} "
        "rows, consumed {consumed}"
    ),
)
OFFSETS_THERE = Clause("offsets-there", "An item has offsets.")
OFFSETS_PLACE = Clause("offsets-place", "An item's offsets are where the prompt has it.")
ROWS_FORM = Clause("rows-form", "Rows are two-dimensional, float32, as wide as the model's.")
MODALITY_ASKED = Clause("modality-asked", "Items and rows are of the prompt's modalities.")
ROW_IDENTITY = Clause("row-identity", "The rows of an item are its own, in order.", identity=True)

_CLAUSES = (
    MODALITY_RECEIVED,
    ITEM_TENSOR,
    ITEM_ROWS,
    ITEM_MODALITY,
    RECEIVED_TENSOR,
    RECEIVED_MEMBER,
    RECEIVED_CONSUMED,
    OFFSETS_THERE,
    OFFSETS_PLACE,
    ROWS_FORM,
    MODALITY_ASKED,
    ROW_IDENTITY,
)
_Items = Sequence[Mapping[str, Any]]
_Found = Iterator[Violation | Unchecked]


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    items, received = payload["items"], dict(payload["received"])
    if payload["dealt"]:
        yield from _walk_dealt(received, request["modalities"])
    for index, item in enumerate(items):
        yield from _walk_item(item, f"items[{index}]", received)
    yield from _walk_received(items, received)
    yield from _walk_places(items, request)
    yield from _walk_forms(items, request)
    yield from _walk_owners(items, request["owners"], owner_of)


def _walk_dealt(received: Mapping[str, Any], modalities: Sequence[str]) -> Iterator[Violation]:
    for modality in dict.fromkeys(modalities):
        if received.get(modality) is None:
            got = "null" if modality in received else "nothing"
            yield Violation(MODALITY_RECEIVED, f"received.{modality}", "rows", got)


def _walk_item(
    item: Mapping[str, Any], where: str, received: Mapping[str, Any]
) -> Iterator[Violation]:
    rows, modality = item["rows"], item["modality"]
    if not is_tensor(rows):
        fields = {"kind": type(rows).__name__, "modality": modality}
        yield Violation(ITEM_TENSOR, where, "a tensor", type(rows).__name__, fields)
        return
    if item["offsets"] is None:
        yield Violation(OFFSETS_THERE, where, "offsets", "null")
    else:
        positions, got = sum(last - first + 1 for first, last in item["offsets"]), len(rows)
        if got != positions:
            counted = {"modality": modality, "wanted": positions, "got": got}
            yield Violation(ITEM_ROWS, where, f"{positions} rows", str(got), counted)
    if modality not in received:
        yield Violation(ITEM_MODALITY, where, _named(received), modality, {"modality": modality})


def _named(received: Mapping[str, Any]) -> str:
    return " or ".join(received) or "none"


def _walk_received(items: _Items, received: Mapping[str, Any]) -> Iterator[Violation]:
    for modality, rows in received.items():
        where = f"received.{modality}"
        if not is_tensor(rows):
            said_of = {"kind": type(rows).__name__, "modality": modality}
            yield Violation(RECEIVED_TENSOR, where, "a tensor", type(rows).__name__, said_of)
            continue
        own = [item["rows"] for item in items if item["modality"] == modality]
        consumed = sum(len(one) for one in own if is_tensor(one))
        if consumed == len(rows):
            continue
        if modality.startswith("text "):
            yield Violation(RECEIVED_MEMBER, where, "a member", "a text")
            continue
        fields = {"modality": modality, "received": len(rows), "consumed": consumed}
        said = (f"{len(rows)} rows consumed", str(consumed))
        yield Violation(RECEIVED_CONSUMED, where, *said, fields)


def _walk_places(items: _Items, request: Mapping[str, Any]) -> Iterator[Violation]:
    places = request["places"]
    if len(items) != len(places):
        yield Violation(OFFSETS_PLACE, "items", f"{len(places)} items", str(len(items)))
    for index, (item, place) in enumerate(zip(items, places, strict=False)):
        if item["offsets"] is not None and list(map(tuple, item["offsets"])) != place:
            got = repr(item["offsets"])
            yield Violation(OFFSETS_PLACE, f"items[{index}].offsets", repr(place), got)


def _walk_forms(items: _Items, request: Mapping[str, Any]) -> Iterator[Violation]:
    wanted = f"(rows, {request['width']}) of float32"
    for index, item in enumerate(items):
        rows, where = item["rows"], f"items[{index}].rows"
        if is_tensor(rows):
            got = f"{tuple(rows.shape)} of {rows.dtype}".replace("torch.", "")
            if got != wanted.replace("rows", str(len(rows))):
                yield Violation(ROWS_FORM, where, wanted, got)
    asked = request["modalities"]
    for index, (item, modality) in enumerate(zip(items, asked, strict=False)):
        if item["modality"] != modality:
            yield Violation(MODALITY_ASKED, f"items[{index}]", modality, item["modality"])


def _walk_owners(items: _Items, owners: Sequence[str], owner_of: OwnerOf | None) -> _Found:
    if owner_of is None or any(not is_tensor(i["rows"]) or i["rows"].dim() != 2 for i in items):
        reason = "whose rows they are can be told only by a stamp reader, and of rows"
        yield Unchecked(ROW_IDENTITY, reason)
        return
    for index, (item, owner) in enumerate(zip(items, owners, strict=False)):
        for position, origin in enumerate(owner_of(item["rows"].tolist())):
            if origin is None or origin != (owner, position):
                said = "no known stamp" if origin is None else f"{origin.owner}'s {origin.position}"
                where = f"items[{index}].rows"
                yield Violation(ROW_IDENTITY, where, f"{owner}'s {position}", said)
                break


CONTRACT = Contract(
    "encoder-precomputed-layout",
    "The rows that an encoder sent are dealt out to the items of a prompt.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
