"""The contract of shard-kv-guard, alone: what each rank is told, written by hand."""

from typing import Any

import pytest

from contracts import ending, shard_kv_guard
from contracts.contract import Violation

Found = list[tuple[str, int | None]]


def check(first: dict[str, Any], second: dict[str, Any]) -> list[Violation]:
    """Return the violations of what two ranks of 5 and 3 rows are told."""
    told = {
        "batch": True,
        "enabled": True,
        "splits": (5, 3),
        "heads": 12,
        "cache": True,
        "strategy": "ulysses",
        "fate": "",
    }
    parts = [{**told, "rows": 5, **first}, {**told, "rows": 3, **second}]
    return list(shard_kv_guard.check({"ranks": parts}, {"rows": [5, 3], "heads": 12}))


def named(found: list[Violation]) -> Found:
    """Return the broken clauses in order, each with the rank that meets it."""
    return [(violation.clause.name, violation.rank) for violation in found]


NO_CACHE = {"cache": False}
LIES: list[tuple[dict[str, Any], dict[str, Any], Found]] = [
    (NO_CACHE, NO_CACHE, [("cache-given", 0), ("cache-given", 1)]),
    (NO_CACHE, {}, [("told-alike", None), ("cache-given", 0)]),
    ({}, NO_CACHE, [("told-alike", None), ("cache-given", 1)]),
    # Without the flag nobody asks for a cache, and without a cache nobody asks for splits.
    ({"enabled": False, **NO_CACHE}, {"enabled": False, **NO_CACHE},
     [("flag-told", 0), ("flag-told", 1)]),
    ({"splits": None, **NO_CACHE}, {"splits": None, **NO_CACHE},
     [("cache-given", 0), ("cache-given", 1)]),
]  # fmt: skip


def test_a_cache_on_every_rank_breaks_nothing() -> None:
    """With all else as it should be."""
    assert check({}, {}) == []


@pytest.mark.parametrize(("first", "second", "expected"), LIES)
def test_each_clause_is_broken_by_its_own_lie(
    first: dict[str, Any], second: dict[str, Any], expected: Found
) -> None:
    """Between the ranks first, then rank by rank."""
    assert named(check(first, second)) == expected


def test_every_clause_is_broken_by_some_payload() -> None:
    """And none that the contract does not list."""
    broken = {clause for *_, found in LIES for clause, _ in found}

    assert broken == {clause.name for clause in shard_kv_guard.CONTRACT.clauses}


def test_the_guard_is_listed_and_promises_nothing() -> None:
    """No call reaches it: a missing cache ends none, and both ranks meet the same."""
    found = check(NO_CACHE, NO_CACHE)
    clause = found[0].clause
    dead = clause.dead_guard("0.5.23")

    assert ending(found, "0.5.23") is None
    assert clause.guard("0.5.23") is None
    assert dead is not None
    assert dead.unreachable
    assert found[0].refusal(dead) == (
        "LingBot causal sequence sharding currently requires kv_cache-backed inference."
    )
