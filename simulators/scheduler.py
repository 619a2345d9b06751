"""The scheduler: what the ranks of a group are told about a sequence that they share.

It cuts a sequence into one shard a rank and tells every rank the splits: one int for each rank,
in rank order, the rows that it holds. A fault changes what is told, to all ranks or to some, or
what the ranks do with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulators.payload import RECORDS, SPLITS, Payload


class _Missing:
    def __repr__(self) -> str:
        return "no such field"


#: A field that is not there at all.
MISSING: Any = _Missing()

#: What a rank is told to do instead of its part.
AWAY, DIES = "away", "dies"

#: Rows that each rank held more in the batch before this one.
_BEFORE = 2


@dataclass(frozen=True)
class Told:
    """What one rank is told, and what it holds."""

    #: Whether there is a batch at all.
    batch: bool
    #: Fields of the batch; `MISSING` where it has no such field.
    enabled: Any
    splits: Any
    #: Rows of the sequence that the rank holds.
    rows: int
    #: First of them in the sequence.
    first: int
    #: Attention heads of each row.
    heads: int
    #: Whether a cache of keys and values comes with the call.
    cache: bool
    strategy: Any
    #: `AWAY`, `DIES`, or nothing.
    fate: str = ""
    #: What is done to the tensor of rows before it goes into an exchange, by name; or nothing.
    form: str = ""


def even_splits(rows: int, ranks: int) -> list[int]:
    """Return how many rows each rank holds of a sequence that is cut as evenly as can be.

    The first ranks hold the rows that are left over.
    """
    return [len(range(rank, rows, ranks)) for rank in range(ranks)]


def honest_batch(rows: Sequence[int], heads: int, strategy: str = "ulysses") -> Payload:
    """Return the batch of a sequence: its splits are the records.

    Args:
        rows: How many rows of the sequence each rank holds, in rank order.
        heads: Attention heads of each row.
        strategy: How the ranks exchange what they hold.
    """
    before = tuple(count + _BEFORE for count in rows)
    beside = {
        "rows": tuple(rows),
        "heads": heads,
        "batch": True,
        "enabled": True,
        "has_splits": True,
        # What single ranks are told instead, by rank; `MISSING` for no such field.
        "rank_splits": {},
        "cache": True,
        "strategy": strategy,
        "fates": {},
        "form": "",
    }
    return Payload(SPLITS, tuple(rows), before, beside)


def told_ranks(honest: Payload, lied: Payload, liars: Sequence[int]) -> list[Told]:
    """Return what each rank is told.

    Args:
        honest: The batch as it is.
        lied: The batch with a fault in it. What the ranks hold is as it says, for all of them.
        liars: The ranks that are told the lie.
    """
    rows = lied.beside["rows"]
    heard = [lied if rank in liars else _holding(honest, lied) for rank in range(len(rows))]
    return [_told(batch, rank, lied.beside["fates"]) for rank, batch in enumerate(heard)]


def _holding(honest: Payload, lied: Payload) -> Payload:
    rows = lied.beside["rows"]
    same = rows == honest.beside["rows"]
    records = honest.records if same else rows
    return replace(honest, records=tuple(records), beside={**honest.beside, "rows": rows})


def _told(batch: Payload, rank: int, fates: Mapping[int, str]) -> Told:
    beside = batch.beside
    splits = batch.body if batch.body is not RECORDS else tuple(batch.records)
    own = beside["rank_splits"].get(rank, splits)
    return Told(
        batch=beside["batch"],
        enabled=beside["enabled"],
        splits=own if beside["has_splits"] else MISSING,
        rows=beside["rows"][rank],
        first=sum(beside["rows"][:rank]),
        heads=beside["heads"],
        cache=beside["cache"],
        strategy=beside["strategy"],
        fate=fates.get(rank, ""),
        form=beside["form"],
    )
