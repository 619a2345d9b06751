"""Faults of a /generate request: a prompt's row is not as it was meant, or the columns do not fit.

Their rows of the table stand at the end.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, Places, each, pairs, whole
from simulators.generate_request import columns_of
from simulators.payload import REQUEST, Payload

_IDS, _IMAGE, _PARAMS = "input_ids", "image_data", "sampling_params"
Columns = dict[str, Any]


def row_becomes(column: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that changes one column of one prompt's row."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        row = payload.records[at[0]]
        try:
            value = edit(row[column])
        except (TypeError, ValueError, LookupError):
            return payload  # An earlier fault left nothing to edit.
        return payload.with_record(at[0], {**row, column: value})

    return change


def columns_become(edit: Callable[[Columns], Columns]) -> Change:
    """Return the fault that changes the body as a whole."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(columns_of(payload)))

    return change


def column_swapped(column: str) -> Change:
    """Return the fault that swaps one column's values of two prompts."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        one, two = (payload.records[i] for i in at)
        swapped = payload.with_record(at[0], {**one, column: two[column]})
        return swapped.with_record(at[1], {**two, column: one[column]})

    return change


def column_becomes(column: str, edit: Callable[[Any], Any]) -> Change:
    """Return the fault that puts something else in the place of a column."""
    return columns_become(lambda body: {**body, column: edit(body[column])})


def with_params(**fields: Any) -> Callable[[Any], Any]:
    """Return the edit that sets sampling parameters."""
    return lambda params: {**params, **fields}


def without(column: str) -> Callable[[Columns], Columns]:
    """Return the edit that leaves a column out."""
    return lambda body: {key: value for key, value in body.items() if key != column}


def shorter(column: Any) -> Any:
    """[a b c] -> [a b]"""
    return column[:-1] if isinstance(column, list) else column


def longer(column: Any) -> Any:
    """[a b c] -> [a b c a]"""
    return [*column, column[0]] if isinstance(column, list) else column


def first(column: Any) -> Any:
    """[a b c] -> a, for all of them"""
    return column[0] if isinstance(column, list) and column else column


def flat(column: Any) -> Any:
    """[[a] [b]] -> [a b]"""
    return [part for row in column for part in (row if isinstance(row, list) else [row])]


def grids_of(edit: Callable[[int], Any]) -> Callable[[Any], Any]:
    """Return the edit that changes each size of an image's grids."""

    def change(images: Any) -> Any:
        grids = images[0]["image_grid_thw"]
        return [{"image_grid_thw": [[edit(size) for size in row] for row in grids]}]

    return change


def _row(name: str, column: str, edit: Callable[[Any], Any], picture: str) -> Fault:
    change = row_becomes(column, edit)
    return Fault(name, "substitution", change, (REQUEST,), each, picture, scope="items")


def _all(
    name: str, kind: str, change: Change, picture: str, places: Places = whole, benign: bool = False
) -> Fault:
    return Fault(name, kind, change, (REQUEST,), places, picture, scope="body", benign=benign)


def _beside(key: str, word: str, edit: Callable[[list[str]], Any]) -> Change:
    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        words = [f"{word}-{index}" for index in range(len(payload.records))]
        return payload.with_body({key: edit(words), **columns_of(payload)})

    return change


def _rids(edit: Callable[[list[str]], Any]) -> Change:
    return _beside("rid", "request", edit)


FAULTS = (
    _row("prompt-empty", _IDS, lambda ids: [], "ids [1 2] -> ids []"),
    _row("prompt-null", _IDS, lambda ids: None, "ids [1 2] -> ids null"),
    _row("prompt-text", _IDS, lambda ids: "1 2", 'ids [1 2] -> ids "1 2"'),
    _row("prompt-number", _IDS, len, "ids [1 2] -> ids 2"),
    _row("prompt-float", _IDS, lambda ids: [float(i) for i in ids], "ids [1 2] -> ids [1.0 2.0]"),
    _row("prompt-digits", _IDS, lambda ids: [str(i) for i in ids], 'ids [1 2] -> ids ["1" "2"]'),
    _row("prompt-true", _IDS, lambda ids: [True for i in ids], "ids [1 2] -> ids [true true]"),
    _row("prompt-negative", _IDS, lambda ids: [-i for i in ids], "ids [1 2] -> ids [-1 -2]"),
    _row("prompt-nested", _IDS, lambda ids: [ids], "ids [1 2] -> ids [[1 2]]"),
    _row("prompt-last-fraction", _IDS, lambda ids: [*ids[:-1], 0.5], "ids [1 2] -> ids [1 0.5]"),
    _row("prompt-last-null", _IDS, lambda ids: [*ids[:-1], None], "ids [1 2] -> ids [1 null]"),
    _row("prompt-beyond-int64", _IDS, lambda ids: [*ids[:-1], 2**63],
         "ids [1 2] -> ids [1 2**63]"),
    _row("image-null", _IMAGE, lambda images: None, "image [{grids}] -> image null"),
    _row("image-none", _IMAGE, lambda images: [], "image [{grids}] -> image []"),
    _row("image-bare", _IMAGE, first, "image [{grids}] -> image {grids}"),
    _row("image-twice", _IMAGE, longer, "image [{grids}] -> image [{grids} {grids}]"),
    _row("image-float", _IMAGE, grids_of(float), "grids [1 2 3] -> grids [1.0 2.0 3.0]"),
    _row("image-digits", _IMAGE, grids_of(str), 'grids [1 2 3] -> grids ["1" "2" "3"]'),
    _row("params-unknown", _PARAMS, with_params(sampling_sed=7), "{seed} -> {seed, sed}"),
    _row("params-empty", _PARAMS, lambda params: {}, "{max_new_tokens 8} -> {}"),
    _row("params-two-samples", _PARAMS, with_params(n=2), "{} -> {n 2}"),
    _row("budget-negative", _PARAMS, with_params(max_new_tokens=-1),
         "max_new_tokens 8 -> max_new_tokens -1"),
    _row("budget-small", _PARAMS, with_params(max_new_tokens=1),
         "max_new_tokens 8 -> max_new_tokens 1"),
    _row("budget-digits", _PARAMS, with_params(max_new_tokens="8"),
         'max_new_tokens 8 -> max_new_tokens "8"'),
    _row("budget-fraction", _PARAMS, with_params(max_new_tokens=8.5),
         "max_new_tokens 8 -> max_new_tokens 8.5"),
    _row("sampling-seed-digits", _PARAMS, with_params(sampling_seed="7"), 'seed 7 -> seed "7"'),
    _row("sampling-seed-fraction", _PARAMS, with_params(sampling_seed=7.5), "seed 7 -> seed 7.5"),
    _row("sampling-seed-true", _PARAMS, with_params(sampling_seed=True), "seed 7 -> seed true"),
    _row("sampling-seed-beyond-int64", _PARAMS, with_params(sampling_seed=2**63),
         "seed 7 -> seed 2**63"),
    _all("prompts-missing", "omission", columns_become(without(_IDS)), "{ids, ..} -> {..}"),
    _all("prompts-none", "omission", column_becomes(_IDS, lambda ids: []), "[a b] -> []"),
    _all("prompts-short", "truncation", column_becomes(_IDS, shorter), "ids [a b] -> ids [a]"),
    _all("prompts-long", "duplication", column_becomes(_IDS, longer), "ids [a b] -> ids [a b a]"),
    _all("prompts-swapped", "reordering", column_swapped(_IDS), "ids [a b] -> ids [b a]", pairs),
    _all("images-missing", "omission", columns_become(without(_IMAGE)), "{images, ..} -> {..}"),
    _all("images-empty", "omission", column_becomes(_IMAGE, lambda images: []),
         "images [a b] -> images []"),
    _all("images-short", "truncation", column_becomes(_IMAGE, shorter),
         "images [a b] -> images [a]"),
    _all("images-long", "duplication", column_becomes(_IMAGE, longer),
         "images [a b] -> images [a b a]"),
    _all("images-first", "truncation", column_becomes(_IMAGE, lambda images: first(first(images))),
         "images [[a] [b]] -> images a, for all"),
    _all("images-flat", "merge", column_becomes(_IMAGE, flat), "images [[a] [b]] -> images [a b]"),
    _all("params-missing", "omission", columns_become(without(_PARAMS)), "{params, ..} -> {..}"),
    _all("params-none", "omission", column_becomes(_PARAMS, lambda params: []),
         "params [a b] -> params []"),
    _all("params-short", "truncation", column_becomes(_PARAMS, shorter),
         "params [a b] -> params [a]"),
    _all("params-long", "duplication", column_becomes(_PARAMS, longer),
         "params [a b] -> params [a b a]"),
    _all("params-first", "truncation", column_becomes(_PARAMS, first),
         "params [a b] -> params a, for all"),
    _all("params-swapped", "reordering", column_swapped(_PARAMS),
         "params [a b] -> params [b a]", pairs),
    _all("rids-equal", "duplication", _rids(lambda rids: [rids[0] for _ in rids]),
         "{} -> {rid [x x]}"),
    _all("rids-short", "truncation", _rids(shorter), "{} -> {rid [x]}, for two prompts"),
    _all("rids-long", "duplication", _rids(lambda rids: [*rids, "more"]), "{} -> {rid [x y z]}"),
    _all("rid-text", "substitution", _rids(first), '{} -> {rid "x"}'),
    _all("text-beside", "substitution", _beside("text", "scene", first),
         '{ids} -> {text "scene-0", ids}'),
    _all("texts-beside", "substitution", _beside("text", "scene", list),
         '{ids [a b]} -> {text ["scene-0" "scene-1"], ids [a b]}'),
    _all("body-extra-field", "substitution",
         columns_become(lambda body: {**body, "later_field": 1}), "{..} -> {.., later_field}",
         benign=True),
    _all("body-key-order", "reordering", columns_become(lambda body: dict(reversed(body.items()))),
         "{ids, images} -> {images, ids}", benign=True),
)  # fmt: skip
