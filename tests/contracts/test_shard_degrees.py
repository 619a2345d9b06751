"""The contract of shard-degrees, alone: degrees written by hand."""

from typing import Any

import pytest

from contracts import ending, shard_degrees
from contracts.contract import Answer, Violation

HONEST = {"sp": 4, "ulysses": 4, "ring": 1, "heads": 8, "shard": True}
ENTRIES = ("model", "stage", "cache", "attention")


def check(entry: str, ranks: int = 4, **told: Any) -> list[Violation]:
    """Return the violations of honest degrees of four ranks, some of them told otherwise."""
    request = {"entry": entry, "ranks": ranks, "heads": 8}
    return list(shard_degrees.check({**HONEST, **told}, request))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def refusal(found: list[Violation]) -> str:
    """Return the documented error in which a call ends, with its type; empty if there is none."""
    violation = ending(found, "0.5.16")
    guard = violation.clause.guard("0.5.16") if violation is not None else None
    return f"{guard.error}: {violation.refusal(guard)}" if violation and guard else ""


@pytest.mark.parametrize("entry", ENTRIES)
def test_honest_degrees_break_nothing(entry: str) -> None:
    """Neither on four ranks nor on one."""
    assert check(entry) == []
    if entry != "cache":
        assert check(entry, ranks=1, sp=1, ulysses=1) == []


@pytest.mark.parametrize(
    ("entry", "told", "clauses"),
    [
        ("model", {"shard": None}, {"flag-told"}),
        ("model", {"shard": "false"}, {"flag-boolean"}),
        ("model", {"sp": "4"}, {"group-number"}),
        ("model", {"sp": 4.0}, {"group-whole"}),
        ("model", {"sp": 8}, {"group-ranks", "degrees-agree"}),
        ("model", {"sp": 8, "ulysses": 8}, {"group-ranks"}),
        ("model", {"ulysses": 2}, {"degrees-agree"}),
        ("model", {"ring": 2}, {"model-ring-one"}),
        ("model", {"ring": None}, {"ring-number"}),
        ("model", {"ring": 0}, {"ring-one", "degrees-agree"}),
        ("model", {"ulysses": 1}, {"model-ulysses-shared"}),
        ("stage", {"shard": False}, {"flag-told"}),
        ("stage", {"ring": 2}, {"stage-ring-one"}),
        ("stage", {"ulysses": 1}, {"degrees-agree"}),
        ("stage", {"ulysses": 1, "ring": 4}, {"ring-one"}),
        ("stage", {"heads": 7}, {"stage-heads-divide"}),
        ("stage", {"heads": 4}, {"heads-asked"}),
        ("stage", {"heads": None}, {"heads-number"}),
        ("cache", {"ulysses": 1}, {"stage-ulysses-shared"}),
        ("cache", {"ulysses": "4"}, {"ulysses-number"}),
        ("attention", {"ulysses": 0}, {"degrees-agree"}),
        ("attention", {"ulysses": 4.0}, {"ulysses-whole"}),
        ("attention", {"heads": 9}, {"attention-heads-divide"}),
        ("attention", {"heads": 8.0}, {"heads-whole"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(
    entry: str, told: dict[str, Any], clauses: set[str]
) -> None:
    """Nothing else is said to be broken."""
    assert names(check(entry, **told)) == clauses


def test_the_ring_is_looked_at_before_the_ulysses_degree_and_that_before_the_heads() -> None:
    """So the first of several lies is the one that is refused."""
    ring = (
        "NotImplementedError: LingBot causal sequence sharding currently supports "
        "ulysses_degree > 1 with ring_degree = 1 only."
    )

    assert refusal(check("model", ring=2, ulysses=1)) == ring
    assert refusal(check("stage", ring=2, heads=7)) == ring
    assert refusal(check("cache", ring=2, ulysses=1, heads=7)) == ring
    assert refusal(check("cache", ulysses=1, heads=7)) == (
        "ValueError: LingBot causal sequence sharding requires ulysses_degree > 1."
    )


def test_a_refusal_names_the_heads_and_the_degree() -> None:
    """In the words of the part that was told."""
    assert refusal(check("stage", ulysses=5)) == (
        "ValueError: num_attention_heads (8) must be divisible by ulysses_degree (5)."
    )
    assert refusal(check("attention", heads=9)) == (
        "ValueError: num_heads (9) must be divisible by ulysses_degree (4)."
    )


def test_without_the_flag_no_degree_is_read() -> None:
    """A ring degree that would be refused is let through, and the clause is not judged."""
    lost = {name: told for name, told in HONEST.items() if name != "shard"} | {"ring": 2}
    request = {"entry": "model", "ranks": 4, "heads": 8}
    found = list(shard_degrees.check(lost, request))

    assert names(found) == {"flag-told"}
    assert ending(found, "0.5.23") is None
    assert shard_degrees.answers(lost, request)["model-ring-one"] is Answer.UNCHECKED


@pytest.mark.parametrize(
    ("size", "accident"), [(8, ()), (2, ("IndexError",)), (1, ()), (0, ("RuntimeError",))]
)
def test_how_a_group_of_another_size_ends(size: int, accident: tuple[str, ...]) -> None:
    """Too many shares are accepted; too few leave the last ranks without one."""
    violation = next(v for v in check("model", sp=size) if v.clause.name == "group-ranks")

    assert violation.accident("0.5.23") == accident
