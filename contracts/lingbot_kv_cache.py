"""lingbot-kv-cache: chunks of keys and values go into a cache, and attention sees a window of it.

- A chunk continues where the last one ended, or is the last one again: denoising writes the
  same chunk at each of its steps. The first one starts where the cache's cursors stand.
- A chunk is a key and a value, tensors of (batch, tokens, heads, width), alike in shape, with the
  cache's batch, heads and width, real numbers of the cache's type on its device.
- Where a chunk has only some of the cache's heads, it says which is the first.
- The range that a chunk is written to lies within the cache.
- How many tokens before a chunk are seen is what was configured.
- All chunks of the request come, each row is this request's, at its own position.

The payload holds `chunks`, each with `key`, `value`, `start`, `head_start` and `recent`, and
`cursor` (two ends as the cache is told them, absolute and within the cache; None where it reads
its own). The request says `chunks`, `tokens` (in a chunk), `batch`, `heads` (of the cache),
`chunk_heads`, `head_start`, `width`, `cache` (its size in tokens), `recent`, `dtype`, `device` and
`debug_name`.
"""

from collections.abc import Mapping
from typing import Any

from contracts.clauses.kv_chunk import (
    CACHE_FILE,
    CHUNK_DEVICE,
    CHUNK_DTYPE,
    CHUNK_IDENTITY,
    CHUNK_SHAPE,
    CHUNK_TENSORS,
    CHUNK_TOKENS,
    HEADS_OWN,
    HEADS_TOLD,
    RECENT_ASKED,
    RECENT_NUMBER,
    RECENT_WHOLE,
    ROW_POSITION,
    START_NUMBER,
    UPDATE,
    Found,
    unfit,
    walk_origins,
    walk_recent,
    walk_rows,
)
from contracts.contract import Clause, Contract, Guard, OwnerOf, Violation
from contracts.releases import EVER
from contracts.source import Source

CURSOR_TRUE = Clause("cursor-true", "The cursors say what the cache holds.")
RANGE_WITHIN = Clause(
    "range-within",
    "The range that a chunk is written to lies within the cache.",
    guards=(
        Guard(
            "RuntimeError",
            "Invalid {debug_name} write range: local=[{first}, {last}), global_end={end}, "
            "prev_local_end={held}, kv_cache_size={size}, num_new_tokens={tokens}, "
            "current_start={start}, current_end={stop}",
            EVER,
            Source("0.5.23", CACHE_FILE, UPDATE),
        ),
    ),
)
CHUNK_NEXT = Clause(
    "chunk-next", "A chunk continues where the last one ended, or is the last one again."
)
CHUNKS_ALL = Clause("chunks-all", "All chunks of the request come.")
_CLAUSES = (
    CURSOR_TRUE,
    CHUNK_TENSORS,
    HEADS_TOLD,
    START_NUMBER,
    RANGE_WITHIN,
    CHUNK_NEXT,
    CHUNK_TOKENS,
    HEADS_OWN,
    CHUNK_SHAPE,
    CHUNK_DTYPE,
    CHUNK_DEVICE,
    RECENT_NUMBER,
    RECENT_WHOLE,
    RECENT_ASKED,
    CHUNKS_ALL,
    CHUNK_IDENTITY,
    ROW_POSITION,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Found:
    cursor = payload["cursor"]
    end, held = (0, 0) if None in cursor else cursor
    if (end, held) != (0, 0):
        yield Violation(CURSOR_TRUE, "cursor", "(0, 0)", str(cursor))
    expected, last, come = 0, None, set()
    for index, chunk in enumerate(payload["chunks"]):
        where = f"chunks[{index}]"
        found = unfit(chunk, request, where)
        if found is not None:
            yield found
            return
        start, tokens = chunk["start"], chunk["key"].shape[1]
        first, after, holds = _written(start, tokens, (end, held), request["cache"])
        if first < 0 or first + tokens > request["cache"]:
            yield _outside(where, first, chunk, (end, held), request)
            return
        end, held = after, holds
        if start not in (expected, last):
            yield Violation(CHUNK_NEXT, where, str(expected), str(start))
        last, expected = start, start + tokens
        come.add(start)
        yield from walk_rows(chunk, request, where)
        yield from walk_recent(chunk["recent"], request["recent"], where)
        yield from walk_origins(chunk, request, owner_of, where)
    missing = {index * request["tokens"] for index in range(request["chunks"])} - come
    if missing:
        got = f"none at {', '.join(map(str, sorted(missing)))}"
        yield Violation(CHUNKS_ALL, "chunks", f"{request['chunks']} chunks", got)


def _written(start: int, tokens: int, cursor: tuple[int, int], size: int) -> tuple[int, int, int]:
    """Return the first row that a chunk is written to, and both ends after it."""
    end, held = cursor
    stop = start + tokens
    if stop <= end:
        return start - (end - held), end, held
    holds = min(held + stop - end, size)
    return holds - tokens, stop, holds


def _outside(
    where: str,
    first: int,
    chunk: Mapping[str, Any],
    cursor: tuple[int, int],
    request: Mapping[str, Any],
) -> Violation:
    tokens = chunk["key"].shape[1]
    fields = {
        "debug_name": request["debug_name"],
        "first": first,
        "last": first + tokens,
        "end": cursor[0],
        "held": cursor[1],
        "size": request["cache"],
        "tokens": tokens,
        "start": chunk["start"],
        "stop": chunk["start"] + tokens,
    }
    wanted, got = f"within 0 to {request['cache']}", f"{first} to {first + tokens}"
    return Violation(RANGE_WITHIN, where, wanted, got, fields)


CONTRACT = Contract(
    "lingbot-kv-cache",
    "Chunks of keys and values go into a cache, and attention sees a window of it.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
