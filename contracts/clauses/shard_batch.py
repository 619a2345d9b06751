"""What must hold of the batch that the ranks of one sequence are told about.

A rank's part of the batch is a mapping with `batch` (whether there is one), `enabled`, `splits`
(neither is a key where the batch has no such field), `rows` (that the rank holds), `heads`,
`cache`, `strategy` and `fate`. The order of the functions is the order in which one rank meets
what they find; what holds between ranks comes first, for it decides what one rank's error costs
the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contracts.contract import Clause, Guard, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

LINGBOT_FILE = "multimodal_gen/runtime/models/dits/lingbot_world.py"
USP_FILE = "multimodal_gen/runtime/layers/usp.py"
_FORWARD = "LingBotWorldCausalSelfAttention.forward"
_FIXED_IN, _VARLEN_IN = "_usp_input_all_to_all", "_usp_input_all_to_all_varlen"
ULYSSES = "ulysses"
STRATEGIES = ("ulysses", "kvgather_replicated", "kvgather_sharded", "ring")

#: A rank that waits for one that is gone ends in this, once it notices.
_LOST = "RuntimeError"


def usp_guard(symbol: str, text: str) -> Guard:
    """Return the guard that is an `assert` of the exchanges; gone under `python -O`."""
    return Guard("AssertionError", text, EVER, Source("0.5.23", USP_FILE, symbol))


TOLD_ALIKE = Clause("told-alike", "Every rank is told the same.")
RANKS_COME = Clause("ranks-come", "Every rank comes to every exchange, and lives through it.")
REFUSED_TOGETHER = Clause(
    "refused-together",
    "What one rank refuses all ranks refuse, for the same: else the others wait in the exchange.",
)
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
SPLITS_INTS = Clause("splits-ints", "Every split is a whole number.", incidental=("TypeError",))
SHARDS_EVEN = Clause("shards-even", "All ranks hold as many rows, where a strategy gathers them.")
ALIKE_TRUE = Clause(
    "alike-true", "Splits that are all alike are true: one a rank, each the rows that it holds."
)
SPLITS_COUNT = Clause(
    "splits-count",
    "There is one split for each rank.",
    guards=(usp_guard(_VARLEN_IN, "seq_lens must have length {ranks}, got {splits}"),),
)
SPLIT_TRUE = Clause(
    "split-true",
    "A rank's split is the rows that it holds.",
    guards=(usp_guard(_VARLEN_IN, "s_local ({rows}) must equal seq_lens[{rank}] ({split})"),),
)
_HEADS_SENTENCE = "The ranks divide the heads evenly"
_HEADS_TEXT = "h_global ({heads}) must be divisible by world_size ({ranks})"
HEADS_FIXED = Clause(
    "heads-divided",
    f"{_HEADS_SENTENCE}, where splits are alike.",
    guards=(usp_guard(_FIXED_IN, _HEADS_TEXT),),
)
HEADS_VARLEN = Clause(
    "heads-divided-ragged",
    f"{_HEADS_SENTENCE}, where splits are not alike.",
    guards=(usp_guard(_VARLEN_IN, _HEADS_TEXT),),
)

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Met:
    """What one rank meets, and the way that it goes: `alone`, `fixed`, `varlen` or `refused`."""

    violations: tuple[Violation, ...]
    way: str


def walk_batch(parts: Sequence[Part]) -> Iterator[Violation]:
    """Yield what is broken of the batch: between the ranks first, then rank by rank."""
    met = [_refusing(meets(part, rank, parts)) for rank, part in enumerate(parts)]
    told = [_told(part) for part in parts]
    if any(one != told[0] for one in told):
        yield Violation(TOLD_ALIKE, "ranks", told[0], "; ".join(told[1:]))
    fates = [f"rank {rank}: {part['fate']}" for rank, part in enumerate(parts) if part["fate"]]
    if fates:
        lost = (_LOST,) if any(part["fate"] == "dies" for part in parts) else ()
        yield Violation(RANKS_COME, "ranks", "all", ", ".join(fates), incidental=lost)
    yield from _apart(met)
    for one in met:
        yield from one.violations


def _apart(met: Sequence["Met"]) -> Iterator[Violation]:
    """Yield that ranks do not refuse alike, if they do not."""
    why = [one.violations[-1] if one.way == "refused" else None for one in met]
    if len({violation and violation.clause.name for violation in why}) == 1:
        return
    named = [f"rank {r} for {v.clause.name}" for r, v in enumerate(why) if v is not None]
    if named:
        types = sorted({_error(violation) for violation in why if violation is not None})
        got, incidental = ", ".join(named), (_LOST, *types)
        yield Violation(REFUSED_TOGETHER, "ranks", "by all or none", got, incidental=incidental)


def meets(part: Part, rank: int, parts: Sequence[Part]) -> Met:
    """Return what one rank meets of its part of the batch."""
    found = tuple(
        replace(violation, rank=rank, where=f"ranks[{rank}].{violation.where}")
        for violation in _met(part, rank, parts)
    )
    alone = any(violation.clause in (FLAG_TOLD, CACHE_GIVEN) for violation in found)
    return Met(found, "alone" if alone else _exchange(part))


def _met(part: Part, rank: int, parts: Sequence[Part]) -> Iterator[Violation]:
    enabled = part.get("enabled", "no such field")
    if not part["batch"] or not part.get("enabled"):
        yield Violation(FLAG_TOLD, "enabled", "True", repr(enabled) if part["batch"] else "no batch")
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
    if not _is_listed(splits):
        yield Violation(SPLITS_LISTED, "splits", "a tuple", repr(splits))
        return
    if iter(splits) is splits:
        # What it yields is gone once it has been looked at.
        yield Violation(SPLITS_AGAIN, "splits", "a tuple", type(splits).__name__)
        return
    yield from _of_splits(list(splits), part, rank, parts)


def _of_splits(
    splits: list[Any], part: Part, rank: int, parts: Sequence[Part]
) -> Iterator[Violation]:
    rows, ranks = [other["rows"] for other in parts], len(parts)
    if _gathers(part) and len(set(rows)) > 1:
        yield Violation(SHARDS_EVEN, "rows", "alike", _listed(rows))
    fields = {"heads": part["heads"], "ranks": ranks}
    wanted = f"a multiple of {ranks}"
    if _are_alike(splits) or _gathers(part):
        if _plain(splits) != rows:
            yield Violation(ALIKE_TRUE, "splits", _listed(rows), _listed(splits))
        if part["heads"] % ranks and not _gathers(part):
            yield Violation(HEADS_FIXED, "heads", wanted, str(part["heads"]), fields)
        return
    if len(splits) != ranks:
        told = {"ranks": ranks, "splits": len(splits)}
        yield Violation(SPLITS_COUNT, "splits", f"{ranks} splits", str(len(splits)), told)
        return
    yield from _of_own(splits, part["rows"], rank)
    if part["heads"] % ranks:
        yield Violation(HEADS_VARLEN, "heads", wanted, str(part["heads"]), fields)


def _of_own(splits: list[Any], rows: int, rank: int) -> Iterator[Violation]:
    odd = [split for split in splits if type(_plain_one(split)) is not int]
    own = splits[rank]
    # A word that reads like the number is not that number, and the error's two numbers look alike.
    is_word = odd and str(own) == str(rows) and own != rows
    where = f"splits[{rank}]"
    if is_word:
        said = ("AssertionError",)
        yield Violation(SPLITS_INTS, "splits", "ints", _listed(splits), incidental=said)
    if _plain_one(own) != rows:
        told = {"rows": rows, "rank": rank, "split": own}
        yield Violation(SPLIT_TRUE, where, str(rows), repr(own), told)
    elif odd:
        yield Violation(SPLITS_INTS, "splits", "ints", _listed(splits))


def _exchange(part: Part) -> str:
    splits = part.get("splits")
    if splits is None or not _is_listed(splits):
        return "refused"
    if _gathers(part):
        return str(part["strategy"])
    return "fixed" if iter(splits) is not splits and _are_alike(list(splits)) else "varlen"


def _refusing(met: Met) -> Met:
    ends = next((index for index, v in enumerate(met.violations) if _ends(v)), None)
    return met if ends is None else Met(met.violations[: ends + 1], "refused")


def _ends(violation: Violation) -> bool:
    reachable = any(not guard.unreachable for guard in violation.clause.guards)
    return reachable or bool(_accident(violation))


def _error(violation: Violation) -> str:
    if violation.clause.guards:
        return violation.clause.guards[0].error
    return _accident(violation)[0]


def _accident(violation: Violation) -> tuple[str, ...]:
    own = violation.incidental
    return violation.clause.incidental if own is None else own


def _gathers(part: Part) -> bool:
    return bool(part["strategy"].strip().lower() != ULYSSES)


def _is_listed(splits: Any) -> bool:
    try:
        iter(splits)
    except TypeError:
        return False
    return True


def _are_alike(splits: Sequence[Any]) -> bool:
    return len(splits) <= 1 or all(split == splits[0] for split in splits)


def _plain(splits: Sequence[Any]) -> list[Any]:
    return [_plain_one(split) for split in splits]


def _plain_one(split: Any) -> Any:
    # A tensor of one number stands for it.
    item = getattr(split, "item", None)
    return item() if item is not None and getattr(split, "ndim", 1) == 0 else split


def _listed(splits: Sequence[Any]) -> str:
    return ", ".join(repr(_plain_one(split)) for split in splits) or "none"


def _told(part: Part) -> str:
    splits = part.get("splits", "no such field")
    if _is_listed(splits) and not isinstance(splits, str) and iter(splits) is not splits:
        splits = tuple(_plain(list(splits)))
    elif not isinstance(splits, str | int) and splits is not None:
        splits = type(splits).__name__
    said = {**part, "splits": splits, "rows": None, "first": None, "fate": None}
    names = ("batch", "enabled", "splits", "heads", "cache", "strategy")
    return ", ".join(f"{name} {said[name]!r}" for name in names if name in said)
