"""What must hold of the batch that the ranks of one sequence are told about.

A rank's part of the batch is a mapping with `batch` (whether there is one), `enabled`, `splits`
(neither is a key where the batch has no such field), `rows` (that the rank holds), `heads`,
`cache`, `strategy` and `fate`. The order of the functions is the order in which one rank meets
what they find; what holds between ranks comes first, for it decides what one rank's error costs
the others.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from contracts.clauses.rank_group import Part, met_by, walk_group
from contracts.clauses.splits import (
    FIXED_IN,
    SPLITS_COUNT,
    VARLEN_IN,
    are_alike,
    heads_clause,
    in_words,
    is_listed,
    is_used_up,
    listed,
    plain,
    walk_count,
    walk_heads,
    walk_own,
)
from contracts.contract import Clause, Guard, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

LINGBOT_FILE = "multimodal_gen/runtime/models/dits/lingbot_world.py"
_FORWARD = "LingBotWorldCausalSelfAttention.forward"
ULYSSES = "ulysses"
STRATEGIES = ("ulysses", "kvgather_replicated", "kvgather_sharded", "ring")

FLAG_TOLD = Clause(
    "flag-told", "A batch comes, and its flag says that the sequence is shared by the ranks."
)
CACHE_GIVEN = Clause(
    "cache-given",
    "A cache of keys and values comes with the call.",
    guards=(
        Guard(
            "NotImplementedError",
            "LingBot causal sequence sharding currently requires kv_cache-backed inference.",
            EVER,
            Source("0.5.23", LINGBOT_FILE, _FORWARD),
            unreachable="it stands under `if kv_cache is None`, and the flag that it tests is "
            "only set where `kv_cache is not None`",
        ),
    ),
)
STRATEGY_KNOWN = Clause(
    "strategy-known",
    "The strategy is one of those that there are.",
    guards=(
        Guard(
            "ValueError",
            "SGLANG_LINGBOT_SP_STRATEGY must be one of {known}, got {told}",
            Span("0.5.23"),
            Source("0.5.23", LINGBOT_FILE, "lingbot_sp_strategy"),
        ),
    ),
)
SPLITS_TOLD = Clause(
    "splits-told",
    "The batch has the splits of the sequence.",
    guards=(
        Guard(
            "ValueError",
            "LingBot causal sequence sharding requires forward_batch.sequence_shard_splits.",
            EVER,
            Source("0.5.23", LINGBOT_FILE, _FORWARD),
            direct=True,
        ),
    ),
)
SPLITS_LISTED = Clause(
    "splits-listed", "The splits can be gone through.", incidental=("TypeError",)
)
SPLITS_AGAIN = Clause("splits-again", "The splits can be gone through again: every block does.")
SHARDS_EVEN = Clause("shards-even", "All ranks hold as many rows, where a strategy gathers them.")
ALIKE_TRUE = Clause(
    "alike-true", "Splits that are all alike are true: one a rank, each the rows that it holds."
)
_SENTENCE = "The ranks divide the heads evenly, where splits are {}alike."
HEADS_FIXED = heads_clause("heads-divided", _SENTENCE.format(""), FIXED_IN)
HEADS_VARLEN = heads_clause("heads-divided-ragged", _SENTENCE.format("not "), VARLEN_IN)


def walk_batch(parts: Sequence[Part]) -> Iterator[Violation]:
    """Yield what is broken of the batch: between the ranks first, then rank by rank."""
    met = [met_by(rank, _met(part, rank, parts)) for rank, part in enumerate(parts)]
    return walk_group(parts, met, [_told(part) for part in parts])


def _met(part: Part, rank: int, parts: Sequence[Part]) -> Iterator[Violation]:
    enabled = part.get("enabled", "no such field")
    if not part["batch"] or not part.get("enabled"):
        yield Violation(
            FLAG_TOLD, "enabled", "True", repr(enabled) if part["batch"] else "no batch"
        )
        return
    if not part["cache"]:
        yield Violation(CACHE_GIVEN, "cache", "a cache", "none")
        return
    if part["strategy"].strip().lower() not in STRATEGIES:
        fields = {"known": STRATEGIES, "told": repr(part["strategy"].strip().lower())}
        wanted = " or ".join(STRATEGIES)
        yield Violation(STRATEGY_KNOWN, "strategy", wanted, repr(part["strategy"]), fields)
        return
    splits = part.get("splits")
    if splits is None:
        yield Violation(SPLITS_TOLD, "splits", "one for each rank", "none")
        return
    if not is_listed(splits):
        yield Violation(SPLITS_LISTED, "splits", "a tuple", repr(splits))
        return
    if is_used_up(splits):
        # What it yields is gone once it has been looked at.
        yield Violation(SPLITS_AGAIN, "splits", "a tuple", type(splits).__name__)
        return
    yield from _of_splits(list(splits), part, rank, parts)


def _of_splits(
    splits: list[Any], part: Part, rank: int, parts: Sequence[Part]
) -> Iterator[Violation]:
    rows, ranks = [other["rows"] for other in parts], len(parts)
    if _gathers(part) and len(set(rows)) > 1:
        yield Violation(SHARDS_EVEN, "rows", "alike", listed(rows))
    if are_alike(splits) or _gathers(part):
        if list(map(plain, splits)) != rows:
            yield Violation(ALIKE_TRUE, "splits", listed(rows), listed(splits))
        if not _gathers(part):
            yield from walk_heads(HEADS_FIXED, part["heads"], ranks)
        return
    yield from walk_count(SPLITS_COUNT, splits, ranks)
    if len(splits) == ranks:
        yield from walk_own(splits, splits[rank], part["rows"], rank)
    yield from walk_heads(HEADS_VARLEN, part["heads"], ranks)


def _gathers(part: Part) -> bool:
    return bool(part["strategy"].strip().lower() != ULYSSES)


def _told(part: Part) -> str:
    names = ("batch", "enabled", "heads", "cache", "strategy")
    said = [f"{name} {part[name]!r}" for name in names if name in part]
    if "splits" in part:
        said.insert(2, f"splits {in_words(part['splits'])}")
    return ", ".join(said)
