"""encoder-item-grid: items that a model's preprocessor keeps apart go to the model, or to a cache.

- There are items; one for each grid, and one grid for each item that was asked for.
- Each is of the modality that was asked for, and has as many rows as its grid says.
- An item's features are its own; so is the key by which a cache finds its rows.

The payload holds `items`, for each `features`, `modality` and `key` (None where it is made of the
features), and `grids`. The request says `entry` (`batch`, `cached`: one request, where a prefix
cache has another's rows, or `keys`: the keys for the cache that servers share), `items` (how many
each request asked for), `counts`, `keys` that the items have, and `merge_size`. Keys are made by
calling the function that prepares a batch: its entry goes on to what runs on a card alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.encoded_batch import (
    BATCH_ITEM_COUNT,
    OLD_SERVER_FILE,
    ROWS_COUNT,
    SERVER_FILE,
)
from contracts.contract import (
    RETURNED,
    Clause,
    Contract,
    Guard,
    OwnerOf,
    Unchecked,
    Violation,
)
from contracts.releases import EVER, Span
from contracts.source import Source

#: From here on the server is a package; the release before it keeps items apart already.
_MOVED = "0.5.19"
_OUTPUT = Source(
    "0.5.23", "srt/multimodal/encoder_preprocessing.py", "EncoderPreprocessOutput.__init__"
)
_MISMATCH = "Encoder preprocess item/grid mismatch: {items} items != {grids} grids"


def _guards(
    error: str, text: str, symbol: str, older: str, direct: bool = False
) -> tuple[Guard, ...]:
    return (
        Guard(error, text, Span(_MOVED), Source("0.5.23", SERVER_FILE, symbol), direct=direct),
        Guard(
            error,
            text,
            Span(until=_MOVED),
            Source("0.5.18", OLD_SERVER_FILE, older),
            direct=direct,
        ),
    )


_BUILD, _OLD_BUILD = "MMEncoder._build_model_mm_items", "MMEncoder._build_mm_data_items"
_KEYS = "MMEncoder._calculate_hashes_from_features"

SOME_ITEMS = Clause(
    "some-items",
    "There are items.",
    guards=(Guard(RETURNED, "EncoderPreprocessOutput requires at least one item", EVER, _OUTPUT),),
)
ITEM_EACH = Clause(
    "item-each",
    "The model gets one item for each grid.",
    guards=_guards(RETURNED, _MISMATCH, _BUILD, _OLD_BUILD),
)
KEY_EACH = Clause(
    "key-each",
    "There is one item for each grid that a key is made for.",
    guards=_guards("ValueError", _MISMATCH, _KEYS, _KEYS, direct=True),
)
MODALITY = Clause(
    "modality",
    "Items are of the modality that was asked for.",
    guards=_guards(
        RETURNED, "Encoder preprocess output contains wrong modality", _BUILD, _OLD_BUILD
    ),
)
GRIDS_ASKED = Clause("grids-asked", "Grids stand in the order of the items.")
OWN_KEY = Clause("own-key", "Each item has its own key, and no two have the same.")
OWN_FEATURES = Clause("own-features", "Item i's features are item i's.", identity=True)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    items, grids, layout = payload["items"], payload["grids"], request["items"]
    if not items:
        yield Violation(SOME_ITEMS, "items", "one or more", "none")
        yield Unchecked(OWN_FEATURES, "there are no items")
        return
    if len(grids) != sum(layout):
        told = {"layout": layout, "expected": sum(layout), "got": len(grids)}
        yield Violation(BATCH_ITEM_COUNT, "grids", str(sum(layout)), str(len(grids)), told)
    if len(items) != len(grids):
        clause = KEY_EACH if request["entry"] == "keys" else ITEM_EACH
        fields = {"items": len(items), "grids": len(grids)}
        yield Violation(clause, "items", str(len(grids)), str(len(items)), fields)
    if request["entry"] != "keys":
        yield from _walk_model(payload, request)
    if tuple(grids) != tuple(request["grids"]):
        yield Violation(GRIDS_ASKED, "grids", str(request["grids"]), str(grids))
    for index, (item, key) in enumerate(zip(items, request["keys"], strict=False)):
        if item["key"] != key:
            yield Violation(OWN_KEY, f"items[{index}].key", str(key), str(item["key"]))
    if owner_of is None:
        yield Unchecked(OWN_FEATURES, "whose they are can be told only by a stamp reader")
        return
    yield from _walk_features(items, request, owner_of)


def _walk_model(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    for index, item in enumerate(payload["items"]):
        if item["modality"] != "image":
            yield Violation(MODALITY, f"items[{index}]", "image", item["modality"])
    area = request["merge_size"] ** 2
    made = sum(len(item["features"]) // area for item in payload["items"])
    expected = sum(frames * rows * columns // area for frames, rows, columns in payload["grids"])
    if made != expected:
        fields = {"got": made, "expected": expected}
        yield Violation(ROWS_COUNT, "rows", f"{expected} rows", str(made), fields)


def _walk_features(
    items: list[Mapping[str, Any]], request: Mapping[str, Any], owner_of: OwnerOf
) -> Iterator[Violation]:
    read = [owner_of(i["features"][:: request["merge_size"] ** 2].tolist()) for i in items]
    has = [tuple(origin) if origin is not None else None for one in read for origin in one]
    wants = [(i, row) for i, count in enumerate(request["counts"]) for row in range(count)]
    if has != wants:
        first = next(i for i in range(len(has) + 1) if has[i : i + 1] != wants[i : i + 1])
        got = "nothing" if first >= len(has) else f"{has[first]}"
        want = "nothing" if first >= len(wants) else f"{wants[first]}"
        yield Violation(OWN_FEATURES, f"features of token {first}", want, got)


CONTRACT = Contract(
    "encoder-item-grid",
    "Items that a model's preprocessor keeps apart go to the model, or to a cache.",
    (
        SOME_ITEMS,
        BATCH_ITEM_COUNT,
        ITEM_EACH,
        KEY_EACH,
        MODALITY,
        ROWS_COUNT,
        GRIDS_ASKED,
        OWN_KEY,
        OWN_FEATURES,
    ),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
