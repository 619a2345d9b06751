"""Faults of counting: rows made by another honest rule, and grids and lengths told otherwise."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, ordered_pairs, pairs, whole
from simulators.payload import TALLY, Payload

#: What is told of one medium: a grid, or a length.
Told = tuple[Any, ...]


def told_becomes(edit: Callable[[Told], Told | None]) -> Change:
    """Return the fault that tells otherwise of one medium, if anything is told of it."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        item = payload.records[at[0]]
        if not item.told:
            return payload
        return payload.with_record(at[0], item._replace(told=edit(item.told)))

    return change


def all_told_become(edit: Callable[[Told], Told]) -> Change:
    """Return the fault that tells otherwise of all media of which anything is told."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records(
            [item._replace(told=edit(item.told)) if item.told else item for item in payload.records]
        )

    return change


def two_told_become(edit: Callable[[Told, Told], tuple[Told, Told]]) -> Change:
    """Return the fault that tells otherwise of two media, if both have their sides."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[index] for index in at)
        if not one.told or not two.told or len(one.told) != len(two.told):
            return payload
        first, second = edit(one.told, two.told)
        changed = payload.with_record(at[0], one._replace(told=first))
        return changed.with_record(at[1], two._replace(told=second))

    return change


def made_by(**rules: Any) -> Change:
    """Return the fault by which the model makes rows by another rule than is counted by."""
    return beside_becomes("made_by", lambda own: replace(own, **rules))


def beside_becomes(name: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that tells otherwise what holds for all media."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, name: edit(payload.beside[name])})

    return change


def stale_under(name: str) -> Change:
    """Return the fault by which the grids of a batch before stand under a name too."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = tuple(item.told for item in payload.records[::-1] if item.told)
        if not told:
            return payload
        stale = (*payload.beside["stale"], (name, told))
        return replace(payload, beside={**payload.beside, "stale": stale})

    return change


def _last(by: float) -> Callable[[Told], Told]:
    return lambda told: (*told[:-1], told[-1] + by)


def _frames(by: int) -> Callable[[Told], Told]:
    return lambda told: (told[0] + by, *told[1:])


def _moved(by: int) -> Change:
    return two_told_become(lambda one, two: (_last(by)(one), _last(-by)(two)))


def _frames_moved(one: Told, two: Told) -> tuple[Told, Told]:
    return _frames(1)(one), _frames(-1)(two)


def _pooled_moved(one: Told, two: Told) -> tuple[Told, Told]:
    # What pooling takes from the one is told of the other.
    return (1, *one[1:]), _frames(one[0] - 1)(two)


def _of_another(name: str | None) -> str:
    """Return the name under which another medium is told."""
    return {"video_grid_thw": "audio_feature_lens_raw"}.get(name or "", "video_grid_thw")


def _made(name: str, picture: str, **rules: Any) -> Fault:
    return Fault(name, "skew", made_by(**rules), (TALLY,), whole, picture, scope="made")


def _one(name: str, kind: str, edit: Callable[[Told], Told | None], picture: str) -> Fault:
    return Fault(name, kind, told_becomes(edit), (TALLY,), each, picture, scope="told")


def _all(name: str, kind: str, edit: Callable[[Told], Told], picture: str) -> Fault:
    return Fault(name, kind, all_told_become(edit), (TALLY,), whole, picture, scope="sides")


def _two(name: str, kind: str, change: Change, picture: str) -> Fault:
    places = pairs if kind == "reordering" else ordered_pairs
    return Fault(name, kind, change, (TALLY,), places, picture, scope="moved")


def _named(name: str, kind: str, field: str, value: Any, picture: str) -> Fault:
    change = beside_becomes(field, lambda was: value)
    return Fault(name, kind, change, (TALLY,), whole, picture, scope="names")


def _stale(name: str, under: str, picture: str) -> Fault:
    return Fault(name, "staleness", stale_under(under), (TALLY,), whole, picture, scope="stale")


#: The rows of these faults in the table.
FAULTS = (
    _made("tally-made-pooled", "a row for each moment -> time is pooled away", pools_time=True),
    _made("tally-made-unmerged", "2x2 patches a row -> 1 patch a row", merge=1),
    _made("tally-made-class-token", "6 rows -> a class token and 6 rows", before=1),
    _made("tally-made-line-ends", "2 lines of 3 rows -> of 3 rows and a separator", row_ends=True),
    _made("tally-made-frames-cut", "5 frames as 3 moments -> as 2", frames="floor"),
    _made("tally-made-ceil", "sides half to even -> up", rounding="ceil"),
    _made("tally-made-half-up", "half a token of a side: to even -> up", rounding="half-up"),
    _made("tally-made-halves", "windows of a sound -> two halvings", sound="halves"),
    _made("tally-made-windows", "two halvings of a sound -> windows", sound="windows"),
    _one("tally-untold", "omission", lambda told: None, "[a b] -> [a]"),
    _one("tally-zero", "omission", lambda told: (0,) * len(told), "(3, 4, 6) -> (0, 0, 0)"),
    _one("tally-frames-more", "skew", _frames(1), "(3, 4, 6) -> (4, 4, 6)"),
    _one("tally-last-more", "skew", _last(1), "(3, 4, 6) -> (3, 4, 7), which is no whole tokens"),
    _one("tally-last-less", "skew", _last(-1), "(3, 4, 6) -> (3, 4, 5), which is no whole tokens"),
    _one("tally-last-half", "substitution", _last(0.5), "250 -> 250.5"),
    _one("tally-transposed", "reordering", lambda told: (*told[:-2], *reversed(told[-2:])),
         "(3, 4, 6) -> (3, 6, 4)"),
    _two("tally-swapped", "reordering", two_told_become(lambda one, two: (two, one)),
         "[a b] -> [b a]"),
    _two("tally-frames-moved", "skew", two_told_become(_frames_moved),
         "[3x4x6 | 3x4x6] -> [4x4x6 | 2x4x6], the sum fits"),
    _two("tally-pooled-moved", "skew", two_told_become(_pooled_moved),
         "[3x4x6 | 3x4x6] -> [1x4x6 | 5x4x6], the sum fits"),
    _two("tally-last-moved", "skew", _moved(2), "[3x4x6 | 3x4x6] -> [3x4x8 | 3x4x4]"),
    _two("tally-hundred-moved", "skew", _moved(100), "[250 | 250] -> [350 | 150]"),
    _all("tally-sides-two", "substitution", lambda told: told[-2:], "(1, 4, 6) -> (4, 6)"),
    _all("tally-sides-more", "substitution", lambda told: (1, *told), "(1, 4, 6) -> (1, 1, 4, 6)"),
    _all("tally-sides-one", "truncation", lambda told: told[-1:], "(1, 4, 6) -> (6)"),
    _all("tally-sides-none", "truncation", lambda told: (), "(1, 4, 6) -> ()"),
    _named("tally-float", "substitution", "form", "float32", "(1, 4, 6) -> (1.0, 4.0, 6.0)"),
    _named("tally-list", "substitution", "form", "list", "a tensor -> lists"),
    _named("tally-name-lost", "omission", "name", None, "{pixels, grids} -> {pixels}"),
    _named("tally-name-image", "substitution", "name", "image_grid_thw",
           "grids -> grids, under the name for pictures"),
    Fault("tally-name-other", "substitution", beside_becomes("name", _of_another), (TALLY,), whole,
          "image_grid_thw -> video_grid_thw", scope="names"),
    _named("tally-name-hws", "substitution", "name", "image_grid_hws",
           "grids -> grids, under another name for pictures"),
    _named("tally-name-thws", "substitution", "name", "grid_thws",
           "grids -> grids, under another name for pictures"),
    _named("tally-merge-one", "skew", "merge_size", 1, "merge size 2 -> 1"),
    _named("tally-merge-unsaid", "omission", "merge_size", None, "merge size 2 -> not said"),
    _named("tally-kernel-one", "skew", "kernel", (1, 1), "2x2 patches a token -> 1 patch a token"),
    _named("tally-model-unknown", "substitution", "model", "unknown",
           "the model's type -> one that no rule names"),
    _stale("tally-stale-thw", "image_grid_thw", "grids -> grids, and stale image_grid_thw"),
    _stale("tally-stale-hws", "image_grid_hws", "grids -> grids, and stale image_grid_hws"),
    _stale("tally-stale-thws", "grid_thws", "grids -> grids, and stale grid_thws"),
)  # fmt: skip
