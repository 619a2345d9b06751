"""What must hold of one chunk of keys and values on its way into a cache.

A chunk has `key`, `value`, `start`, `head_start` and `recent`; the request says of the cache what
`contracts.lingbot_kv_cache` lists. The order of the functions is the order in which upstream
meets what they find.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER
from contracts.source import Source

CACHE_FILE = "multimodal_gen/runtime/layers/kvcache/causal_attention_cache.py"
UPDATE = "CausalSelfAttentionKVCache.update_and_get_attention_kv"
_VISIBLE = "CausalSelfAttentionKVCache._visible_attention_kv"

CHUNK_TENSORS = Clause(
    "chunk-tensors",
    "A chunk's key and value are tensors.",
    incidental=("AttributeError",),
)
HEADS_TOLD = Clause(
    "heads-told",
    "A chunk with other heads than the cache says which is the first.",
    guards=(
        Guard(
            "ValueError",
            "{debug_name} requires cache_head_start when cache heads "
            "({cache_heads}) differ from input heads ({input_heads}).",
            EVER,
            Source("0.5.23", CACHE_FILE, UPDATE),
        ),
    ),
)
START_NUMBER = Clause("start-number", "A chunk's start is an int.", incidental=("TypeError",))
HEADS_OWN = Clause(
    "heads-own",
    "The first head that a chunk names is its own.",
    incidental=("RuntimeError",),
)
CHUNK_TOKENS = Clause("chunk-tokens", "A chunk has the tokens of one chunk.")
CHUNK_SHAPE = Clause(
    "chunk-shape",
    "A chunk's key and value have the cache's batch, heads and width, and are alike in shape.",
    incidental=("RuntimeError",),
)
CHUNK_DTYPE = Clause("chunk-dtype", "A chunk has the cache's type of numbers.")
CHUNK_DEVICE = Clause(
    "chunk-device", "A chunk lies on the cache's device.", incidental=("NotImplementedError",)
)
RECENT_NUMBER = Clause(
    "recent-number", "The recent window is None or an int.", incidental=("TypeError",)
)
RECENT_WHOLE = Clause(
    "recent-whole",
    "The recent window is None or no negative number.",
    guards=(
        Guard(
            "ValueError",
            "recent_window_tokens must be non-negative or None",
            EVER,
            Source("0.5.23", CACHE_FILE, _VISIBLE),
        ),
    ),
)
RECENT_ASKED = Clause("recent-asked", "The recent window is the one that was configured.")
CHUNK_IDENTITY = Clause("chunk-identity", "Every row is this request's.", identity=True)
ROW_POSITION = Clause("row-position", "Every row stands at its own position.", identity=True)

Found = Iterator[Violation | Unchecked]


def unfit(chunk: Mapping[str, Any], request: Mapping[str, Any], where: str) -> Violation | None:
    """Return what keeps a chunk from being placed at all, if anything does."""
    key = chunk["key"]
    if not is_tensor(key):
        return Violation(CHUNK_TENSORS, f"{where}.key", "a tensor", type(key).__name__)
    heads = key.shape[2]
    if heads != request["heads"] and chunk["head_start"] is None:
        fields = {
            "debug_name": request["debug_name"],
            "cache_heads": request["heads"],
            "input_heads": heads,
        }
        return Violation(HEADS_TOLD, f"{where}.head_start", "an int", "None", fields)
    if type(chunk["start"]) is not int:
        return Violation(START_NUMBER, f"{where}.start", "an int", repr(chunk["start"]))
    return None


def walk_rows(chunk: Mapping[str, Any], request: Mapping[str, Any], where: str) -> Found:
    """Yield what is broken in the rows of a chunk that has its place in the cache."""
    key, value = chunk["key"], chunk["value"]
    tokens = key.shape[1]
    if tokens != request["tokens"]:
        yield Violation(CHUNK_TOKENS, where, str(request["tokens"]), str(tokens))
    room = (request["batch"], tokens, _head_room(chunk, request), request["width"])
    shape = (request["batch"], tokens, request["chunk_heads"], request["width"])
    if request["head_start"] is not None and chunk["head_start"] != request["head_start"]:
        accident: tuple[str, ...] | None = None
        if _spreads(key, room) and _spreads(value, room):
            accident = ()
        wanted, got = str(request["head_start"]), str(chunk["head_start"])
        yield Violation(HEADS_OWN, f"{where}.head_start", wanted, got, incidental=accident)
    for name, rows in (("key", key), ("value", value)):
        if not is_tensor(rows):
            kind, torch_says = type(rows).__name__, ("TypeError",)
            got = f"{where}.{name}"
            yield Violation(CHUNK_TENSORS, got, "a tensor", kind, incidental=torch_says)
            continue
        if tuple(rows.shape) != shape:
            accident = () if _spreads(rows, room) else None
            got = str(tuple(rows.shape))
            yield Violation(CHUNK_SHAPE, f"{where}.{name}", str(shape), got, incidental=accident)
        if str(rows.device.type) != request["device"]:
            wanted, got = request["device"], str(rows.device.type)
            yield Violation(CHUNK_DEVICE, f"{where}.{name}", wanted, got)
        if str(rows.dtype) != request["dtype"]:
            yield Violation(CHUNK_DTYPE, f"{where}.{name}", request["dtype"], str(rows.dtype))


def _head_room(chunk: Mapping[str, Any], request: Mapping[str, Any]) -> int:
    heads, cache_heads = chunk["key"].shape[2], request["heads"]
    if heads == cache_heads:
        return int(heads)
    first = chunk["head_start"]
    return len(range(cache_heads)[first : first + heads])


def _spreads(rows: Any, room: tuple[int, ...]) -> bool:
    # Torch repeats a single row, silently, wherever there is room for more.
    return len(rows.shape) == len(room) and all(
        have in (1, place) for have, place in zip(rows.shape, room, strict=True)
    )


def walk_recent(recent: Any, configured: int | None, where: str) -> Iterator[Violation]:
    """Yield what is broken in how many tokens before a chunk are seen."""
    named = f"{where}.recent"
    if recent is not None and type(recent) is not int:
        accident = None if type(recent) is str else ()
        yield Violation(RECENT_NUMBER, named, "an int or None", repr(recent), incidental=accident)
    elif recent is not None and recent < 0:
        yield Violation(RECENT_WHOLE, named, "0 or more", str(recent))
    if recent != configured:
        yield Violation(RECENT_ASKED, named, str(configured), repr(recent))


def walk_origins(
    chunk: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None, where: str
) -> Found:
    """Yield whether a chunk's rows are the request's, each at its own position."""
    key, value = chunk["key"], chunk["value"]
    alike = is_tensor(value) and key.shape == value.shape
    if owner_of is None or not alike or "meta" in (key.device.type, value.device.type):
        reason = "whose rows they are can be told only by a stamp reader, and of whole chunks"
        yield from (Unchecked(clause, reason) for clause in (CHUNK_IDENTITY, ROW_POSITION))
        return
    for batch, (keys, values) in enumerate(zip(key.tolist(), value.tolist(), strict=True)):
        pairs = zip(keys, values, strict=True)
        origins = owner_of([(batch, *pair) for pair in pairs])
        foreign = [o for o in origins if o is None or o.owner != 0]
        if foreign:
            said = "no known stamp" if foreign[0] is None else str(foreign[0].owner)
            yield Violation(CHUNK_IDENTITY, where, "this request's rows", said)
            return
        if any(o is not None and o.position != chunk["start"] + t for t, o in enumerate(origins)):
            yield Violation(ROW_POSITION, where, "rows in their places", "moved rows")
            return
