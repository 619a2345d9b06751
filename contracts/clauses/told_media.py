"""Clauses of counting: what is told of media becomes counts, and the model makes rows of them.

In the order in which upstream meets them. Refusals are returned, to each request of the batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.encoded_batch import (
    AS_ANNOUNCED,
    BATCH_ITEM_COUNT,
    ROWS_COUNT,
    walk_announced,
)
from contracts.clauses.encoded_rows import ROW_IDENTITY, walk_counts, walk_identity
from contracts.clauses.processed_media import GRIDS_THERE, MERGE_SIZE
from contracts.clauses.token_rows import is_tensor
from contracts.clauses.token_rules import IN_TOKENS, KIMI, counted
from contracts.contract import RETURNED, Clause, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_PREPROCESSOR_FILE = "srt/disaggregation/encoder/preprocessor.py"
_OLD_SERVER_FILE = "srt/disaggregation/encode_server.py"
_KIMI = "Invalid Kimi image grid metadata: {values}; expected [h, w] or [t, h, w]"
_SYMBOL = "_kimi_hw_from_patch_grid"

#: Names that are read, by medium, in the order of the server's text.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "image": ("image_grid_thw", "image_grid_hws", "grid_thws"),
    "video": ("video_grid_thw",),
    "audio": ("audio_feature_lens_raw",),
}
#: The order in which they are read for a model, from 0.5.17 on. Before, Kimi-VL's was Kimi K2.5's.
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "kimi_vl": ("image_grid_hws", "image_grid_thw", "grid_thws"),
    "kimi_k25": ("grid_thws", "image_grid_thw", "image_grid_hws"),
}
#: Sides of a grid that are read.
_SIDES = 3


_KIMI_NOW = Guard(
    RETURNED,
    _KIMI,
    Span("0.5.19"),
    Source("0.5.23", _PREPROCESSOR_FILE, f"EncoderPreprocessor.{_SYMBOL}"),
)
_KIMI_BEFORE = Guard(
    RETURNED,
    _KIMI,
    Span("0.5.17", "0.5.19"),
    Source("0.5.18", _OLD_SERVER_FILE, f"MMEncoder.{_SYMBOL}"),
)

KIMI_SIDES = Clause(
    "kimi-sides",
    "A grid of Kimi's has two sides or three.",
    guards=(_KIMI_NOW, _KIMI_BEFORE),
    incidental=(RETURNED,),
)
#: Kimi K2.5's patches are cut by three sides; before 0.5.19 that comes before they are counted.
KIMI_CUT_SIDES = Clause(
    "kimi-cut-sides",
    "A grid of Kimi K2.5 has three sides.",
    guards=(_KIMI_NOW,),
    incidental=(RETURNED,),
)
KIMI_FRAMES = Clause(
    "kimi-frames",
    "A grid of Kimi-VL has frames, rows and columns.",
    incidental=(RETURNED,),
    # From there on rows and columns do.
    accidents=Span(until="0.5.17"),
)
GRID_SIDES = Clause(
    "grid-sides", "A grid has frames, rows and columns, and no more.", incidental=(RETURNED,)
)
ONE_LENGTH = Clause("one-length", "A sound has one length.", incidental=(RETURNED,))
GRIDS_TENSOR = Clause("grids-tensor", "Grids are one tensor.", incidental=(RETURNED,))
LENGTHS_TENSOR = Clause(
    "lengths-tensor",
    "Lengths are one tensor.",
    incidental=(RETURNED,),
    # From there on lists are made tensors before they are counted.
    accidents=Span(until="0.5.17"),
)
TOLD_ASKED = Clause("told-asked", "Each grid, and each length, is its medium's.")
NAMES_AGREE = Clause("names-agree", "Grids under several names are the same.")

KERNEL = Clause("kernel", "The configuration says how many patches the model makes one row of.")
MODEL_NAMED = Clause("model-named", "The server knows the model by its type.")
COUNT_ASKED = Clause("count-asked", "Each medium has as many tokens as the rule of its model says.")
ROWS_ASKED = Clause("rows-asked", "The model makes as many rows of each medium as its rule says.")

CLAUSES = (
    GRIDS_THERE,
    KIMI_SIDES,
    KIMI_CUT_SIDES,
    KIMI_FRAMES,
    GRID_SIDES,
    ONE_LENGTH,
    BATCH_ITEM_COUNT,
    GRIDS_TENSOR,
    LENGTHS_TENSOR,
    ROWS_COUNT,
    AS_ANNOUNCED,
    MODEL_NAMED,
    KERNEL,
    MERGE_SIZE,
    NAMES_AGREE,
    TOLD_ASKED,
    COUNT_ASKED,
    ROWS_ASKED,
    ROW_IDENTITY,
)
_Found = Iterator[Violation | Unchecked]


def walk_told(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    """Yield what telling, counting and making break.

    Args:
        payload: `fields` of grids or lengths by name; `model`, `merge_size` and `kernel` as the
            server is told them; `rows` that the model makes, and `made`, how many of each medium.
        request: `model`, `medium`, `merge_size` and `kernel` as they are; `told` and `counts` of
            each medium by the model's rule; `items` (how many each request has), their `names`, and
            `width` and `dtype` of the model's rows.
        owner_of: Reads the stamps of a list of rows.
    """
    model, medium = payload["model"], request["medium"]
    order = _ORDERS.get(model, _NAMES["image"]) if medium == "image" else _NAMES[medium]
    found = [payload["fields"][name] for name in order if name in payload["fields"]]
    counts = None
    if not found:
        shown = {"attrs": repr(_NAMES[medium]), "older": repr(list(_NAMES[medium]))}
        yield Violation(GRIDS_THERE, "fields", "grids", ", ".join(payload["fields"]), shown)
    else:
        told = [_sides(one) for one in _listed(found[0])]
        wrong = list(_walk_sides(told, model, medium))
        yield from wrong
        yield from _walk_layout(len(told), request["items"])
        yield from _walk_form(found[0], model, medium)
        if any(finding.incidental != () for finding in wrong if finding.clause is not KIMI_FRAMES):
            yield Unchecked(COUNT_ASKED, "there is nothing to count by")
        else:
            merge = 2 if payload["merge_size"] is None else payload["merge_size"]
            counts = [counted(one, model, medium, merge, payload["kernel"]) for one in told]
            yield from _walk_total(sum(payload["made"]), sum(counts))
            if len(counts) == sum(request["items"]):
                yield from walk_announced(payload["rows"], counts, request)
    yield from _walk_said(payload, request)
    if any(_listed(other) != _listed(found[0]) for other in found[1:]):
        yield Violation(NAMES_AGREE, "fields", "one set of grids", "several")
    if found:
        yield from _walk_asked([_sides(one) for one in _listed(found[0])], request)
    if counts is not None:
        yield from (
            Violation(COUNT_ASKED, one.where, one.expected, one.actual)
            for one in walk_counts(counts, request["counts"])
        )
    for index, (made, want) in enumerate(zip(payload["made"], request["counts"], strict=True)):
        if made != want:
            yield Violation(ROWS_ASKED, f"made[{index}]", str(want), str(made))
    every = range(len(request["counts"]))
    yield from walk_identity(payload["rows"], every, request["counts"], owner_of)


def _listed(told: Any) -> list[Any]:
    return list(told.tolist()) if is_tensor(told) else list(told)


def _sides(told: Any) -> list[Any]:
    return list(told) if isinstance(told, list) else [told]


def _walk_sides(told: Sequence[Sequence[Any]], model: str, medium: str) -> Iterator[Violation]:
    few = next((one for one in told if len(one) != (1 if medium == "audio" else _SIDES)), None)
    if few is None:
        return
    said, fields = f"{len(few)} sides", {"values": str(list(few))}
    if medium == "audio":
        yield Violation(ONE_LENGTH, "lengths", "one length", said)
    elif model not in KIMI or medium != "image":
        # What is more is not looked at.
        more = () if len(few) > _SIDES else None
        yield Violation(GRID_SIDES, "grids", "3 sides", said, incidental=more)
    elif len(few) > _SIDES:
        # Before there was a guard, the first three were taken.
        yield Violation(KIMI_SIDES, "grids", "2 or 3 sides", said, fields, incidental=())
    elif len(few) < 2:
        clause = KIMI_SIDES if model == "kimi_vl" else KIMI_CUT_SIDES
        yield Violation(clause, "grids", "2 or 3 sides", said, fields)
    elif model == "kimi_vl":
        yield Violation(KIMI_FRAMES, "grids", "3 sides", said)
    else:
        yield Violation(GRID_SIDES, "grids", "3 sides", said)


def _walk_layout(got: int, layout: Sequence[int]) -> Iterator[Violation]:
    if got != sum(layout):
        told = {"layout": list(layout), "expected": sum(layout), "got": got}
        yield Violation(BATCH_ITEM_COUNT, "grids", str(sum(layout)), str(got), told)


def _walk_form(told: Any, model: str, medium: str) -> Iterator[Violation]:
    if not is_tensor(told):
        clause = LENGTHS_TENSOR if medium == "audio" else GRIDS_TENSOR
        # Items that are kept apart are not picked by a list of indices.
        apart = () if model == IN_TOKENS else None
        yield Violation(clause, "fields", "a tensor", "a list", incidental=apart)


def _walk_total(made: int, expected: int) -> Iterator[Violation]:
    if made != expected:
        fields = {"got": made, "expected": expected}
        yield Violation(ROWS_COUNT, "rows", f"{expected} rows", str(made), fields)


def _walk_said(payload: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Violation]:
    for clause, name in ((MODEL_NAMED, "model"), (KERNEL, "kernel"), (MERGE_SIZE, "merge_size")):
        if payload[name] != request[name]:
            yield Violation(clause, name, str(request[name]), str(payload[name]))


def _walk_asked(told: Sequence[Sequence[Any]], request: Mapping[str, Any]) -> Iterator[Violation]:
    for index, (one, asked) in enumerate(zip(told, request["told"], strict=False)):
        # Kimi reads rows and columns alone, too.
        short = request["model"] in KIMI and list(one) == list(asked)[1:] and asked[0] == 1
        if list(one) != list(asked) and not short:
            yield Violation(TOLD_ASKED, f"told[{index}]", str(list(asked)), str(list(one)))
