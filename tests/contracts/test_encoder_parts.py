"""The contract of encoder-parts, alone: parts written by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_parts, ending
from contracts.contract import Violation
from simulators.embedding_parts import grids, honest_parts, modalities, reader

PARTS = honest_parts(3, "image", "float32").records
FOREIGN = honest_parts(3, "image", "float32").foreign
ROWS = PARTS[1]["embedding"]


def check(parts: Any, modality: str = "image") -> list[Violation]:
    """Return the violations of the parts of a request of three."""
    request = {
        "request": "request 0",
        "modalities": modalities(3, modality),
        "grids": grids(3, modality),
        "width": 8,
        "dtype": "torch.float32",
    }
    return list(encoder_parts.check(list(parts), request, reader()))


def changed(**fields: Any) -> list[dict[str, Any]]:
    """Return all parts, the second one with other fields."""
    return [PARTS[0], {**PARTS[1], **fields}, PARTS[2]]


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


@pytest.mark.parametrize("modality", ["image", "video", "audio", "mixed"])
def test_honest_parts_break_nothing(modality: str) -> None:
    """In any order: each says which it is."""
    parts = honest_parts(3, modality, "float32").records

    assert check(parts, modality) == []
    assert check(reversed(parts), modality) == []


@pytest.mark.parametrize(
    ("parts", "clauses"),
    [
        (PARTS[:2], {"parts-complete"}),
        ([*PARTS, PARTS[0]], {"parts-none-follow"}),
        (changed(kind="dict"), {"part-kind", "parts-complete"}),
        (changed(num_parts=0), {"part-count-positive", "part-index-within", "part-count-same"}),
        (changed(num_parts=4), {"part-count-same"}),
        (changed(part_idx=True), {"part-index-within"}),
        (changed(part_idx=-2), {"part-index-within"}),
        (changed(part_idx=3), {"part-index-within", "part-once", "parts-complete"}),
        (changed(part_idx=0), {"part-once", "parts-complete"}),
        (changed(request="request 1"), {"part-same-request", "parts-complete"}),
        (changed(as_text=True), {"part-modality-known"}),
        (changed(grid=PARTS[1]["grid"].tolist()), {"part-grid-kind"}),
        (changed(grid=None), {"part-grid-asked"}),
        (changed(grid=PARTS[1]["grid"] + 2), {"part-grid-asked", "part-rows-fit"}),
        (changed(embedding=None), {"part-embedding-there"}),
        (changed(embedding=ROWS[:-1]), {"part-rows-fit"}),
        (changed(embedding=ROWS.half()), {"part-row-dtype"}),
        (changed(embedding=ROWS[:, :7]), {"part-row-width"}),
        (changed(embedding=ROWS.flip(0)), {"part-row-identity"}),
        (changed(embedding=FOREIGN[1]["embedding"]), {"part-row-identity"}),
        (changed(shape=[8, 10]), {"part-shape-true"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(parts: Any, clauses: set[str]) -> None:
    """Nothing is said to be broken that does not follow from it."""
    assert names(check(parts)) == clauses


def test_a_part_of_another_modality_is_not_what_was_asked_for() -> None:
    """And its rows are no rows of that modality."""
    assert names(check(changed(modality="VIDEO"))) == {"part-modality-asked", "part-row-identity"}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (changed(kind="dict"), "expected EmbeddingData, got dict"),
        (changed(num_parts=None), "num_parts must be a positive integer"),
        (changed(part_idx=-2), "part_idx must be in [0, 3), got -2"),
        (changed(request="other"), "embedding req_id mismatch: expected request 0, got other"),
        (changed(num_parts=4), "num_parts changed from 3 to 4"),
        (changed(part_idx=0), "duplicate embedding part 0"),
        (changed(modality=None), "Invalid modality: None"),
    ],
)
def test_a_refusal_names_what_is_wrong(parts: Any, text: str) -> None:
    """From 0.5.20 on; the modality is looked at in every release."""
    violation = ending(check(parts), "0.5.20")

    assert violation is not None
    guard = violation.clause.guard("0.5.20")
    assert guard is not None
    assert violation.refusal(guard) == text
    assert (violation.clause.guard("0.5.19") is None) == ("modality" not in text)


@pytest.mark.parametrize(
    ("parts", "accident"),
    [
        (changed(part_idx="1"), ("TypeError",)),
        (changed(part_idx=3), ("IndexError",)),
        (changed(part_idx=0), ("AssertionError",)),
        (changed(kind="dict"), ("AttributeError",)),
        ([{**PARTS[0], "num_parts": 0}, *PARTS[1:]], ("IndexError",)),
        ([{**PARTS[0], "num_parts": "3"}, *PARTS[1:]], ("TypeError",)),
        (changed(embedding=ROWS[:, :7]), ("RuntimeError",)),
    ],
)
def test_before_it_some_end_in_an_accident(parts: Any, accident: tuple[str, ...]) -> None:
    """In the release without the checks."""
    violation = ending(check(parts), "0.5.19")

    assert violation is not None
    assert violation.accident("0.5.19") == accident


@pytest.mark.parametrize(
    "parts",
    [
        changed(part_idx=-2),
        changed(part_idx=True),
        changed(num_parts=4),
        changed(request="request 1"),
        [{**PARTS[0], "embedding": torch.cat([PARTS[0]["embedding"]] * 2)}, *PARTS[1:]],
    ],
)
def test_before_it_others_pass(parts: Any) -> None:
    """What counts from the end, is true, or is left out."""
    found = check(parts)

    assert found
    assert ending(found, "0.5.19") is None
