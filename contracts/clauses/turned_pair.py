"""Clauses of queries and keys that are turned as a pair, by one tensor of angles.

The order is that of upstream's `apply_flashinfer_rope_qk_inplace`. Two entries come to it: `pair`,
where there is no FlashInfer, and `flashinfer`. Only the second looks at the positions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Guard, Violation
from contracts.releases import EVER
from contracts.source import Source

_PAIR = Source(
    "0.5.23",
    "multimodal_gen/runtime/layers/rotary_embedding/utils.py",
    "apply_flashinfer_rope_qk_inplace",
)
_FOUR, _FLAT = 4, 2


def _of_pair(text: str) -> tuple[Guard, ...]:
    return (Guard("ValueError", text, EVER, _PAIR),)


PAIR_DIMENSIONS = Clause(
    "pair-dimensions",
    "Queries and keys are (batch, tokens, heads, head size).",
    guards=_of_pair(
        "Expected q/k to be 4D [bsz, seqlen, nheads, head_size], got q:{q} k:{k}",
    ),
)
PAIR_SHARED = Clause(
    "pair-shared",
    "Queries and keys share batch, tokens and head size.",
    guards=_of_pair("q and k must share batch, sequence, and head size, got {q} vs {k}"),
)
CACHE_FLAT = Clause(
    "cache-flat",
    "The angles are a tensor of two dimensions.",
    guards=_of_pair("cos_sin_cache must be a 2D torch.Tensor"),
)
ONE_DEVICE = Clause(
    "one-device",
    "Queries, keys and angles are on one device.",
    guards=_of_pair(
        "q, k, and cos_sin_cache must be on the same device, "
        "got q={q}, k={k}, cos_sin_cache={cache}",
    ),
)
CACHE_WIDTH = Clause(
    "cache-width",
    "The angles' width is even and no more than the head size.",
    guards=_of_pair("cos_sin_cache width must be even and <= head_size, got {width} vs {size}"),
)
HEAD_SIZE_TOLD = Clause(
    "head-size-told",
    "A head size that is told is that of the queries.",
    guards=_of_pair("head_size mismatch: inferred {size}, but head_size={told}"),
)
POSITIONS_FLAT = Clause(
    "positions-flat",
    "Positions for FlashInfer are a tensor of one dimension.",
    guards=_of_pair("positions must be a 1D Tensor"),
)
POSITIONS_COUNTED = Clause(
    "positions-counted",
    "There is a position for each row that FlashInfer turns.",
    guards=_of_pair("positions length must be bsz*seqlen={rows}, got {count}"),
)
POSITIONS_KIND = Clause("positions-kind", "Positions are a tensor.", incidental=("AttributeError",))
POSITIONS_FIT = Clause(
    "positions-fit", "There is a position for each row.", incidental=("RuntimeError",)
)
POSITIONS_WITHIN = Clause(
    "positions-within", "Each position is a row of the angles.", incidental=("IndexError",)
)
ANGLES_WIDTH = Clause(
    "angles-width", "Cosines and sines are half as wide as a head; as wide where interleaved."
)
ANGLES_ENOUGH = Clause("angles-enough", "There is an angle for each token of a sequence.")
POSITION_ASKED = Clause("position-asked", "The position of a row is that of its token.")
PAIR_CLAUSES = (
    PAIR_DIMENSIONS,
    PAIR_SHARED,
    CACHE_FLAT,
    ONE_DEVICE,
    CACHE_WIDTH,
    HEAD_SIZE_TOLD,
    POSITIONS_KIND,
    POSITIONS_FLAT,
    POSITIONS_COUNTED,
    POSITIONS_WITHIN,
    POSITIONS_FIT,
    POSITION_ASKED,
)


def walk_pair(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what a pair and its angles break, but for whose they are.

    Args:
        payload: `q`, `k`, `cache` (cosines before sines), `head_size` and `positions`.
        request: `entry` and `shape`, (batch, tokens, heads, head size).
    """
    yield from _walk_forms(payload)
    yield from _walk_turns(payload, request)


def _walk_forms(payload: Mapping[str, Any]) -> Iterator[Violation]:
    q, k, cache = payload["q"], payload["k"], payload["cache"]
    shapes = {"q": tuple(q.shape), "k": tuple(k.shape)}
    if any(len(shape) != _FOUR for shape in shapes.values()):
        yield Violation(PAIR_DIMENSIONS, "$", "4 dimensions of each", str(shapes), shapes)
    if q.shape[:2] != k.shape[:2] or q.shape[-1] != k.shape[-1]:
        yield Violation(PAIR_SHARED, "k", str(shapes["q"]), str(shapes["k"]), _of(q.shape, k.shape))
    if isinstance(cache, list) or len(cache.shape) != _FLAT:
        said = "a list" if isinstance(cache, list) else str(tuple(cache.shape))
        yield Violation(CACHE_FLAT, "cache", "2 dimensions", said)
        return
    devices = {"q": q.device, "k": k.device, "cache": cache.device}
    if len(set(devices.values())) > 1:
        yield Violation(ONE_DEVICE, "$", "one device", str(devices), devices)
    size, width, told = q.shape[-1], cache.shape[-1], payload["head_size"]
    if width % 2 or width > size:
        fields = {"width": width, "size": size}
        yield Violation(CACHE_WIDTH, "cache", f"even, up to {size}", str(width), fields)
    if told is not None and told != size:
        fields = {"told": told, "size": size}
        yield Violation(HEAD_SIZE_TOLD, "head_size", str(size), str(told), fields)


def _of(q: Any, k: Any) -> dict[str, object]:
    return {"q": q, "k": k}


def _walk_turns(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    q, cache, positions = payload["q"], payload["cache"], payload["positions"]
    if isinstance(cache, list) or len(cache.shape) != _FLAT or len(q.shape) != _FOUR:
        return
    size, tokens, (count, width) = q.shape[-1], q.shape[1], cache.shape
    if width < size:
        yield Violation(ANGLES_WIDTH, "cache", str(size), str(width))
    if positions is not None:
        yield from _walk_positions(positions, q.shape[0] * tokens, count, request)
    elif count < tokens:
        # As many numbers as there are are dealt out to the tokens, and one for each fits all pairs.
        fits = count * width // 2 == tokens
        accident = () if fits else ("RuntimeError",)
        wanted = f"{tokens} or more"
        yield Violation(ANGLES_ENOUGH, "cache", wanted, str(count), incidental=accident)


def _walk_positions(
    positions: Any, rows: int, count: int, request: Mapping[str, Any]
) -> Iterator[Violation]:
    by_flashinfer = request["entry"] == "flashinfer"
    is_list = isinstance(positions, list)
    if is_list and not by_flashinfer:
        yield Violation(POSITIONS_KIND, "positions", "a tensor", "a list")
    told = positions if is_list else positions.flatten().tolist()
    if by_flashinfer and (is_list or len(positions.shape) != 1):
        said = "a list" if is_list else str(tuple(positions.shape))
        yield Violation(POSITIONS_FLAT, "positions", "one dimension", said)
    if by_flashinfer and len(told) != rows:
        fields = {"rows": rows, "count": len(told)}
        yield Violation(POSITIONS_COUNTED, "positions", str(rows), str(len(told)), fields)
    for place, position in enumerate(told):
        if not 0 <= position < count:
            # Torch counts a negative one from the end.
            accident = () if -count <= position < count else ("IndexError",)
            at, wanted = f"positions[{place}]", f"0 to {count - 1}"
            yield Violation(POSITIONS_WITHIN, at, wanted, str(position), incidental=accident)
    if not by_flashinfer and len(told) != rows:
        accident = () if len(told) == 1 else ("RuntimeError",)
        said = str(len(told))
        yield Violation(POSITIONS_FIT, "positions", str(rows), said, incidental=accident)
    tokens = request["shape"][1]
    for row, position in enumerate(told[:rows]):
        if position != row % tokens:
            wanted = str(row % tokens)
            yield Violation(POSITION_ASKED, f"positions[{row}]", wanted, str(position))
            return
