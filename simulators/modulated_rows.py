"""Hidden states, their scale and shift, so stamped that x * (k + scale) + shift tells all three.

A row of x says whose it is and where it stands; so does a row of a modulation, a scale or a shift.
The first two columns of x are 0, so that the output's are the shift; the next two are 1, and with
the shift known they are the scale; the next two are x's own, and there every modulation is 1. In
the other columns all three are mixes of who they are. All of it, and the outputs, are whole
numbers up to 256: exact in every float, however they are added and multiplied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import MODULATIONS, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

PARTS = ("x", "scale", "shift")
#: Requests of a batch and tokens of one, at most; columns of a row, at least.
MOST_REQUESTS, MOST_TOKENS, LEAST_WIDTH = 6, 24, 8
#: The one number that a scale is, or a shift, where it is one for all: ours, and another batch's.
NUMBERS = {"scale": (2, 4), "shift": (5, 6)}
#: Whose the scale and the shift are of a row that came out as it went in.
NO_MODULATION = "no modulation"
_ALL = 7
_OTHERS, _SHIFT = 8, 16
_MIXED = 6


@dataclass(frozen=True)
class Sizes:
    """How large a batch is, and into how many frames the tokens of a request fall."""

    requests: int
    tokens: int
    frames: int
    width: int


#: By layout: what it has in the place of (requests, rows, columns), as letters of the sizes.
LAYOUTS: Mapping[str, str] = {
    "scalar": "",
    "single": "1",
    "vector": "C",
    "channel": "1C",
    "request": "BC",
    "row": "B1C",
    "position": "1LC",
    "token": "BLC",
    "frame": "BF1C",
}
#: Layouts of one number for all.
NUMBER = ("scalar", "single")


def shape_of(layout: str, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape of a modulation."""
    letters = {
        "1": 1, "B": sizes.requests, "L": sizes.tokens, "F": sizes.frames, "C": sizes.width,
    }  # fmt: skip
    return tuple(letters[letter] for letter in LAYOUTS[layout])


def place_of(layout: str, sizes: Sizes, request: int, token: int) -> tuple[int | None, int]:
    """Return which row of a modulation a token gets: its request, None for all, and its number."""
    number = 0
    if "L" in LAYOUTS[layout]:
        number = token
    elif "F" in LAYOUTS[layout]:
        number = token // (sizes.tokens // sizes.frames)
    return (request if "B" in LAYOUTS[layout] else None), number


def places_of(layout: str, sizes: Sizes) -> Iterator[tuple[int | None, int]]:
    """Yield each row of a modulation: its request, None for all, and its number."""
    letters = LAYOUTS[layout]
    rows = {"L": sizes.tokens, "F": sizes.frames}
    count = next((rows[letter] for letter in letters if letter in rows), 1)
    for request in range(sizes.requests) if "B" in letters else (None,):
        yield from ((request, number) for number in range(count))


def owner_name(part: str, request: int | None, is_foreign: bool = False) -> str:
    """Return who owns a row, in words."""
    whose = "all" if request is None else f"request {request}"
    batch = "another batch's " if is_foreign else ""
    return f"{batch}{part} of {whose}"


@lru_cache(maxsize=65536)
def stamp(
    part: str, request: int | None, number: int, width: int, is_foreign: bool = False
) -> tuple[float, ...]:
    """Return one row of x, of a scale or of a shift."""
    code = 1 + (_ALL if request is None else request)
    code += _OTHERS * is_foreign + _SHIFT * (part == "shift")
    spans = {"x": (1, 7), "scale": (0, 6), "shift": (1, 50)}
    least, count = spans[part]
    signs = [
        least + mix(code + 64 * PARTS.index(part), number, column) % count
        for column in range(_MIXED, width)
    ]
    own = (code, number + 1)
    head = (0, 0, 1, 1, *own) if part == "x" else (*own, *own, 1, 1)
    return tuple(float(value) for value in (*head, *signs))


def _rows(part: str, layout: str, sizes: Sizes, is_foreign: bool) -> list[tuple[float, ...]]:
    if layout in NUMBER:
        return [(float(NUMBERS[part][is_foreign]),)]
    return [
        stamp(part, request, number, sizes.width, is_foreign)
        for request, number in places_of(layout, sizes)
    ]


def stamped(
    part: str, layout: str, sizes: Sizes, dtype: str = "float32", is_foreign: bool = False
) -> "torch.Tensor":
    """Return x, a scale or a shift.

    Args:
        part: One of `PARTS`.
        layout: One of `LAYOUTS`; that of x is `token`.
        sizes: At most `MOST_REQUESTS` and `MOST_TOKENS`, at least `LEAST_WIDTH` columns.
        dtype: Name of torch's dtype.
        is_foreign: Whether it is another batch's.
    """
    import torch

    rows = torch.tensor(_rows(part, layout, sizes, is_foreign), dtype=torch.float64)
    return rows.reshape(shape_of(layout, sizes)).to(getattr(torch, dtype))


def honest_modulation(
    layouts: tuple[str, str], sizes: Sizes, constant: float = 1.0, dtype: str = "float32"
) -> Payload:
    """Return hidden states, their scale and their shift, and beside them the `constant`.

    Args:
        layouts: Those of the scale and of the shift.
        sizes: Those of the batch.
        constant: What is added to the scale.
        dtype: Name of torch's dtype.
    """
    ours, others = (
        tuple(
            stamped(part, layout, sizes, dtype, is_foreign)
            for part, layout in zip(PARTS, ("token", *layouts), strict=True)
        )
        for is_foreign in (False, True)
    )
    return Payload(MODULATIONS, ours, others, {"constant": constant})


def owner_of(rows: Any) -> list[Origin | None]:
    """Return the origin of each row of x or a modulation, given as lists; None if it has none."""
    return [_origin(tuple(row)) for row in rows]


def _origin(row: tuple[float, ...]) -> Origin | None:
    if len(row) == 1:
        for part, numbers in NUMBERS.items():
            if row[0] in numbers:
                is_foreign = row[0] == numbers[1]
                return Origin(owner_name(part, None, is_foreign), 0)
    if len(row) < LEAST_WIDTH or any(value != value or value % 1 for value in row):
        return None
    is_x = row[0] == 0
    code, number = (int(value) - 1 for value in (row[4:6] if is_x else row[:2]))
    part = "x" if is_x else ("shift" if code & _SHIFT else "scale")
    request = None if code % _OTHERS == _ALL else code % _OTHERS
    is_foreign = bool(code & _OTHERS)
    if code < 0 or row != stamp(part, request, number, len(row), is_foreign):
        return None
    return Origin(owner_name(part, request, is_foreign), number)


Row = tuple[float, ...]


class OutputReader:
    """Tells of a row of the output which rows of x, of a scale and of a shift made it.

    Any modulation may stand where a scale or a shift should: the one in the other's place is told.
    """

    def __init__(self, layouts: tuple[str, str], sizes: Sizes, constant: float) -> None:
        self._constant = constant
        self._x = dict(_known("x", "token", sizes))
        named = zip(PARTS[1:], layouts, strict=True)
        known = {k: v for part, layout in named for k, v in _known(part, layout, sizes)}
        self._shifts = _by(known, slice(0, 2))
        self._scales = _by(known, slice(2, 4))

    def origins(self, row: Sequence[float]) -> tuple[Origin | None, Origin | None, Origin | None]:
        """Return whose x, scale and shift made a row; None of each where they cannot be told."""
        made = tuple(row)
        if made in self._x:
            # A scale of 0 and a shift of 0 with a constant of 1, or nobody touched it.
            return self._x[made], Origin(NO_MODULATION, 0), Origin(NO_MODULATION, 0)
        for shift, its in self._shifts.get(made[:2], []):
            factors = tuple(
                v - s - self._constant for v, s in zip(made[2:4], shift[2:4], strict=False)
            )
            for scale, whose in self._scales.get(factors, []):
                x = self._unmodulated(made, scale, shift)
                if x is not None:
                    return x, whose, its
        return None, None, None

    def _unmodulated(self, made: Row, scale: Row, shift: Row) -> Origin | None:
        if len(made) != len(scale):
            return None
        own = [(made[c] - shift[c]) / (self._constant + scale[c]) for c in (4, 5)]
        for x, whose in self._x.items():
            if list(x[4:6]) == own and made == self._modulated(x, scale, shift):
                return whose
        return None

    def _modulated(self, x: Row, scale: Row, shift: Row) -> Row:
        both = zip(x, scale, shift, strict=True)
        return tuple(a * (self._constant + b) + c for a, b, c in both)


def _known(part: str, layout: str, sizes: Sizes) -> Iterator[tuple[Row, Origin]]:
    """Yield each row, ours and another batch's, as it meets a row of x."""
    for is_foreign in (False, True):
        rows = _rows(part, layout, sizes, is_foreign)
        for place, row in zip(places_of(layout, sizes), rows, strict=True):
            wide = row * sizes.width if layout in NUMBER else row
            yield wide, Origin(owner_name(part, place[0], is_foreign), place[1])


def _by(known: Mapping[Row, Origin], columns: slice) -> dict[Row, list[tuple[Row, Origin]]]:
    found: dict[Row, list[tuple[Row, Origin]]] = {}
    for row, origin in known.items():
        found.setdefault(row[columns], []).append((row, origin))
    return found


def twin_of(payload: Payload, layouts: tuple[str, str], sizes: Sizes) -> "torch.Tensor":
    """Return what becomes of an honest payload, as float64: each token takes its rows by number."""
    import torch

    x, *modulations = (tensor.double() for tensor in payload.records)
    flat = x.reshape(-1, sizes.width)
    taken = []
    for layout, tensor in zip(layouts, modulations, strict=True):
        columns = 1 if layout in NUMBER else sizes.width
        rows = tensor.reshape(-1, columns)
        numbers = [_number_of(layout, sizes, token) for token in range(len(flat))]
        taken.append(rows[numbers].repeat(1, sizes.width // columns))
    made = flat * (payload.beside["constant"] + taken[0]) + taken[1]
    return torch.as_tensor(made).reshape(x.shape)


def _number_of(layout: str, sizes: Sizes, token: int) -> int:
    """Return the number of a modulation's row for a token, counted through the whole batch."""
    by = {"B": token // sizes.tokens, "F": token // (sizes.tokens // sizes.frames), "L": token}
    number = next((by[letter] for letter in reversed(LAYOUTS[layout]) if letter in by), 0)
    return number % sizes.tokens if layout == "position" else number
