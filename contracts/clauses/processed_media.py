"""Clauses of a processor's output: pixel features, the grids that cut them, and what follows.

In the order in which upstream meets them. Counts follow from the grids, and rows from the features
that the grids cut for each item. Refusals are returned, to each request of the batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.encoded_batch import BATCH_ITEM_COUNT, ROWS_COUNT
from contracts.clauses.token_rows import is_tensor
from contracts.contract import RETURNED, Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_SERVER_FILE = "srt/disaggregation/encoder/server.py"
_OLD_SERVER_FILE = "srt/disaggregation/encode_server.py"
_PREPROCESSOR_FILE = "srt/disaggregation/encoder/preprocessor.py"

#: Names that a processor may give the grids of pictures, in the order in which they are read.
_NAMES = ("image_grid_thw", "image_grid_hws", "grid_thws")
_FEATURES = ("pixel_values",)


def _there(text: str, file: str, symbol: str) -> tuple[Guard, ...]:
    older = text.replace("{attrs}", "{older}")
    return (
        Guard(RETURNED, text, Span("0.5.19"), Source("0.5.23", file, symbol)),
        Guard(
            RETURNED,
            older,
            Span(until="0.5.19"),
            Source("0.5.18", _OLD_SERVER_FILE, symbol.rpartition(".")[2]),
        ),
    )


GRIDS_THERE = Clause(
    "grids-there",
    "The output has grids under a name that is read.",
    guards=_there(
        "Grid dim ({attrs}) not found in ",
        _PREPROCESSOR_FILE,
        "EncoderPreprocessor._get_mm_grid_dim",
    ),
)
GRID_SIDES = Clause("grid-sides", "A grid has frames, rows and columns.", incidental=(RETURNED,))
FEATURES_THERE = Clause(
    "features-there",
    "The output has pixel features.",
    guards=_there("Feature attrs ({attrs}) not found in ", _SERVER_FILE, "_get_mm_feature"),
)
FEATURES_TENSOR = Clause(
    "features-tensor", "Pixel features are one tensor.", incidental=(RETURNED,)
)
GRID_ASKED = Clause("grid-asked", "Each grid is its picture's.")
NAMES_AGREE = Clause("names-agree", "Grids under several names are the same.")
MERGE_SIZE = Clause("merge-size", "The processor says by which size patches are merged.")
PATCH_COUNT = Clause("patch-count", "There are as many patches as the grids have.")
PATCH_IDENTITY = Clause(
    "patch-identity", "Patches stand in the order of the pictures.", identity=True
)

CLAUSES = (
    GRIDS_THERE,
    GRID_SIDES,
    FEATURES_THERE,
    BATCH_ITEM_COUNT,
    FEATURES_TENSOR,
    ROWS_COUNT,
    GRID_ASKED,
    NAMES_AGREE,
    MERGE_SIZE,
    PATCH_COUNT,
    PATCH_IDENTITY,
)
_Found = Iterator[Violation | Unchecked]


def walk_output(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    """Yield what a processor's output breaks.

    Args:
        payload: `fields` of the output, and the `merge_size` that the processor says.
        request: `grids` of the pictures, `items` (how many each request has), and the
            `merge_size` of the model.
        owner_of: Reads the token that each patch is a part of.
    """
    fields, grids = payload["fields"], None
    found = [fields[name] for name in _NAMES if fields.get(name) is not None]
    if not found:
        shown = {"attrs": repr(_NAMES), "older": repr(list(_NAMES))}
        yield Violation(GRIDS_THERE, "fields", "grids", ", ".join(fields), shown)
    elif found[0].shape[1] != 3:
        yield Violation(GRID_SIDES, "grids", "3 sides", str(found[0].shape[1]))
    else:
        grids = [tuple(int(side) for side in grid) for grid in found[0].tolist()]
    features, layout = fields.get(_FEATURES[0]), list(request["items"])
    if _FEATURES[0] not in fields:
        shown = {"attrs": repr(list(_FEATURES)), "older": repr(list(_FEATURES))}
        yield Violation(FEATURES_THERE, "fields", _FEATURES[0], ", ".join(fields), shown)
    if grids is not None and len(grids) != sum(layout):
        told = {"layout": layout, "expected": sum(layout), "got": len(grids)}
        yield Violation(BATCH_ITEM_COUNT, "grids", str(sum(layout)), str(len(grids)), told)
    if _FEATURES[0] in fields and not is_tensor(features):
        # Looked at only where they are cut.
        yield Violation(FEATURES_TENSOR, _FEATURES[0], "a tensor", type(features).__name__)
    if grids is None or not is_tensor(features):
        yield Unchecked(PATCH_IDENTITY, "there is nothing to cut, or nothing to cut it by")
        return
    yield from _walk_rows(len(features), grids, payload["merge_size"], request["merge_size"])
    yield from _walk_said(found, grids, payload, request)
    yield from _walk_patches(features, request, owner_of)


def _walk_rows(
    patches: int, grids: Sequence[tuple[int, ...]], said: int | None, merge: int
) -> _Found:
    """Compare what the model makes of the patches that it gets with what the grids promise."""
    # A size that is not said is taken for 2.
    area = (2 if said is None else said) ** 2
    sizes = [frames * rows * columns for frames, rows, columns in grids]
    expected = sum(size // area for size in sizes)
    made = -(-min(patches, sum(sizes)) // merge**2)
    if made != expected:
        told = {"got": made, "expected": expected}
        yield Violation(ROWS_COUNT, "rows", f"{expected} rows", str(made), told)


def _walk_said(
    found: Sequence[Any],
    grids: Sequence[tuple[int, ...]],
    payload: Mapping[str, Any],
    request: Mapping[str, Any],
) -> _Found:
    for index, (grid, asked) in enumerate(zip(grids, request["grids"], strict=False)):
        if grid != tuple(asked):
            yield Violation(GRID_ASKED, f"grids[{index}]", str(tuple(asked)), str(grid))
    if any(other.tolist() != found[0].tolist() for other in found[1:]):
        yield Violation(NAMES_AGREE, "fields", "one set of grids", "several")
    if payload["merge_size"] != request["merge_size"]:
        wanted, got = str(request["merge_size"]), str(payload["merge_size"])
        yield Violation(MERGE_SIZE, "merge_size", wanted, got)


def _walk_patches(features: Any, request: Mapping[str, Any], owner_of: OwnerOf | None) -> _Found:
    merge = request["merge_size"]
    sizes = [frames * rows * columns for frames, rows, columns in request["grids"]]
    if len(features) != sum(sizes):
        yield Violation(PATCH_COUNT, "features", str(sum(sizes)), str(len(features)))
    if owner_of is None:
        yield Unchecked(PATCH_IDENTITY, "whose patches they are can be told only by a stamp reader")
        return
    origins = owner_of(features.tolist())
    wanted = [(item, patch // merge**2) for item, size in enumerate(sizes) for patch in range(size)]
    for index, (want, got) in enumerate(zip(wanted, origins, strict=False)):
        if got is None or tuple(got) != want:
            said = "no known stamp" if got is None else f"token {got.position} of {got.owner}"
            place = f"token {want[1]} of item {want[0]}"
            yield Violation(PATCH_IDENTITY, f"features[{index}]", place, said)
            return
