"""Faults of ranks: one does not come to the exchange, or is lost in it, or holds other rows.

Their rows of the table stand at the end.
"""

from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import SPLITS, Payload
from simulators.scheduler import AWAY, DIES


def fate(what: str) -> Change:
    """Return the fault that makes one rank do something else than its part."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        fates = {**payload.beside["fates"], at[0]: what}
        return replace(payload, beside={**payload.beside, "fates": fates})

    return change


def shards_uneven(payload: Payload, at: Place, rng: Random) -> Payload:
    """[4 4] and the splits say so -> [5 3] and the splits say so"""
    first, *middle, last = payload.beside["rows"]
    rows = (first + 1, *middle, last - 1)
    return replace(payload, records=rows, beside={**payload.beside, "rows": rows})


def strategy_becomes(value: Any) -> Change:
    """Return the fault that tells another strategy."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "strategy": value})

    return change


def _strategy(name: str, value: Any, picture: str, benign: bool = False) -> Fault:
    change = strategy_becomes(value)
    return Fault(name, "substitution", change, (SPLITS,), whole, picture, "strategy", benign)


FAULTS = (
    Fault("rank-away", "delay", fate(AWAY), (SPLITS,), each,
          "a rank exchanges -> it never comes", scope="ranks"),
    Fault("rank-dies", "disconnect", fate(DIES), (SPLITS,), each,
          "a rank exchanges -> it dies", scope="ranks"),
    Fault("shards-uneven", "skew", shards_uneven, (SPLITS,), whole,
          "4 and 4 rows -> 5 and 3 rows, truly told", scope="shards"),
    _strategy("strategy-unknown", "megatron", "ulysses -> megatron"),
    _strategy("strategy-empty", "", 'ulysses -> ""'),
    _strategy("strategy-spaced", " Ulysses ", 'ulysses -> " Ulysses "', benign=True),
    _strategy("strategy-ulysses", "ulysses", "another strategy -> ulysses"),
    _strategy("strategy-replicated", "kvgather_replicated",
              "another strategy -> kvgather_replicated"),
    _strategy("strategy-sharded", "kvgather_sharded", "another strategy -> kvgather_sharded"),
)  # fmt: skip
