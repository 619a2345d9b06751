"""encoder-hashes: a request's media get the keys by which a cache that servers share finds rows.

- Hashes that come with a request have a length, that of the grids; each is its item's own.
- Where none come, keys are made of the pixel features: as many as the grids say, in their order.

The payload holds `hashes` (None where none come) and `features`, (patches, width); the request its
`name`, `model` and `modality`, `hashes` of its items, `counts` of tokens and the `merge_size`. The
keys are made by calling the function that prepares a batch: what its entry goes on to runs on a
card alone.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from contracts.clauses.encoded_batch import OLD_SERVER_FILE, SERVER_FILE
from contracts.clauses.processed_media import PATCH_COUNT
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_MOVED = "0.5.19"
_ERROR = "BadRequestError"

HASHES_SIZED = Clause("hashes-sized", "Hashes have a length.", incidental=("TypeError",))
HASH_EACH = Clause(
    "hash-each",
    "There is one hash for each grid.",
    guards=(
        Guard(
            _ERROR,
            "User-supplied hashes length {got} != grid count {grids} for req {request}; "
            "hashes must be grid-space (1 per encoder grid entry).",
            Span(_MOVED),
            Source("0.5.23", SERVER_FILE, "MMEncoder._prepare_encode_context"),
            direct=True,
        ),
        Guard(
            _ERROR,
            "User-supplied hashes length {got} != grid count {grids} for {model}/{modality}; "
            "hashes must be in grid space (1 per encoder grid entry).",
            Span(until=_MOVED),
            Source("0.5.18", OLD_SERVER_FILE, "MMEncoder._prepare_global_cache_context"),
            direct=True,
        ),
    ),
)
OWN_HASH = Clause("own-hash", "Each hash is its item's, and no two items share one.")
KEY_FEATURES = Clause(
    "key-features", "An item's key is made of its own features, all of them.", identity=True
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    hashes, asked = payload["hashes"], request["hashes"]
    if hashes is None:
        yield from _walk_features(payload["features"], request, owner_of)
        return
    if not isinstance(hashes, Collection):
        yield Violation(HASHES_SIZED, "hashes", "a list", type(hashes).__name__)
        return
    if len(hashes) != len(asked):
        fields = {
            "got": len(hashes),
            "grids": len(asked),
            "request": request["name"],
            "model": request["model"],
            "modality": request["modality"],
        }
        yield Violation(HASH_EACH, "hashes", str(len(asked)), str(len(hashes)), fields)
        return
    for index, (got, want) in enumerate(zip(list(hashes), asked, strict=True)):
        if got != want:
            yield Violation(OWN_HASH, f"hashes[{index}]", want, str(got))


def _walk_features(
    features: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    area = request["merge_size"] ** 2
    wants = [
        (item, row)
        for item, count in enumerate(request["counts"])
        for row in range(count)
        for _ in range(area)
    ]
    if len(features) > len(wants):
        yield Violation(PATCH_COUNT, "features", str(len(wants)), str(len(features)))
    if owner_of is None:
        yield Unchecked(KEY_FEATURES, "whose they are can be told only by a stamp reader")
        return
    read = owner_of(features[: len(wants)].tolist())
    has = [None if origin is None else tuple(origin) for origin in read]
    for index, want in enumerate(wants):
        got = has[index] if index < len(has) else None
        if got != want:
            yield Violation(KEY_FEATURES, f"features[{index}]", str(want), str(got))
            return


CONTRACT = Contract(
    "encoder-hashes",
    "A request's media get the keys by which a cache that servers share finds rows.",
    (HASHES_SIZED, HASH_EACH, OWN_HASH, PATCH_COUNT, KEY_FEATURES),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
