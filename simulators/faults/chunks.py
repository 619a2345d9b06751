"""Faults of chunks on their way into a cache: where they go, what they are, what is seen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import CHUNKS, Payload

Chunk = dict[str, Any]


def chunk_becomes(edit: Callable[[Chunk], Chunk]) -> Change:
    """Return the fault that edits one chunk; an earlier fault may have made it uneditable."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        chunk = payload.records[at[0]]
        key = chunk["key"]
        if type(chunk["start"]) is not int or isinstance(key, list) or key.is_meta:
            return payload
        return payload.with_record(at[0], {**chunk, **edit(chunk)})

    return change


def cursor_becomes(cursor: tuple[int | None, int | None]) -> Change:
    """Return the fault that tells the cache other ends than its own."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "cursor": cursor})

    return change


def rows_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the key and the value of a chunk alike."""
    return chunk_becomes(lambda c: {"key": edit(c["key"]), "value": edit(c["value"])})


def value_becomes(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that edits the value of a chunk and not its key."""
    return chunk_becomes(lambda c: {"value": edit(c["value"])})


def start_becomes(edit: Callable[[int], Any]) -> Change:
    """Return the fault that says another start."""
    return chunk_becomes(lambda c: {"start": edit(c["start"])})


def second(count: int) -> Iterator[Place]:
    """Yield the second chunk, which has one before it; for what is alike wherever it stands."""
    return iter([(1,)] if count > 1 else [])


def _meta(rows: Any) -> Any:
    return rows.to("meta")


def _half(rows: Any) -> Any:
    return rows.half()


def _wider(rows: Any) -> Any:
    return rows.repeat_interleave(2, dim=-1)


def _chunk(name: str, kind: str, change: Change, picture: str, scope: str = "chunk") -> Fault:
    return Fault(name, kind, change, (CHUNKS,), each, picture, scope)


def _form(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (CHUNKS,), second, picture, scope="chunk")


def _cursor(name: str, kind: str, cursor: tuple[int | None, int | None], picture: str) -> Fault:
    return Fault(name, kind, cursor_becomes(cursor), (CHUNKS,), whole, picture, scope="cursor")


#: The rows of these faults in the table.
FAULTS = (
    _chunk("chunk-start-late", "skew", start_becomes(lambda s: s + 1), "[4, 8) -> [5, 9)"),
    _chunk("chunk-start-skipped", "skew", start_becomes(lambda s: s + 4), "[4, 8) -> [8, 12)"),
    _chunk("chunk-start-early", "skew", start_becomes(lambda s: s - 1), "[4, 8) -> [3, 7)"),
    _chunk("chunk-start-far", "skew", start_becomes(lambda s: s + 100), "[4, 8) -> [104, 108)"),
    _chunk("chunk-start-negative", "skew", start_becomes(lambda s: -s - 4), "[4, 8) -> [-8, -4)"),
    _form("chunk-start-float", "substitution", start_becomes(float), "start 4 -> start 4.0"),
    _form("chunk-start-none", "omission", start_becomes(lambda s: None), "start 4 -> no start"),
    _form("chunk-start-text", "substitution", start_becomes(str), 'start 4 -> start "4"'),
    _chunk("chunk-doubled", "merge", rows_become(lambda r: r.repeat(1, 4, 1, 1)),
           "4 tokens -> the same 4 times, 16 tokens"),
    _chunk("chunk-one-token-less", "truncation", rows_become(lambda r: r[:, :-1]),
           "4 tokens -> 3 tokens"),
    _chunk("chunk-empty", "truncation", rows_become(lambda r: r[:, :0]), "4 tokens -> no tokens"),
    _form("chunk-mirrored", "reordering", rows_become(lambda r: r.flip(1)),
           "tokens 1 2 3 4 -> 4 3 2 1"),
    _form("chunk-heads-swapped", "reordering", rows_become(lambda r: r.flip(2)),
           "heads 0 1 -> heads 1 0"),
    _form("chunk-batch-swapped", "reordering", rows_become(lambda r: r.flip(0)),
           "batch rows 0 1 -> 1 0"),
    _form("chunk-batch-one", "truncation", rows_become(lambda r: r[:1]),
           "2 batch rows -> 1 batch row"),
    _form("chunk-batch-three", "skew", rows_become(lambda r: r[[*range(len(r)), -1]]),
           "2 batch rows -> 3 batch rows"),
    _chunk("chunk-head-lost", "truncation", rows_become(lambda r: r[:, :, :1]),
           "2 heads -> 1 head"),
    _form("chunk-width-one", "truncation", rows_become(lambda r: r[..., :1]),
           "4 columns -> 1 column"),
    _form("chunk-wider", "skew", rows_become(_wider), "4 columns -> 8 columns"),
    _form("chunk-half", "substitution", rows_become(_half), "float32 -> float16"),
    _form("chunk-meta", "substitution", rows_become(_meta), "on the device -> on no device"),
    _form("chunk-list", "substitution", rows_become(lambda r: r.tolist()),
           "tensors -> lists of numbers"),
    _form("chunk-value-swapped", "reordering",
           chunk_becomes(lambda c: {"key": c["value"], "value": c["key"]}),
           "key, value -> value, key"),
    _form("chunk-value-short", "truncation", value_becomes(lambda v: v[:, :-1]),
           "4 keys, 4 values -> 4 keys, 3 values"),
    _form("chunk-value-one", "truncation", value_becomes(lambda v: v[:, :1]),
           "4 keys, 4 values -> 4 keys, 1 value"),
    _chunk("chunk-head-unnamed", "omission", chunk_becomes(lambda c: {"head_start": None}),
           "heads from 2 on -> from nowhere", scope="heads"),
    _chunk("chunk-head-past", "skew", chunk_becomes(lambda c: {"head_start": 3}),
           "heads 2 3 of 4 -> heads 3 4 of 4", scope="heads"),
    _chunk("chunk-head-other", "substitution", chunk_becomes(lambda c: {"head_start": 0}),
           "heads 2 3 -> heads 0 1", scope="heads"),
    _chunk("chunk-recent-negative", "skew", chunk_becomes(lambda c: {"recent": -1}),
           "all that are kept -> -1 tokens before the chunk"),
    _chunk("chunk-recent-zero", "truncation", chunk_becomes(lambda c: {"recent": 0}),
           "all that are kept -> no token before the chunk"),
    _chunk("chunk-recent-huge", "skew", chunk_becomes(lambda c: {"recent": 10**9}),
           "all that are kept -> 10**9 tokens before the chunk"),
    _form("chunk-recent-text", "substitution", chunk_becomes(lambda c: {"recent": "4"}),
           'all that are kept -> "4" tokens before the chunk'),
    _cursor("cursor-ahead", "skew", (8, 8), "ends 0, 0 -> ends 8, 8"),
    _cursor("cursor-far", "skew", (100, 0), "ends 0, 0 -> ends 100, 0"),
    _cursor("cursor-beyond", "skew", (8, 20), "ends 0, 0 -> ends 8, 20 of 12"),
)  # fmt: skip
