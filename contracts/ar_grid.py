"""ar-grid: the AR server places the tokens to come by the grids that came with the prompt.

- The image data is a list of one object, with the key `image_grid_thw`.
- Its value is a list of rows, one row for each grid; a row is three whole numbers over zero:
  frames, rows and columns.
- Row i is grid i's size: the large grid first, the previews behind it.

The server consumes the grids from the last to the first, and the stage cuts the large grid out
of the ids in the same order. It counts nothing against anything: what the data does not say, or
says wrongly, moves the positions of the tokens, and nobody is told.

The payload is the image data of one prompt. The request says `grids`, the rows for the picture's
size, and `prompt_tokens`, how many ids stand before them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Contract, OwnerOf, Unchecked, Violation

IMAGES_ONE = Clause("images-one", "The image data is a list of one object.")
GRIDS_KEY = Clause("grids-key", "The object has the key `image_grid_thw`.")
GRIDS_LIST = Clause(
    "grids-list", "The grids are a list.", incidental=("AttributeError", "TypeError")
)
ROWS_LIST = Clause(
    "rows-list", "Each grid is a list of three numbers.", incidental=("ValueError", "TypeError")
)
SIZES_INTEGERS = Clause("sizes-integers", "Every size is a whole number, written as one.")
SIZES_POSITIVE = Clause("sizes-positive", "Every size is over zero.")
GRIDS_COUNT = Clause("grids-count", "There is one row for each grid.")
GRIDS_ORDER = Clause("grids-order", "Row i is grid i's size.")

_OF_GRIDS = (GRIDS_LIST, ROWS_LIST, SIZES_INTEGERS, SIZES_POSITIVE, GRIDS_COUNT, GRIDS_ORDER)


def _walk(
    images: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    things = images if isinstance(images, list) else [images]
    objects = [i for i in things if isinstance(i, dict)] if things is images else []
    if len(things) != 1 or len(objects) != 1:
        said = _name(things[0]) if len(things) == 1 else f"a list of {len(things)}"
        # A number cannot be walked through; text and null can.
        accident = ("TypeError",) if isinstance(images, int | float) and images else ()
        yield Violation(IMAGES_ONE, "$", "a list of one object", said, incidental=accident)
    keyed = [i for i in objects if "image_grid_thw" in i]
    if objects and not keyed:
        yield Violation(GRIDS_KEY, "$[0]", "image_grid_thw", "no such key")
    if not keyed:
        yield from (Unchecked(clause, "there are no grids") for clause in _OF_GRIDS)
        return
    # Of several objects the last one with a list is heard.
    lists = [i for i in keyed if isinstance(i["image_grid_thw"], list)]
    heard = (lists or keyed)[-1]
    where = f"$[{things.index(heard)}].image_grid_thw"
    yield from _walk_grids(heard["image_grid_thw"], request["grids"], where)


def _walk_grids(grids: Any, wanted: list[list[int]], where: str) -> Iterator[Violation | Unchecked]:
    if not isinstance(grids, list):
        # What is null is taken for no grids at all.
        accident = () if grids is None else None
        yield Violation(GRIDS_LIST, where, "a list", _name(grids), incidental=accident)
        yield from (Unchecked(clause, "there are no rows") for clause in _OF_GRIDS[1:])
        return
    wrong = next((i for i, row in enumerate(grids) if not _is_row(row)), None)
    if wrong is not None:
        at = f"{where}[{wrong}]"
        yield Violation(ROWS_LIST, at, "three numbers", _said(grids[wrong]))
        yield from (Unchecked(clause, "a row is no row") for clause in _OF_GRIDS[2:])
        return
    yield from _walk_sizes(grids, where)
    if len(grids) != len(wanted):
        yield Violation(GRIDS_COUNT, where, f"{len(wanted)} grids", str(len(grids)))
    pairs = zip(grids, wanted, strict=False)
    moved = next((i for i, (row, want) in enumerate(pairs) if row != want), None)
    if moved is not None:
        at = f"{where}[{moved}]"
        yield Violation(GRIDS_ORDER, at, str(wanted[moved]), str(grids[moved]))


def _walk_sizes(grids: list[list[Any]], where: str) -> Iterator[Violation]:
    sizes = [(f"{where}[{i}][{j}]", s) for i, row in enumerate(grids) for j, s in enumerate(row)]
    other = next(((at, s) for at, s in sizes if type(s) is not int), None)
    if other is not None:
        yield Violation(SIZES_INTEGERS, other[0], "a whole number", repr(other[1]))
    small = next(((at, s) for at, s in sizes if s < 1), None)
    if small is not None:
        # Less than none cannot be counted out; none is.
        accident = ("RuntimeError",) if any(s < 0 for _, s in sizes) else ()
        yield Violation(SIZES_POSITIVE, small[0], "1 or more", str(small[1]), incidental=accident)


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(s, int | float) for s in row)


def _said(row: Any) -> str:
    return str(row) if isinstance(row, list) else _name(row)


def _name(value: Any) -> str:
    return type(value).__name__


CONTRACT = Contract(
    "ar-grid",
    "The AR server places the tokens to come by the grids that came with the prompt.",
    (IMAGES_ONE, GRIDS_KEY, *_OF_GRIDS),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
