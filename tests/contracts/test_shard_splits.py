"""The contract of shard-splits, alone: what each rank is told, written by hand."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from contracts import ending, shard_splits
from contracts.contract import Violation

Found = list[tuple[str, int | None]]
HEADS = 12


def part(rows: int, splits: Any, **more: Any) -> dict[str, Any]:
    """Return what one rank is told that holds so many rows."""
    told = {
        "batch": True,
        "enabled": True,
        "splits": splits,
        "rows": rows,
        "heads": HEADS,
        "cache": True,
        "strategy": "ulysses",
        "fate": "",
    }
    return {**told, **more}


def check(*parts: dict[str, Any]) -> list[Violation]:
    """Return the violations of what the ranks are told."""
    request = {"rows": [one["rows"] for one in parts], "heads": HEADS}
    return list(shard_splits.check({"ranks": list(parts)}, request))


def told_all(rows: tuple[int, ...], splits: Any, **more: Any) -> list[Violation]:
    """Return the violations where all ranks are told the same."""
    return check(*({**part(count, splits), **more} for count in rows))


def named(found: list[Violation]) -> Found:
    """Return the broken clauses in order, each with the rank that meets it."""
    return [(violation.clause.name, violation.rank) for violation in found]


def on_each(*clauses: str, ranks: int = 2) -> Found:
    """Return these clauses for rank 0, then for rank 1, and so on."""
    return [(clause, rank) for rank in range(ranks) for clause in clauses]


@pytest.mark.parametrize("rows", [(5, 3), (4, 4), (8, 0), (3, 3, 2), (3, 2, 2, 2), (2, 2, 2, 2)])
def test_honest_splits_break_nothing(rows: tuple[int, ...]) -> None:
    """As a tuple, a list or a tensor, of ints or of tensors."""
    for splits in (rows, list(rows), torch.tensor(rows), [torch.tensor(count) for count in rows]):
        assert told_all(rows, splits) == []


def test_where_all_splits_are_alike_only_their_values_matter() -> None:
    """Nothing counts them, and nothing asks what they are."""
    assert told_all((4, 4), (4.0, 4.0)) == []
    assert named(told_all((4, 4), ("4", "4"))) == on_each("alike-true")
    assert named(told_all((4, 4), (4,))) == on_each("alike-true")
    assert named(told_all((4, 4), ())) == on_each("alike-true")


def generator(*splits: int) -> Iterator[int]:
    """Yield splits, once."""
    yield from splits


EVERYWHERE: list[tuple[tuple[int, ...], dict[str, Any], Found]] = [
    ((5, 3), {"enabled": False}, on_each("flag-told")),
    ((5, 3), {"enabled": None}, on_each("flag-told")),
    ((5, 3), {"batch": False}, on_each("flag-told")),
    ((5, 3), {"batch": False, "splits": None}, on_each("flag-told")),
    ((5, 3), {"splits": None}, on_each("splits-told")),
    ((5, 3), {"splits": 8}, on_each("splits-listed")),
    ((5, 3), {"splits": (4, 4)}, on_each("alike-true")),
    ((5, 3), {"splits": (8,)}, on_each("alike-true")),
    ((5, 3), {"splits": (4, 4), "heads": 13}, on_each("alike-true", "heads-divided")),
    ((4, 4), {"heads": 13}, on_each("heads-divided")),
    ((5, 3), {"splits": (5, 3, 0)}, on_each("splits-count")),
    ((3, 3, 2), {"splits": (5, 3)}, on_each("splits-count", ranks=3)),
    ((5, 3), {"splits": (3, 5)}, on_each("split-true")),
    ((5, 3), {"splits": (-5, 13)}, on_each("split-true")),
    ((5, 3), {"splits": (5.0, 3.0)}, on_each("splits-ints")),
    ((5, 3), {"splits": ("5", "3")}, on_each("splits-ints")),
    ((5, 3), {"splits": "53"}, on_each("splits-ints")),
    ((5, 3), {"splits": (5, "3")}, on_each("splits-ints")),
    ((5, 3), {"heads": 13}, on_each("heads-divided-ragged")),
    ((5, 3), {"splits": (3, 5), "heads": 13}, on_each("split-true")),
    # One rank's own split is true, and the other's is not.
    ((5, 3), {"splits": (5, 2)}, [("refused-together", None), ("split-true", 1)]),
    ((5, 3), {"splits": (5, 0)}, [("refused-together", None), ("split-true", 1)]),
    ((5, 3), {"splits": (6, 3)}, [("refused-together", None), ("split-true", 0)]),
    ((3, 3, 2), {"splits": (4, 3, 1)},
     [("refused-together", None), ("split-true", 0), ("split-true", 2)]),
    # One meets the kind of all of them, and the other that its own is not true.
    ((5, 3), {"splits": (5, None)},
     [("refused-together", None), ("splits-ints", 0), ("split-true", 1)]),
    ((5, 3), {"splits": (5, 3.5)},
     [("refused-together", None), ("splits-ints", 0), ("split-true", 1)]),
    ((5, 3), {"splits": (5, [3])},
     [("refused-together", None), ("splits-ints", 0), ("split-true", 1)]),
    # What a rank is to do instead of its part.
    ((5, 3), {"fate": "away"}, [("ranks-come", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "told", "expected"), EVERYWHERE)
def test_each_clause_is_broken_by_its_own_lie(
    rows: tuple[int, ...], told: dict[str, Any], expected: Found
) -> None:
    """Nothing else is said to be broken; what is between ranks comes first, then rank by rank."""
    assert named(told_all(rows, **{"splits": rows, **told})) == expected


def test_splits_that_are_gone_once_read_are_seen() -> None:
    """A generator, which every block but the first finds empty."""
    found = check(part(5, generator(5, 3)), part(3, generator(5, 3)))

    assert named(found) == on_each("splits-again")
    assert ending(found, "0.5.23") is None


def test_a_field_that_is_not_there_is_missed() -> None:
    """The flag reads as false, the splits as none."""
    flagless, splitless = ([part(5, (5, 3)), part(3, (5, 3))] for _ in range(2))
    for one in flagless:
        del one["enabled"]
    for one in splitless:
        del one["splits"]

    assert named(check(*flagless)) == on_each("flag-told")
    assert named(check(*splitless)) == on_each("splits-told")


ONE_LIED_TO: list[tuple[dict[str, Any], Found]] = [
    ({"splits": None}, [("told-alike", None), ("refused-together", None), ("splits-told", 0)]),
    ({"enabled": False}, [("told-alike", None), ("flag-told", 0)]),
    ({"splits": (4, 4)}, [("told-alike", None), ("alike-true", 0)]),
    ({"splits": (5, 2)}, [("told-alike", None)]),
    ({"splits": (4, 3)}, [("told-alike", None), ("refused-together", None), ("split-true", 0)]),
    ({"heads": 14}, [("told-alike", None)]),
]


@pytest.mark.parametrize(("lie", "expected"), ONE_LIED_TO)
def test_a_lie_that_one_rank_hears_is_broken_between_the_ranks_first(
    lie: dict[str, Any], expected: Found
) -> None:
    """The others are told the truth, and break nothing."""
    found = check({**part(5, (5, 3)), **lie}, part(3, (5, 3)))

    assert named(found) == expected


def test_every_clause_is_broken_by_some_payload() -> None:
    """And none that the contract does not list."""
    tables = [found for _, _, found in EVERYWHERE] + [found for _, found in ONE_LIED_TO]
    broken = {clause for found in tables for clause, _ in found} | {"splits-again"}

    assert broken == {clause.name for clause in shard_splits.CONTRACT.clauses}


@pytest.mark.parametrize(
    ("rows", "told", "refusals"),
    [
        ((5, 3), {"splits": (3, 5)}, [
            "s_local (5) must equal seq_lens[0] (3)", "s_local (3) must equal seq_lens[1] (5)",
        ]),
        ((5, 3), {"splits": (5, 3, 0)}, ["seq_lens must have length 2, got 3"] * 2),
        ((4, 4), {"heads": 13}, ["h_global (13) must be divisible by world_size (2)"] * 2),
        ((5, 3), {"heads": 13}, ["h_global (13) must be divisible by world_size (2)"] * 2),
        ((3, 3, 2), {"splits": None}, [
            "LingBot causal sequence sharding requires forward_batch.sequence_shard_splits."
        ] * 3),
    ],
)  # fmt: skip
def test_each_rank_refuses_with_its_own_numbers(
    rows: tuple[int, ...], told: dict[str, Any], refusals: list[str]
) -> None:
    """Counted by hand."""
    found = told_all(rows, **{"splits": rows, **told})

    assert [one.refusal(one.clause.guards[0]) for one in found] == refusals
    assert [one.where.partition(".")[0] for one in found] == [
        f"ranks[{rank}]" for rank in range(len(rows))
    ]


def test_what_decides_a_group_is_what_one_rank_costs_the_others() -> None:
    """One refuses and the other waits: no guard is promised, and the accidents are named."""
    apart = ending(told_all((5, 3), (5, 2)), "0.5.23")
    killed = ending(check(part(5, (5, 3), fate="dies"), part(3, (5, 3))), "0.5.23")
    away = ending(check(part(5, (5, 3), fate="away"), part(3, (5, 3))), "0.5.23")

    assert apart is not None
    assert killed is not None
    assert apart.accident("0.5.23") == ("RuntimeError", "AssertionError")
    assert apart.actual == "rank 1 for split-true"
    assert killed.accident("0.5.23") == ("RuntimeError",)
    assert away is None


@pytest.mark.parametrize(
    ("splits", "accidents"),
    [
        ((5.0, 3.0), [("TypeError",), ("TypeError",)]),
        # The words look alike, and are not.
        (("5", "3"), [("AssertionError",), ("AssertionError",)]),
        ((5, "3"), [("TypeError",), ("AssertionError",)]),
    ],
)
def test_how_splits_of_another_kind_end_depends_on_the_ranks_own(
    splits: Any, accidents: list[tuple[str, ...]]
) -> None:
    """A rank looks at its own split first, and at all of them in the exchange."""
    found = told_all((5, 3), splits)

    assert [violation.accident("0.5.23") for violation in found] == accidents
