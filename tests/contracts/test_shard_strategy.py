"""The contract of shard-strategy, alone: what each rank is told, written by hand."""

from typing import Any

import pytest

from contracts import ending, shard_strategy
from contracts.contract import Violation

Found = list[tuple[str, int | None]]
GATHERING = ("kvgather_replicated", "kvgather_sharded", "ring")


def part(rows: int, **more: Any) -> dict[str, Any]:
    """Return what one rank of two is told, that hold four rows each if nothing else is said."""
    told = {
        "batch": True,
        "enabled": True,
        "splits": (4, 4),
        "rows": rows,
        "heads": 12,
        "cache": True,
        "strategy": "ulysses",
        "fate": "",
    }
    return {**told, **more}


def check(*parts: dict[str, Any]) -> list[Violation]:
    """Return the violations of what the ranks are told."""
    request = {"rows": [one["rows"] for one in parts], "heads": 12}
    return list(shard_strategy.check({"ranks": list(parts)}, request))


def told_both(rows: tuple[int, int] = (4, 4), **more: Any) -> list[Violation]:
    """Return the violations where both ranks are told the same."""
    return check(*(part(count, **more) for count in rows))


def named(found: list[Violation]) -> Found:
    """Return the broken clauses in order, each with the rank that meets it."""
    return [(violation.clause.name, violation.rank) for violation in found]


def on_both(*clauses: str) -> Found:
    """Return these clauses for rank 0, then for rank 1."""
    return [(clause, rank) for rank in range(2) for clause in clauses]


@pytest.mark.parametrize("strategy", ["ulysses", *GATHERING])
def test_a_strategy_that_both_ranks_are_told_breaks_nothing(strategy: str) -> None:
    """However it is written."""
    assert told_both(strategy=strategy) == []
    assert told_both(strategy=f" {strategy.upper()}\n") == []


def test_ulysses_takes_uneven_shards_and_heads_that_are_divided() -> None:
    """A gathering strategy asks for even shards, and never divides heads."""
    assert told_both((5, 3), splits=(5, 3)) == []
    for strategy in GATHERING:
        assert told_both(strategy=strategy, heads=13) == []


BOTH: list[tuple[dict[str, Any], Found]] = [
    ({"strategy": "megatron"}, on_both("strategy-known")),
    ({"strategy": ""}, on_both("strategy-known")),
    ({"strategy": "megatron", "splits": None}, on_both("strategy-known")),
    ({"strategy": "megatron", "enabled": False}, on_both("flag-told")),
    ({"strategy": "ring", "batch": False}, on_both("flag-told")),
    ({"strategy": "ring", "splits": None}, on_both("splits-told")),
    ({"strategy": "ring", "splits": 8}, on_both("splits-listed")),
    ({"strategy": "ring", "splits": iter((4, 4))}, on_both("splits-again")),
    ({"strategy": "ring", "splits": (5, 3)}, on_both("alike-true")),
    ({"strategy": "ring", "splits": (4, 4, 0)}, on_both("alike-true")),
    ({"strategy": "ring", "rows": (5, 3), "splits": (5, 3)}, on_both("shards-even")),
    ({"strategy": "ring", "rows": (5, 3)}, on_both("shards-even", "alike-true")),
    ({"strategy": "ring", "fate": "away"}, [("ranks-come", None)]),
]
FIRST: list[tuple[dict[str, Any], Found]] = [
    ({"strategy": "megatron"},
     [("told-alike", None), ("refused-together", None), ("strategy-known", 0)]),
    ({"strategy": "ring"}, [("told-alike", None)]),
    ({"strategy": " ULYSSES"}, [("told-alike", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("told", "expected"), BOTH)
def test_each_clause_is_broken_by_its_own_lie(told: dict[str, Any], expected: Found) -> None:
    """The flag is looked at before the strategy, and the strategy before the splits."""
    more = dict(told)

    assert named(told_both(more.pop("rows", (4, 4)), **more)) == expected


@pytest.mark.parametrize(("lie", "expected"), FIRST)
def test_a_strategy_that_one_rank_hears_is_broken_between_the_ranks(
    lie: dict[str, Any], expected: Found
) -> None:
    """Each may be one that there is."""
    assert named(check(part(4, **lie), part(4))) == expected


def test_every_clause_is_broken_by_some_payload() -> None:
    """And none that the contract does not list."""
    broken = {clause for _, found in (*BOTH, *FIRST) for clause, _ in found}

    assert broken == {clause.name for clause in shard_strategy.CONTRACT.clauses}


def test_the_refusal_names_what_there_is_and_what_was_told() -> None:
    """As a tuple and a text, stripped and in small letters; from the release that has it on."""
    found = told_both(strategy=" Megatron ")
    violation = ending(found, "0.5.23")

    assert violation is not None
    assert violation.refusal(violation.clause.guards[0]) == (
        "SGLANG_LINGBOT_SP_STRATEGY must be one of "
        "('ulysses', 'kvgather_replicated', 'kvgather_sharded', 'ring'), got 'megatron'"
    )
    assert ending(found, "0.5.22") is None
