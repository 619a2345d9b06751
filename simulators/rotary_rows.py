"""Rows of queries and keys, and the angles that turn them: what comes out says which row, and how.

All numbers are whole, from 1 to 8, so that whatever is turned is exact in every float of 16 bits
or more. A kernel does not ask whether cosines and sines lie on a circle, and so they do not: they
are another mix for each position. A row turned by an angle is the product of complex numbers,
column pair by column pair, and no two rows and angles make the same: see `Turned`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import ANGLES, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

PARTS = ("q", "k")
#: Columns of a head, at least: of fewer, two products may be alike.
LEAST_WIDTH = 8
#: Positions that are known beyond those of the tokens.
_BEYOND = 2
_LARGEST = 8
_REQUESTS = 2
_ANGLES = 7
#: How the angles are told: half as wide as a head and one row for each, or in another form.
FORMS = (
    "", "full", "doubled", "deep", "stacked", "flat", "across", "apart", "expanded", "narrower",
    "wider", "float16", "float64", "int32", "list", "elsewhere", "sine-row-less",
    "cosine-row-less", "sine-narrower", "sine-full",
)  # fmt: skip
#: Ways in which an angle turns: as it is, with cosines and sines swapped, and backwards.
_WAYS = ("", " (swapped)", " (backwards)")
#: The turn by no angle at all.
UNTURNED = Origin("no one", 0)

Angle = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Sizes:
    """How many rows there are, and how wide a head is."""

    batch: int = 1
    tokens: int = 4
    heads: int = 2
    width: int = 8

    @property
    def rows(self) -> int:
        """How many rows a head has."""
        return self.batch * self.tokens

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of queries, and of keys."""
        return self.batch, self.tokens, self.heads, self.width


def _digits(owner: int, lane: int, position: int, count: int) -> tuple[int, ...]:
    first = position * 1024
    return tuple(1 + mix(owner, lane, first + column) % _LARGEST for column in range(count))


@lru_cache(maxsize=4096)
def angle(position: int, width: int, request: int = 0) -> Angle:
    """Return the cosines and the sines of one position, half as many as a head has columns."""
    half = width // 2
    owner = _ANGLES + request * 100
    return _digits(owner, 0, position, half), _digits(owner, 1, position, half)


def angle_owner(request: int = 0, way: str = _WAYS[0]) -> str:
    """Return whose an angle is, in words."""
    return f"{'another request' if request else 'the request'}{way}"


def row_owner(part: str, head: int, request: int = 0) -> str:
    """Return whose the rows of one head of one part are, in words."""
    return f"{'another request ' * request}{part} head {head}"


@lru_cache(maxsize=64)
def _rows(part: str, sizes: Sizes, request: int) -> Any:
    import torch

    owner = PARTS.index(part) + request * 100
    values = [
        [_digits(owner, head, row, sizes.width) for head in range(sizes.heads)]
        for row in range(sizes.rows)
    ]
    return torch.tensor(values, dtype=torch.float64)


def rows_of_part(
    part: str, sizes: Sizes, dtype: str = "float32", request: int = 0
) -> "torch.Tensor":
    """Return queries or keys, (batch, tokens, heads, width), of a request: 0 is ours."""
    import torch

    values = _rows(part, sizes, request).to(getattr(torch, dtype))
    return values.reshape(sizes.shape).clone()  # type: ignore[no-any-return]


def honest_angles(sizes: Sizes, dtype: str = "float32", positions: bool = False) -> Payload:
    """Return the angles of the tokens' positions, one record for each: cosines and sines.

    Beside them stand `q` and `k`, `foreign` (the same of another request), `later` (the angle of
    the position behind the last), `form` of the angles, `head_size` (None where it is not told)
    and `positions` (of each row in the angles; None where they are not told).
    """
    tokens = range(sizes.tokens)
    beside = {
        **{part: rows_of_part(part, sizes, dtype) for part in PARTS},
        "foreign": {part: rows_of_part(part, sizes, dtype, 1) for part in PARTS},
        "later": angle(sizes.tokens, sizes.width),
        "form": "",
        "head_size": None,
        "positions": (*tokens,) * sizes.batch if positions else None,
    }
    ours, others = (
        tuple(angle(position, sizes.width, request) for position in tokens) for request in (0, 1)
    )
    return Payload(ANGLES, ours, others, beside)


def told_angles(payload: Payload) -> tuple[Any, Any]:
    """Return cosines and sines in the form in which they are told: tensors of float32, or lists.

    Raises:
        ValueError: if there is no such form.
    """
    import torch

    form, records = payload.beside["form"], payload.records
    if form not in FORMS:
        raise ValueError(f"no form of angles is called {form!r}")
    half = len(payload.beside["later"][0])
    cos, sin = (
        torch.tensor([record[lane] for record in records], dtype=torch.float32).reshape(-1, half)
        for lane in (0, 1)
    )
    if form == "list":
        return cos.tolist(), sin.tolist()
    if form.startswith("cosine-"):
        return _laid_out(cos, form.removeprefix("cosine-")), sin
    if form.startswith("sine-"):
        return cos, _laid_out(sin, form.removeprefix("sine-"))
    return _laid_out(cos, form), _laid_out(sin, form)


def _laid_out(angles: "torch.Tensor", form: str) -> "torch.Tensor":
    import torch

    made: dict[str, Callable[[], torch.Tensor]] = {
        "full": lambda: angles.repeat_interleave(2, 1),
        "doubled": lambda: torch.cat([angles, angles], 1),
        "deep": lambda: angles[None],
        "stacked": lambda: torch.stack([angles, angles]),
        "flat": lambda: angles.flatten(),
        "across": lambda: angles.T.contiguous(),
        "apart": lambda: angles.repeat_interleave(2, 0)[::2],
        "expanded": lambda: angles[:1].expand_as(angles),
        "narrower": lambda: angles[:, :-1].contiguous(),
        "wider": lambda: angles[:, [*range(angles.shape[1]), -1]],
        "row-less": lambda: angles[:-1],
        "float16": lambda: angles.to(torch.float16),
        "float64": lambda: angles.to(torch.float64),
        "int32": lambda: angles.to(torch.int32),
        "elsewhere": lambda: angles.to("meta"),
    }
    return made[form]() if form else angles


class Turned:
    """Reads which row was turned by which angle; known are those of two requests."""

    def __init__(self, sizes: Sizes) -> None:
        self._rows = _known_rows(sizes)
        self._angles = _known_angles(sizes)
        self._products = _products(sizes)

    def owner_of(self, rows: Any) -> list[Origin | None]:
        """Return the origin of each row of one head, or of each angle, given as lists of numbers.

        An angle is its cosines, and behind them its sines.
        """
        keys = [tuple(row) for row in rows]
        return [self._rows.get(key) or self._angles.get(key) for key in keys]

    def read(self, rows: Sequence[Sequence[float]]) -> list[tuple[Origin, Origin] | None]:
        """Return the origin of each turned row of one head, and of the angle that turned it."""
        return [self._products.get(tuple(row)) for row in rows]


@lru_cache(maxsize=16)
def _known_rows(sizes: Sizes) -> dict[tuple[float, ...], Origin]:
    return {
        tuple(row): Origin(row_owner(part, head, request), position)
        for part in PARTS
        for request in range(_REQUESTS)
        for position, heads in enumerate(_rows(part, sizes, request).tolist())
        for head, row in enumerate(heads)
    }


@lru_cache(maxsize=16)
def _known_angles(sizes: Sizes) -> dict[tuple[float, ...], Origin]:
    half = sizes.width // 2
    found: dict[tuple[float, ...], Origin] = {(1.0,) * half + (0.0,) * half: UNTURNED}
    for request in range(_REQUESTS):
        for position in range(sizes.tokens + _BEYOND):
            cos, sin = angle(position, sizes.width, request)
            back = tuple(-value for value in sin)
            for way, lanes in zip(_WAYS, (cos + sin, sin + cos, cos + back), strict=True):
                found[tuple(map(float, lanes))] = Origin(angle_owner(request, way), position)
    return found


@lru_cache(maxsize=16)
def _products(sizes: Sizes) -> dict[tuple[float, ...], tuple[Origin, Origin]]:
    """Return each row, turned by each angle, with both origins.

    Raises:
        ValueError: if two of them are alike.
    """
    import torch

    rows, angles = _known_rows(sizes), _known_angles(sizes)
    pairs = torch.tensor(list(rows), dtype=torch.float64).reshape(len(rows), 1, -1, 2)
    cos, sin = torch.tensor(list(angles), dtype=torch.float64).chunk(2, dim=1)
    turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.complex(cos, sin))
    found = {
        tuple(values): (row, origin)
        for row, of_row in zip(rows.values(), turned.flatten(2).tolist(), strict=True)
        for origin, values in zip(angles.values(), of_row, strict=True)
    }
    if len(found) < len(rows) * len(angles):
        raise ValueError(f"of {sizes}, two rows and angles cannot be told apart")
    return found
