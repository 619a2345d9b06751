"""The contract of lingbot-kv-cache, alone: chunks written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, lingbot_kv_cache
from contracts.contract import Violation
from simulators.kv_chunks import RowReader, honest_chunks

REQUEST = {
    "chunks": 3,
    "tokens": 4,
    "batch": 2,
    "heads": 2,
    "chunk_heads": 2,
    "head_start": None,
    "width": 4,
    "cache": 12,
    "recent": None,
    "dtype": "torch.float32",
    "device": "cpu",
    "debug_name": "a cache",
}


def check(given: Any, cursor: Any = (None, None), **more: Any) -> list[Violation]:
    """Return the violations of chunks and of the cursors that the cache is told."""
    payload = {"chunks": given, "cursor": cursor}
    request = {**REQUEST, **more}
    return list(lingbot_kv_cache.check(payload, request, RowReader(range(2))))


def chunks(**edits: Any) -> list[dict[str, Any]]:
    """Return three honest chunks, the second of them edited."""
    first, middle, last = honest_chunks(3).records
    return [first, {**middle, **edits}, last]


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def test_honest_chunks_break_nothing() -> None:
    """Whether the cache has room for all of them or not, and the same chunk twice in a row."""
    five = list(honest_chunks(5).records)

    assert check(chunks()) == []
    assert check(five, chunks=5) == []
    assert check([*five[:2], five[1], *five[2:]], chunks=5) == []


KEY = honest_chunks(3).records[1]["key"]
VALUE = honest_chunks(3).records[1]["value"]


@pytest.mark.parametrize(
    ("edits", "clauses"),
    [
        ({"key": KEY.tolist()}, {"chunk-tensors"}),
        ({"value": VALUE.tolist()}, {"chunk-tensors"}),
        ({"key": KEY[:, :, :1], "value": VALUE[:, :, :1]}, {"heads-told"}),
        ({"start": 4.0}, {"start-number"}),
        ({"start": None}, {"start-number"}),
        ({"start": -4}, {"range-within"}),
        ({"start": 5}, {"chunk-next", "row-position", "chunks-all"}),
        ({"start": 0}, {"row-position", "chunk-next", "chunks-all"}),
        ({"value": VALUE[:, :1]}, {"chunk-shape"}),
        ({"value": VALUE[:1]}, {"chunk-shape"}),
        ({"value": VALUE.half()}, {"chunk-dtype"}),
        ({"value": VALUE.to("meta")}, {"chunk-device"}),
        ({"recent": -1}, {"recent-whole", "recent-asked"}),
        ({"recent": 3}, {"recent-asked"}),
        ({"recent": "3"}, {"recent-number", "recent-asked"}),
        ({"key": VALUE, "value": KEY}, {"chunk-identity"}),
        ({"key": KEY.flip(2), "value": VALUE.flip(2)}, {"chunk-identity"}),
        ({"key": KEY.flip(1), "value": VALUE.flip(1)}, {"row-position"}),
        ({"key": torch.zeros_like(KEY)}, {"chunk-identity"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(edits: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert names(check(chunks(**edits))) == clauses


def test_a_skipped_chunk_and_a_foreign_one_are_seen() -> None:
    """The next one does not continue, and one never comes."""
    first, _, last = honest_chunks(3).records
    foreign = honest_chunks(3).foreign[1]

    assert names(check([first, last])) == {"chunk-next", "chunks-all"}
    assert names(check([first, foreign, last])) == {"chunk-identity"}
    assert names(check(chunks(), (8, 8))) == {"cursor-true"}


def test_a_chunk_of_some_heads_names_its_own_first_one() -> None:
    """Past the end there is no room, and elsewhere there is."""
    more = {"heads": 4, "head_start": 2}
    part = list(honest_chunks(3, 2, 2).records)
    past = check([{**chunk, "head_start": 3} for chunk in part], **more)
    other = check([{**chunk, "head_start": 0} for chunk in part], **more)

    assert past[0].clause.name == other[0].clause.name == "heads-own"
    assert past[0].accident("0.5.23") == ("RuntimeError",)
    assert other[0].accident("0.5.23") == ()


def test_the_refusal_has_every_number_of_the_range() -> None:
    """Chunk 0 comes again when only 8 to 20 are kept."""
    five = list(honest_chunks(5).records)
    found = check([*five, five[0]], chunks=5)
    violation = ending(found, "0.5.16")

    assert violation is not None
    assert violation.refusal(violation.clause.guards[0]) == (
        "Invalid a cache write range: local=[-8, -4), global_end=20, prev_local_end=12, "
        "kv_cache_size=12, num_new_tokens=4, current_start=0, current_end=4"
    )


def test_the_refusal_of_other_heads_says_both_counts() -> None:
    """The cache's first."""
    (violation,) = check(chunks(key=KEY[:, :, :1]))

    assert violation.refusal(violation.clause.guards[0]) == (
        "a cache requires cache_head_start when cache heads (2) differ from input heads (1)."
    )
