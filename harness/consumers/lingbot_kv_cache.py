"""lingbot-kv-cache: upstream's cache of keys and values takes chunks and shows a window of them.

Driven: `CausalSelfAttentionKVCache.update_and_get_attention_kv`, once for each chunk, on one
cache, built as the denoising stage builds it. Nothing is provided: the file needs torch alone.

A chunk that is written again shows its window again; the last one counts, as in denoising. In the
words of a verdict the rows of a window are counted by their positions in the sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.outcome import NOTHING, Passed, Run, Span, Whose
from harness.upstream.loading import Needs, Upstream
from simulators.kv_chunks import BATCH, COLUMNS, TOKENS, RowReader, honest_chunks
from simulators.payload import CHUNKS

#: Tokens that the cache keeps.
CACHE = 12
_DEBUG_NAME = "LingBot KV cache"
_CHUNK_HEADS = 2
#: With a part of the heads: those of the cache, and the first one of ours.
_ALL_HEADS, _FIRST_HEAD = 4, 2
_OURS = "this request"
#: Owner of the zeros that a new cache holds.
_UNWRITTEN = "the empty cache"


class LingbotKvCache:
    """The consumer of lingbot-kv-cache."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = device
        self._module = upstream.load(Needs(module))

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the chunks as they would come to the cache."""
        return _passed(dims, lie, self._device)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return which windows the cache showed."""
        passed = _passed(dims, lie, self._device)
        cache = self._cache(passed, int(dims["sink"]))

        def call() -> Output:
            views = [self._taken(cache, chunk) for chunk in passed.payload["chunks"]]
            return _read(views, cache, passed, int(dims["sink"]))

        return Run(outcome_of(self._upstream, call), passed)

    def _taken(self, cache: Any, chunk: Mapping[str, Any]) -> Mapping[str, Any]:
        view = cache.update_and_get_attention_kv(
            key=chunk["key"],
            value=chunk["value"],
            current_chunk_start=chunk["start"],
            cache_head_start=chunk["head_start"],
            recent_window_tokens=chunk["recent"],
            debug_name=_DEBUG_NAME,
        )
        # The window is a view of the cache, and the next chunk moves what it shows.
        bounds = (view.local_start_index, view.local_end_index)
        ends = (view.visible_local_end, view.visible_global_end)
        said = "rows {} to {}, ends {} and {}".format(*bounds, *ends)
        return {"k": view.k.clone(), "v": view.v.clone(), "range": said}

    def _cache(self, passed: Passed, sink: int) -> Any:
        shape = (BATCH, CACHE, passed.request["heads"], COLUMNS)
        end, held = passed.payload["cursor"]
        return self._module.CausalSelfAttentionKVCache(
            k=torch.zeros(shape, device=self._device),
            v=torch.zeros(shape, device=self._device),
            global_end_index=torch.zeros(1, dtype=torch.long, device=self._device),
            local_end_index=torch.zeros(1, dtype=torch.long, device=self._device),
            global_end_index_int=end,
            local_end_index_int=held,
            cache_size=CACHE,
            sink_tokens=sink,
            attention_window_size=CACHE,
        )


def _passed(dims: Mapping[str, str], lie: Lie, device: str) -> Passed:
    part = dims["heads"] == "part"
    first = _FIRST_HEAD if part else None
    recent = None if dims["recent"] == "none" else int(dims["recent"])
    count = int(dims["records"])
    payload = lie.told(honest_chunks(count, _CHUNK_HEADS, first, recent))
    chunks = [_on(device, chunk) for chunk in payload.records]
    request = {
        "chunks": count,
        "tokens": TOKENS,
        "batch": BATCH,
        "heads": _ALL_HEADS if part else _CHUNK_HEADS,
        "chunk_heads": _CHUNK_HEADS,
        "head_start": first,
        "width": COLUMNS,
        "cache": CACHE,
        "recent": recent,
        "dtype": "torch.float32",
        "device": torch.device(device).type,
        "debug_name": _DEBUG_NAME,
    }
    assert payload.form == CHUNKS
    told = {"chunks": chunks, "cursor": payload.beside["cursor"]}
    heads = range(first or 0, (first or 0) + _CHUNK_HEADS)
    return Passed(told, request, RowReader(heads))


def _on(device: str, chunk: Mapping[str, Any]) -> dict[str, Any]:
    def moved(rows: Any) -> Any:
        is_here = isinstance(rows, torch.Tensor) and rows.device.type != "meta"
        return rows.to(device) if is_here else rows

    return {**chunk, "key": moved(chunk["key"]), "value": moved(chunk["value"])}


def _read(views: Sequence[Mapping[str, Any]], cache: Any, passed: Passed, sink: int) -> Output:
    shown = _by_chunk(views, passed)
    facts = {"the other heads": _others(cache, passed.request)}
    found: list[Span] = []
    for index in range(passed.request["chunks"]):
        start = index * TOKENS
        view = shown.get(index)
        place = f"the window of chunk {index}"
        wants = [Whose(_OURS, position) for position in _window(start, passed.request, sink)]
        has: list[Whose | None] = []
        if view is not None:
            has = _whose(view["k"], view["v"], passed)
            shape = (view["k"].shape[0], *view["k"].shape[2:])
            facts[f"the size of {place}"] = f"{len(has)} tokens"
            facts[f"the form of {place}"] = f"{shape} {view['k'].dtype} {view['v'].dtype}"
            facts[f"the place of chunk {index}"] = view["range"]
        runs = spans(place, wants, _aligned(wants, has), unit="rows")
        found += [replace(run, first=run.wants.position) for run in runs]
    return Output(tuple(found), facts, [view["k"] for view in views])


def _by_chunk(views: Sequence[Mapping[str, Any]], passed: Passed) -> dict[int, Mapping[str, Any]]:
    """Return the last window of each chunk; one with no chunk's start is its place's."""
    shown, strays = {}, {}
    for index, (view, chunk) in enumerate(zip(views, passed.payload["chunks"], strict=True)):
        number, rest = divmod(chunk["start"], TOKENS)
        if rest or not 0 <= number < passed.request["chunks"]:
            strays[index] = view
        else:
            shown[number] = view
    return {**strays, **shown}


def _aligned(wants: Sequence[Whose], has: Sequence[Whose | None]) -> list[Whose | None]:
    """Return what stands at each wanted place; where rows are missing, the gap is where it fits."""
    found: list[Whose | None] = []
    taken = 0
    for index, want in enumerate(wants):
        left = len(has) - taken
        if left and (has[taken] == want or left >= len(wants) - index):
            found.append(has[taken])
            taken += 1
        else:
            found.append(NOTHING)
    return found


def _window(start: int, request: Mapping[str, Any], sink: int) -> list[int]:
    """Return the positions that a chunk sees: the sink, and what is recent and still kept."""
    stop = start + TOKENS
    kept = range(max(0, stop - (CACHE - sink)), stop) if stop > CACHE else range(stop)
    recent = CACHE if request["recent"] is None else request["recent"]
    seen = {position for position in kept if position >= start - recent}
    return sorted(seen | set(range(min(sink, stop))))


def _whose(keys: Any, values: Any, passed: Passed) -> list[Whose | None]:
    assert passed.owner_of is not None
    lanes = []
    for batch in range(keys.shape[0]):
        rows = zip(keys[batch].tolist(), values[batch].tolist(), strict=True)
        lanes.append(passed.owner_of([(batch, *pair) for pair in rows]))
    empty = [not keys[:, i].any() and not values[:, i].any() for i in range(keys.shape[1])]
    return [_one(set(origins), index, empty[index]) for index, origins in enumerate(_turned(lanes))]


def _turned(lanes: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*lanes, strict=True))


def _one(origins: set[Any], index: int, empty: bool) -> Whose | None:
    if empty:
        return Whose(_UNWRITTEN, index)
    origin = origins.pop()
    if origins or origin is None:
        return None
    return Whose(_OURS if origin.owner == 0 else str(origin.owner), origin.position)


def _others(cache: Any, request: Mapping[str, Any]) -> str:
    first = request["head_start"]
    if first is None:
        return "none"
    touched = cache.k[:, :, :first].any() or cache.v[:, :, :first].any()
    return "written" if touched else "untouched"
