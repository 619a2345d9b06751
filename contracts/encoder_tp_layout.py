"""encoder-tp-layout: the ranks of an encoder prepare a batch each, and run the model together.

- What one rank fails to prepare, or to announce, all ranks refuse, in its words and status.
- Layout, grids and counts are the same on every rank; nothing else of the batch is compared.
- Every rank gets the same features: the model joins what each makes of its own.
- Within one rank all holds that `contracts.clauses.prepared_batch` says.

The payload holds `ranks`, for each the part that `contracts.clauses.prepared_batch` describes; the
request is the one there. Rank 0 alone announces the size of a request, stages, and answers. In
0.5.19 no rank hears of another's error: the others wait in the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contracts.clauses.encoded_batch import ITEM_COUNT, SERVER_FILE
from contracts.clauses.prepared_batch import (
    CLAUSES,
    COUNTS_EACH,
    LAYOUT_EACH,
    LAYOUT_NUMBERS,
    MEDIA_KNOWN,
    MEDIA_READ,
    PREPROCESSOR_WORKS,
    walk_prepared,
)
from contracts.clauses.rank_group import REFUSED_TOGETHER, TOLD_ALIKE
from contracts.contract import (
    RETURNED,
    Clause,
    Contract,
    Guard,
    OwnerOf,
    Unchecked,
    Violation,
)
from contracts.releases import Span
from contracts.source import Source

_FROM = "0.5.20"
_STATUS = "MMEncoder._sync_tp_prepare_status"
_ALL_RANKS = "MMEncoder._prepare_encode_context_on_all_ranks"
_BAD_REQUEST, _INTERNAL = 400, 500


#: What a rank may fail in, and what is then told in the words of all.
_PREPARES = (
    "MMEncoder._prepare_encode_context",
    "EncoderPreprocessOutput.__init__",
    "EncoderPreprocessor._get_mm_grid_dim",
    "EncoderPreprocessor._kimi_hw_from_patch_grid",
    "_get_mm_feature",
)


def _shared(text: str, symbol: str, passes_on: tuple[str, ...] = ()) -> tuple[Guard, ...]:
    source = Source("0.5.23", SERVER_FILE, symbol)
    return (Guard(RETURNED, text, Span(_FROM), source, passes_on=passes_on),)


_WORDS = "{phase} failed on TP rank {rank}: {said}"
PREPARED_BY_ALL = Clause(
    "prepared-by-all", "Every rank prepares the batch.", guards=_shared(_WORDS, _STATUS, _PREPARES)
)
SIZES_ANNOUNCED = Clause(
    "sizes-announced",
    "Rank 0 can announce the size of each request.",
    guards=_shared(_WORDS, _STATUS, _PREPARES),
)
LAYOUTS_ALIKE = Clause(
    "layouts-alike",
    "Layout, grids and counts are the same on every rank.",
    guards=_shared(
        "Encoder preprocessing produced inconsistent layouts across TP ranks 0 and {rank}",
        _ALL_RANKS,
    ),
)
#: What a rank fails at before it hears of the others.
_READ = (MEDIA_READ, PREPROCESSOR_WORKS, MEDIA_KNOWN)
_LAID_OUT = (LAYOUT_EACH, ITEM_COUNT, COUNTS_EACH)
_Found = Iterator[Violation | Unchecked]


@dataclass(frozen=True)
class _Failure:
    rank: int
    clause: Clause
    phase: str
    said: str
    status: int


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    parts = payload["ranks"]
    each = [list(walk_prepared(part, request, owner_of)) for part in parts]
    own = [[v for v in found if isinstance(v, Violation)] for found in each]
    failures = [f for rank, found in enumerate(own) if (f := _failure(rank, found)) is not None]
    if failures:
        yield _told_to_all(failures)
    else:
        yield from _walk_alike(parts)
    yield from _walk_features(parts)
    yield from _walk_together(own)
    for rank, found in enumerate(each):
        for finding in found:
            if isinstance(finding, Unchecked):
                yield finding
            else:
                yield replace(finding, rank=rank, where=f"ranks[{rank}].{finding.where}")


def _failure(rank: int, found: Sequence[Violation]) -> _Failure | None:
    """Return what a rank fails at before the model runs, if it fails."""
    phase = "Encoder preprocessing"
    for violation in found:
        if violation.clause in _READ:
            status = _BAD_REQUEST if violation.clause is MEDIA_READ else _INTERNAL
            said = violation.refusal(violation.clause.guards[0])
            return _Failure(rank, PREPARED_BY_ALL, phase, said, status)
        if violation.clause in _LAID_OUT:
            said = violation.refusal(violation.clause.guards[0])
            said = f"{said} (status {_INTERNAL})"
            return _Failure(rank, PREPARED_BY_ALL, phase, said, _INTERNAL)
        if violation.clause is LAYOUT_NUMBERS and violation.actual == "None":
            # What follows are Python's words.
            return _Failure(rank, PREPARED_BY_ALL, phase, "", _INTERNAL)
        if violation.clause is LAYOUT_NUMBERS and rank == 0:
            return _Failure(rank, SIZES_ANNOUNCED, "Encoder metadata publication", "", _INTERNAL)
    return None


def _told_to_all(failures: Sequence[_Failure]) -> Violation:
    # An error that is not the request's goes before one that is.
    worst = next((f for f in failures if f.status != _BAD_REQUEST), failures[0])
    fields = {"phase": worst.phase, "rank": worst.rank, "said": worst.said}
    got = ", ".join(f"rank {failure.rank} fails" for failure in failures)
    return Violation(worst.clause, "ranks", "all ranks prepared", got, fields)


def _walk_alike(parts: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    first, *others = (_compared(part) for part in parts)
    for rank, other in enumerate(others, start=1):
        if other != first:
            yield Violation(LAYOUTS_ALIKE, "ranks", first, other, {"rank": rank})
            return


def _compared(part: Mapping[str, Any]) -> str:
    """Return what is compared between the ranks, kinds of numbers and all."""
    sides = [side for grid in part["grids"] for side in grid]
    # One float makes a tensor of floats.
    kind = float if any(isinstance(side, float) for side in sides) else int
    grids = [tuple(map(kind, grid)) for grid in part["grids"]]
    return f"layout {part['layout']}, counts {part['counts']}, grids {grids}"


def _walk_features(parts: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    if any(part["error"] is not None for part in parts):
        return
    first, *others = (part["features"] for part in parts)
    if any(other.tolist() != first.tolist() for other in others):
        # What a model does with other numbers of rows is an error, at best.
        sizes = {len(part["features"]) for part in parts}
        ends = (RETURNED,) if len(sizes) > 1 else ()
        yield Violation(TOLD_ALIKE, "ranks", "one set of features", "several", incidental=ends)


def _walk_together(own: Sequence[Sequence[Violation]]) -> Iterator[Violation]:
    ends = [next((v.clause.name for v in found if _ends(v)), None) for found in own]
    if len(set(ends)) > 1:
        got = ", ".join(f"rank {rank} for {name}" for rank, name in enumerate(ends) if name)
        yield Violation(REFUSED_TOGETHER, "ranks", "by all or none", got, incidental=(RETURNED,))


def _ends(violation: Violation) -> bool:
    return bool(violation.clause.guards or violation.clause.incidental)


CONTRACT = Contract(
    "encoder-tp-layout",
    "The ranks of an encoder prepare a batch each, and run the model together.",
    (
        PREPARED_BY_ALL,
        SIZES_ANNOUNCED,
        LAYOUTS_ALIKE,
        TOLD_ALIKE,
        REFUSED_TOGETHER,
        *CLAUSES,
    ),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
