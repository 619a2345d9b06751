"""shard-gather: a sequence is cut into one shard a rank, and gathered again.

- Every rank is told the same, and comes to the gather.
- The splits are a sequence of whole numbers, one for each rank, the rows that it holds.
- A rank's rows are one run of the sequence, those that its place in the splits says.

The payload holds `ranks`: for each `splits`, `rows` (that it holds), `fate` and `form`. The request
says `entry` (`cut`, `gather`, or `both`, one after the other) and `rows` (of each rank).
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
    are_alike,
    in_words,
    is_listed,
    is_used_up,
    listed,
    plain,
)
from contracts.contract import Clause, Contract, OwnerOf, Violation

SPLITS_SEQUENCE = Clause(
    "splits-sequence",
    "The splits are a sequence.",
    incidental=("TypeError", "KeyError"),
)
SPLITS_EACH = Clause(
    "splits-each",
    "There is one split for each rank, where they are not all alike.",
    incidental=("IndexError", "RuntimeError"),
)
SPLITS_NUMBERS = Clause(
    "splits-numbers",
    "Every split is a whole number, where they are not all alike.",
    incidental=("TypeError", "RuntimeError"),
)
SPLITS_HELD = Clause("splits-held", "Every split is the rows that its rank holds.")
SHARDS_EVEN = Clause("shards-even", "All ranks hold as many rows, where the splits are all alike.")
SHARD_RUN = Clause("shard-run", "A rank's rows are one run of the sequence, its own.")
_CLAUSES = (
    TOLD_ALIKE,
    RANKS_COME,
    REFUSED_TOGETHER,
    SPLITS_SEQUENCE,
    SPLITS_EACH,
    SPLITS_NUMBERS,
    SHARDS_EVEN,
    SPLITS_HELD,
    SHARD_RUN,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation]:
    parts = payload["ranks"]
    met = [met_by(rank, _met(part, rank, parts, request)) for rank, part in enumerate(parts)]
    told = [f"splits {in_words(part['splits'])}, {part['form'] or 'honest'} rows" for part in parts]
    return walk_group(parts, met, told)


def _met(
    part: Part, rank: int, parts: Sequence[Part], request: Mapping[str, Any]
) -> Iterator[Violation]:
    splits, cuts = part["splits"], request["entry"] != "gather"
    if not is_listed(splits) or is_used_up(splits) or isinstance(splits, Mapping):
        yield Violation(SPLITS_SEQUENCE, "splits", "a tuple", in_words(splits))
        return
    counted, held = list(splits), [other["rows"] for other in parts]
    gathers = request["entry"] != "cut" and not are_alike(counted)
    if (gathers and len(counted) != len(parts)) or (cuts and len(counted) <= rank):
        yield Violation(SPLITS_EACH, "splits", f"{len(parts)} splits", str(len(counted)))
        return
    looked_at = counted if gathers else counted[: rank + 1] if cuts else []
    if any(type(plain(split)) is not int for split in looked_at):
        yield Violation(SPLITS_NUMBERS, "splits", "ints", listed(counted))
        return
    if request["entry"] == "gather" and not gathers and len(set(held)) > 1:
        yield Violation(SHARDS_EVEN, "rows", "alike", listed(held))
    if list(map(plain, counted)) != held:
        yield Violation(SPLITS_HELD, "splits", listed(held), listed(counted))
    if part["form"]:
        yield Violation(SHARD_RUN, "rows", "one run", part["form"])


CONTRACT = Contract(
    "shard-gather",
    "A sequence is cut into one shard a rank, and gathered again.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
