"""shard-strategy: the ranks of one sequence exchange rows by the strategy that each is told.

- Every rank is told the same strategy, and it is one of those that there are.
- A batch comes, its flag says that the sequence is shared, and it has the splits.
- Where a strategy gathers rows, all ranks hold as many: it takes the splits, and never reads them.

The payload and the request are those of `contracts.shard_splits`.
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
    SHARDS_EVEN,
    SPLITS_AGAIN,
    SPLITS_LISTED,
    SPLITS_TOLD,
    STRATEGY_KNOWN,
    walk_batch,
)
from contracts.contract import Contract, OwnerOf, Violation

_CLAUSES = (
    TOLD_ALIKE,
    RANKS_COME,
    REFUSED_TOGETHER,
    FLAG_TOLD,
    STRATEGY_KNOWN,
    SPLITS_TOLD,
    SPLITS_LISTED,
    SPLITS_AGAIN,
    SHARDS_EVEN,
    ALIKE_TRUE,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation]:
    return walk_batch(payload["ranks"])


CONTRACT = Contract(
    "shard-strategy",
    "The ranks of one sequence exchange rows by the strategy that each is told.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
