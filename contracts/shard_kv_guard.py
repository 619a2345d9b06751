"""shard-kv-guard: attention over a shared sequence is called with a cache of keys and values.

Upstream has a refusal for a call without one, and no call can reach it: the flag that it tests is
only set where there is a cache. So every rank attends to its own rows alone.

The payload and the request are those of `contracts.shard_splits`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.rank_group import (
    TOLD_ALIKE,
)
from contracts.clauses.shard_batch import (
    CACHE_GIVEN,
    FLAG_TOLD,
    walk_batch,
)
from contracts.contract import Contract, OwnerOf, Violation


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation]:
    return walk_batch(payload["ranks"])


CONTRACT = Contract(
    "shard-kv-guard",
    "Attention over a shared sequence is called with a cache of keys and values.",
    (TOLD_ALIKE, FLAG_TOLD, CACHE_GIVEN),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
