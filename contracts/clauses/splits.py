"""What must hold of the splits of a sequence, one for each rank, where an exchange goes by them.

The exchanges of `layers.usp` check them with `assert`: gone under `python -O`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from contracts.contract import Clause, Guard, Violation
from contracts.releases import EVER
from contracts.source import Source

USP_FILE = "multimodal_gen/runtime/layers/usp.py"
FIXED_IN, VARLEN_IN = "_usp_input_all_to_all", "_usp_input_all_to_all_varlen"
FIXED_OUT, VARLEN_OUT = "_usp_output_all_to_all", "_usp_output_all_to_all_varlen"


def usp_guard(symbol: str, text: str) -> Guard:
    """Return the guard that is an `assert` of one of the exchanges."""
    return Guard("AssertionError", text, EVER, Source("0.5.23", USP_FILE, symbol))


def count_clause(name: str, symbol: str) -> Clause:
    """Return the clause that there is one split for each rank, as one exchange checks it."""
    text = "seq_lens must have length {ranks}, got {splits}"
    return Clause(name, "There is one split for each rank.", guards=(usp_guard(symbol, text),))


def heads_clause(name: str, sentence: str, symbol: str) -> Clause:
    """Return the clause that ranks divide heads evenly, as one exchange checks it."""
    text = "h_global ({heads}) must be divisible by world_size ({ranks})"
    return Clause(name, sentence, guards=(usp_guard(symbol, text),))


SPLITS_INTS = Clause("splits-ints", "Every split is a whole number.", incidental=("TypeError",))
SPLITS_COUNT = count_clause("splits-count", VARLEN_IN)
SPLIT_TRUE = Clause(
    "split-true",
    "A rank's split is the rows that it holds.",
    guards=(usp_guard(VARLEN_IN, "s_local ({rows}) must equal seq_lens[{rank}] ({split})"),),
)


def walk_count(clause: Clause, splits: Sequence[Any], ranks: int) -> Iterator[Violation]:
    """Yield that there is not one split for each rank, if so."""
    if len(splits) != ranks:
        told = {"ranks": ranks, "splits": len(splits)}
        yield Violation(clause, "splits", f"{ranks} splits", str(len(splits)), told)


def walk_heads(clause: Clause, heads: int, ranks: int) -> Iterator[Violation]:
    """Yield that ranks do not divide heads evenly, if so."""
    if heads % ranks:
        fields = {"heads": heads, "ranks": ranks}
        yield Violation(clause, "heads", f"a multiple of {ranks}", str(heads), fields)


def walk_own(splits: Sequence[Any], own: Any, rows: int, rank: int) -> Iterator[Violation]:
    """Yield what is wrong with a rank's own split, and then with the kind of all of them.

    Args:
        splits: Those of all ranks.
        own: That of the rank.
        rows: What it holds.
        rank: Its index.
    """
    odd = [split for split in splits if type(plain(split)) is not int]
    # A word that reads like the number is not that number: both numbers of the error look alike.
    if odd and str(own) == str(rows) and own != rows:
        said = ("AssertionError",)
        yield Violation(SPLITS_INTS, "splits", "ints", listed(splits), incidental=said)
    if plain(own) != rows:
        told = {"rows": rows, "rank": rank, "split": own}
        yield Violation(SPLIT_TRUE, f"splits[{rank}]", str(rows), repr(own), told)
    elif odd:
        yield Violation(SPLITS_INTS, "splits", "ints", listed(splits))


def is_listed(splits: Any) -> bool:
    """Return whether splits can be gone through."""
    try:
        iter(splits)
    except TypeError:
        return False
    return True


def is_used_up(splits: Any) -> bool:
    """Return whether what can be gone through can be so only once."""
    return iter(splits) is splits


def are_alike(splits: Sequence[Any]) -> bool:
    """Return whether all splits are alike, as upstream looks at it."""
    return len(splits) <= 1 or all(split == splits[0] for split in splits)


def plain(split: Any) -> Any:
    """Return a split, or the number that a tensor of one number holds."""
    item = getattr(split, "item", None)
    return item() if item is not None and getattr(split, "ndim", 1) == 0 else split


def listed(splits: Sequence[Any]) -> str:
    """Return splits in words."""
    return ", ".join(repr(plain(split)) for split in splits) or "none"


def in_words(splits: Any) -> str:
    """Return splits in words that are alike where they are the same, without going through them."""
    if not isinstance(splits, str) and is_listed(splits):
        return type(splits).__name__ if is_used_up(splits) else f"[{listed(list(splits))}]"
    return repr(splits)
