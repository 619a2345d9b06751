"""shard-all-to-all: the ranks of one sequence exchange rows for heads, and heads for rows.

- Every rank is told the same, comes to the exchange and refuses what the others refuse.
- Rows have four dimensions, and a rank brings all that it holds, in order, of one kind, width and
  batch with the others'.
- Where splits are told there is one for each rank, a whole number, the rows that it holds; where
  none are, all ranks hold as many.
- Ranks divide the heads evenly on the way in, and the rows on the way out.

The payload holds `ranks`: for each `splits` (where told), `shape` (of its rows, as they go in),
`dtype`, `heads`, `rows` (that it holds), `fate` and `form`. The request says `entry` (fixed-in,
varlen-in, fixed-out, varlen-out), `rows` (of each rank), `width` and `head_dim`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.rank_group import (
    RANKS_COME,
    REFUSED_TOGETHER,
    TOLD_ALIKE,
    Part,
    met_by,
    walk_group,
)
from contracts.clauses.splits import (
    FIXED_IN,
    FIXED_OUT,
    SPLIT_TRUE,
    SPLITS_COUNT,
    SPLITS_INTS,
    VARLEN_IN,
    VARLEN_OUT,
    count_clause,
    heads_clause,
    in_words,
    is_listed,
    is_used_up,
    listed,
    plain,
    usp_guard,
    walk_count,
    walk_heads,
    walk_own,
)
from contracts.contract import Clause, Contract, OwnerOf, Violation

_SYMBOLS = {
    "fixed-in": FIXED_IN,
    "varlen-in": VARLEN_IN,
    "fixed-out": FIXED_OUT,
    "varlen-out": VARLEN_OUT,
}


def _dimensions(entry: str) -> Clause:
    guard = usp_guard(_SYMBOLS[entry], "x must have 4 dimensions, got {dimensions}")
    return Clause(f"rows-4d-{entry}", "Rows have four dimensions.", guards=(guard,))


_DIMENSIONS = {entry: _dimensions(entry) for entry in _SYMBOLS}
_HEADS = {
    entry: heads_clause(f"heads-{entry}", "The ranks divide the heads evenly.", _SYMBOLS[entry])
    for entry in ("fixed-in", "varlen-in")
}
_COUNTS = {"varlen-in": SPLITS_COUNT, "varlen-out": count_clause("splits-count-out", VARLEN_OUT)}
SPLITS_SIZED = Clause("splits-sized", "The splits are a sequence.", incidental=("TypeError",))
SPLITS_SUM = Clause(
    "splits-sum",
    "The splits are all the rows, on the way out.",
    guards=(usp_guard(VARLEN_OUT, "s_global ({rows}) must equal sum(seq_lens) ({sum})"),),
)
ROWS_DIVIDED = Clause(
    "rows-divided",
    "The ranks divide the rows evenly, on the way out without splits.",
    guards=(usp_guard(FIXED_OUT, "s_global ({rows}) must be divisible by world_size ({ranks})"),),
)
SPLITS_POSITIVE = Clause("splits-positive", "No split is below 0.", incidental=("RuntimeError",))
SPLITS_HELD = Clause("splits-held", "Every split is the rows that its rank holds.")
SHARDS_EVEN = Clause("shards-even", "All ranks hold as many rows, where no splits are told.")
ROWS_ALL = Clause("rows-all", "A rank brings all the rows that it holds, and no other.")
ROWS_KIND = Clause("rows-kind", "Rows have the width, the batch and the kind of numbers agreed.")
ROWS_ORDER = Clause("rows-order", "Rows stand in their order.")
_CLAUSES = (
    TOLD_ALIKE,
    RANKS_COME,
    REFUSED_TOGETHER,
    *_DIMENSIONS.values(),
    SPLITS_SIZED,
    *_COUNTS.values(),
    SPLITS_INTS,
    SPLIT_TRUE,
    *_HEADS.values(),
    SPLITS_SUM,
    ROWS_DIVIDED,
    SPLITS_POSITIVE,
    SPLITS_HELD,
    SHARDS_EVEN,
    ROWS_ALL,
    ROWS_KIND,
    ROWS_ORDER,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation]:
    parts = payload["ranks"]
    met = [met_by(rank, _met(part, rank, parts, request)) for rank, part in enumerate(parts)]
    told = [
        f"splits {in_words(part.get('splits'))}, form {part['form'] or 'honest'}, {part['heads']} "
        "heads"
        for part in parts
    ]
    return walk_group(parts, met, told)


def _met(
    part: Part, rank: int, parts: Sequence[Part], request: Mapping[str, Any]
) -> Iterator[Violation]:
    entry, shape = request["entry"], part["shape"]
    if len(shape) != 4:
        fields = {"dimensions": len(shape)}
        yield Violation(_DIMENSIONS[entry], "shape", "4", str(len(shape)), fields)
        return
    rows, heads = shape[3 - request["head_dim"]], shape[request["head_dim"]]
    if entry.startswith("varlen"):
        yield from _of_splits(part, rank, rows, parts, entry)
    elif len({other["rows"] for other in parts}) > 1:
        yield Violation(SHARDS_EVEN, "rows", "alike", listed([p["rows"] for p in parts]))
    if entry == "fixed-out":
        yield from _of_all(rows, len(parts))
    if entry in _HEADS:
        yield from walk_heads(_HEADS[entry], heads, len(parts))
    yield from _of_rows(part, rows, parts, request)


def _of_splits(
    part: Part, rank: int, rows: int, parts: Sequence[Part], entry: str
) -> Iterator[Violation]:
    splits = part["splits"]
    if not is_listed(splits) or is_used_up(splits):
        yield Violation(SPLITS_SIZED, "splits", "a tuple", in_words(splits))
        return
    counted = list(splits)
    yield from walk_count(_COUNTS[entry], counted, len(parts))
    if len(counted) != len(parts):
        return
    if entry == "varlen-in":
        own = splits[rank]
        yield from walk_own(counted, own, rows, rank)
    else:
        yield from _of_sum(counted, rows)
    yield from _of_held(counted, splits, parts)


def _of_sum(splits: list[Any], rows: int) -> Iterator[Violation]:
    if any(isinstance(split, str | list) or split is None for split in splits):
        yield Violation(SPLITS_INTS, "splits", "ints", listed(splits))
        return
    total = plain(sum(splits))
    if total != rows:
        fields = {"rows": rows, "sum": total}
        yield Violation(SPLITS_SUM, "splits", str(rows), str(total), fields)
    elif any(type(plain(split)) is not int for split in splits):
        yield Violation(SPLITS_INTS, "splits", "ints", listed(splits))


def _of_held(counted: list[Any], splits: Any, parts: Sequence[Part]) -> Iterator[Violation]:
    held = [part["rows"] for part in parts]
    if any(type(plain(split)) is int and plain(split) < 0 for split in counted):
        yield Violation(SPLITS_POSITIVE, "splits", "0 or more", listed(counted))
    if isinstance(splits, Mapping) or list(map(plain, counted)) != held:
        said = ("RuntimeError",) if isinstance(splits, Mapping) else ()
        yield Violation(SPLITS_HELD, "splits", listed(held), in_words(splits), incidental=said)


def _of_all(rows: int, ranks: int) -> Iterator[Violation]:
    if rows % ranks:
        fields = {"rows": rows, "ranks": ranks}
        yield Violation(ROWS_DIVIDED, "shape", f"a multiple of {ranks}", str(rows), fields)


def _of_rows(
    part: Part, rows: int, parts: Sequence[Part], request: Mapping[str, Any]
) -> Iterator[Violation]:
    is_in = request["entry"].endswith("in")
    wanted = part["rows"] if is_in else sum(other["rows"] for other in parts)
    if rows != wanted:
        yield Violation(ROWS_ALL, "shape", f"{wanted} rows", str(rows))
    agreed = (1, request["width"], "torch.float32")
    kind = (part["shape"][0], part["shape"][3], part["dtype"])
    if kind != agreed:
        yield Violation(ROWS_KIND, "shape", str(agreed), str(kind))
    if part["form"] == "mirrored":
        yield Violation(ROWS_ORDER, "rows", "in order", "mirrored")


CONTRACT = Contract(
    "shard-all-to-all",
    "The ranks of one sequence exchange rows for heads, and heads for rows.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
