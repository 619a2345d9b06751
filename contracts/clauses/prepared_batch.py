"""Clauses of a prepared batch: what a preprocessor hands to the encoder for several requests.

In the order in which upstream meets them: whether it is prepared at all, the layout, the grids,
the counts, and what is cut for each request. Refusals are returned to each request, and say the
status beside their text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.encoded_batch import ITEM_COUNT, ROWS_COUNT, SERVER_FILE
from contracts.clauses.encoded_rows import COUNT_ASKED, walk_counts
from contracts.clauses.processed_media import GRID_ASKED
from contracts.contract import RETURNED, Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FROM = "0.5.19"
#: From here on an error of the preprocessor's own is not the request's fault.
_TOLD_APART = "0.5.20"
_SYMBOL = "MMEncoder._prepare_encode_context"
_SOURCE = Source("0.5.23", SERVER_FILE, _SYMBOL)
_OLD_SOURCE = Source("0.5.19", SERVER_FILE, _SYMBOL)
#: Whose fault an error is, by its type: the request's, or else the preprocessor's.
_REQUESTS = ("ValueError", "TypeError")
_UNWRITTEN = "NotImplementedError"


#: What the preprocessor itself refuses while it reads the media.
_READING = (
    "EncoderPreprocessor._get_mm_grid_dim",
    "EncoderPreprocessor._kimi_hw_from_patch_grid",
    "EncoderPreprocessOutput.__init__",
)


def _failed(
    text: str, span: Span, source: Source, which: int = 0, passes_on: tuple[str, ...] = ()
) -> Guard:
    return Guard(RETURNED, text, span, source, which=which, passes_on=passes_on)


MEDIA_READ = Clause(
    "media-read",
    "The preprocessor can read the media.",
    guards=(
        _failed("Failed to process mm items: {said}", Span(_FROM), _SOURCE, passes_on=_READING),
    ),
)
PREPROCESSOR_WORKS = Clause(
    "preprocessor-works",
    "The preprocessor has no error of its own.",
    guards=(
        _failed("Failed to process mm items: {said}", Span(_TOLD_APART), _SOURCE, which=1),
        _failed("Failed to process mm items: {older}", Span(_FROM, _TOLD_APART), _OLD_SOURCE),
    ),
)
MEDIA_KNOWN = Clause(
    "media-known",
    "The preprocessor is written for the media.",
    guards=(_failed("Not implemented error: {said}", Span(_FROM), _SOURCE),),
)
LAYOUT_EACH = Clause(
    "layout-each",
    "The layout has a positive count of items for each request.",
    guards=(
        _failed("Invalid batch layout {layout} for {requests} requests", Span(_FROM), _SOURCE),
    ),
)
LAYOUT_NUMBERS = Clause("layout-numbers", "The layout is of whole numbers.", incidental=(RETURNED,))
COUNTS_EACH = Clause(
    "counts-each",
    "There is one token count for each grid.",
    guards=(
        _failed(
            "Preprocessor returned {got} token counts for {expected} {modality} grid entries",
            Span(_FROM),
            _SOURCE,
        ),
    ),
)
LAYOUT_ASKED = Clause("layout-asked", "Each request has as many items as it asked for.")
OWN_ROWS = Clause("own-rows", "Each request gets the rows of its own items.", identity=True)

CLAUSES = (
    MEDIA_READ,
    PREPROCESSOR_WORKS,
    MEDIA_KNOWN,
    LAYOUT_EACH,
    ITEM_COUNT,
    COUNTS_EACH,
    LAYOUT_NUMBERS,
    ROWS_COUNT,
    LAYOUT_ASKED,
    GRID_ASKED,
    COUNT_ASKED,
    OWN_ROWS,
)
_Found = Iterator[Violation | Unchecked]


def walk_prepared(
    part: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    """Yield what a prepared batch breaks.

    Args:
        part: `error` (its type and text, or None), `layout` (how many items each request is said
            to have), `grids`, `counts`, and the `features`, (patches, width).
        request: `items` (how many each request asked for), `grids` and `counts` of their pictures,
            and the `merge_size` of the model.
        owner_of: Reads the token that each patch is a part of.
    """
    if part["error"] is not None:
        yield _error(*part["error"])
        yield Unchecked(OWN_ROWS, "nothing was prepared")
        return
    yield from walk_layout(part, len(request["items"]))
    yield from _walk_rows(part, request)
    yield from _walk_asked(part, request)
    yield from _walk_owners(part, request, owner_of)


def _error(kind: str, text: str) -> Violation:
    status = 400 if kind in _REQUESTS else 500
    fields = {"said": f"{text} (status {status})", "older": f"{text} (status 400)"}
    clause = PREPROCESSOR_WORKS
    if kind in _REQUESTS:
        clause = MEDIA_READ
    elif kind == _UNWRITTEN:
        clause = MEDIA_KNOWN
    return Violation(clause, "$", "a prepared batch", kind, fields)


def walk_layout(part: Mapping[str, Any], requests: int) -> Iterator[Violation]:
    """Yield what is broken before the model runs: layout, grids and counts do not fit."""
    layout, grids, counts = part["layout"], part["grids"], part["counts"]
    fields: dict[str, object] = {"layout": layout, "requests": requests}
    if len(layout) != requests:
        yield Violation(LAYOUT_EACH, "layout", f"{requests} counts", str(len(layout)), fields)
    for index, items in enumerate(layout):
        place = f"layout[{index}]"
        if items is None:
            yield Violation(LAYOUT_NUMBERS, place, "an int", "None")
            return
        if items <= 0:
            yield Violation(LAYOUT_EACH, place, "1 or more", str(items), fields)
    if sum(layout) != len(grids):
        told = {"layout": layout, "expected": sum(layout), "got": len(grids)}
        yield Violation(ITEM_COUNT, "grids", str(sum(layout)), str(len(grids)), told)
    if len(counts) != len(grids):
        told = {"got": len(counts), "expected": len(grids), "modality": "image"}
        yield Violation(COUNTS_EACH, "counts", str(len(grids)), str(len(counts)), told)
    for index, items in enumerate(layout):
        if not isinstance(items, int):
            yield Violation(LAYOUT_NUMBERS, f"layout[{index}]", "an int", str(items))


def _walk_rows(part: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    sizes = [int(frames * rows * columns) for frames, rows, columns in part["grids"]]
    made = -(-min(len(part["features"]), sum(sizes)) // request["merge_size"] ** 2)
    expected = sum(part["counts"])
    if made != expected:
        fields = {"got": made, "expected": expected}
        yield Violation(ROWS_COUNT, "rows", f"{expected} rows", str(made), fields)


def _walk_asked(part: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    if part["layout"] != request["items"]:
        wanted, got = str(request["items"]), str(part["layout"])
        yield Violation(LAYOUT_ASKED, "layout", wanted, got)
    for index, (grid, asked) in enumerate(zip(part["grids"], request["grids"], strict=False)):
        if tuple(grid) != tuple(asked):
            yield Violation(GRID_ASKED, f"grids[{index}]", str(tuple(asked)), str(tuple(grid)))
    yield from walk_counts(part["counts"], request["counts"])


def _walk_owners(
    part: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    if owner_of is None:
        yield Unchecked(OWN_ROWS, "whose rows they are can be told only by a stamp reader")
        return
    if not _can_be_cut(part["layout"]):
        yield Unchecked(OWN_ROWS, "nothing can be cut by this layout")
        return
    read = owner_of(part["features"][:: request["merge_size"] ** 2].tolist())
    has = [None if origin is None else tuple(origin) for origin in read]
    cuts = zip(
        _cut(has, part["counts"], part["layout"]),
        _cut(_wanted(request["counts"]), request["counts"], request["items"]),
        strict=False,
    )
    for index, (got, want) in enumerate(cuts):
        if got != want:
            said = f"{len(got)} rows, of items {_items(got)}"
            yield Violation(
                OWN_ROWS, f"rows of request {index}", f"{len(want)} of {_items(want)}", said
            )
            return


def _can_be_cut(layout: Sequence[Any]) -> bool:
    return all(isinstance(items, int) and items > 0 for items in layout)


def _wanted(counts: Sequence[int]) -> list[Any]:
    return [(item, row) for item, count in enumerate(counts) for row in range(count)]


def _cut(rows: Sequence[Any], counts: Sequence[int], layout: Sequence[int]) -> list[Sequence[Any]]:
    """Return the rows of each request, as counts and layout cut them."""
    found, item, row = [], 0, 0
    for items in layout:
        taken = sum(counts[item : item + items])
        found.append(rows[row : row + taken])
        item, row = item + items, row + taken
    return found


def _items(rows: Sequence[Any]) -> str:
    named = [str(row[0]) if row is not None else "nobody known" for row in rows]
    return ", ".join(dict.fromkeys(named)) or "none"
