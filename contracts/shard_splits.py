"""shard-splits: a scheduler tells the ranks of one sequence how it is cut, and attention exchanges.

- Every rank is told the same, comes to the exchange and refuses what the others refuse.
- A batch comes; its flag says that the sequence is shared.
- Its splits can be gone through, more than once, and are whole numbers: one for each rank, in rank
  order, each the rows that the rank holds.
- The ranks divide the heads evenly.

The payload holds `ranks`: for each what `contracts.clauses.shard_batch` lists. The request says
`rows` (of each rank) and `heads`. The text of upstream's own refusal speaks of missing splits only;
the exchanges check the rest, where the splits are not all alike.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.rank_group import (
    RANKS_COME,
    REFUSED_TOGETHER,
    TOLD_ALIKE,
)
from contracts.clauses.shard_batch import (
    ALIKE_TRUE,
    FLAG_TOLD,
    HEADS_FIXED,
    HEADS_VARLEN,
    SPLITS_AGAIN,
    SPLITS_LISTED,
    SPLITS_TOLD,
    walk_batch,
)
from contracts.clauses.splits import (
    SPLIT_TRUE,
    SPLITS_COUNT,
    SPLITS_INTS,
)
from contracts.contract import Contract, OwnerOf, Violation

_CLAUSES = (
    TOLD_ALIKE,
    RANKS_COME,
    REFUSED_TOGETHER,
    FLAG_TOLD,
    SPLITS_TOLD,
    SPLITS_LISTED,
    SPLITS_AGAIN,
    ALIKE_TRUE,
    HEADS_FIXED,
    SPLITS_COUNT,
    SPLITS_INTS,
    SPLIT_TRUE,
    HEADS_VARLEN,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation]:
    return walk_batch(payload["ranks"])


CONTRACT = Contract(
    "shard-splits",
    "A scheduler tells the ranks of one sequence how it is cut.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
