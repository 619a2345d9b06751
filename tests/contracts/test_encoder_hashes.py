"""The contract of encoder-hashes, alone: hashes and pixel features by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_hashes, ending
from contracts.contract import Violation
from simulators.encoder import owner_of, stamped_rows

HASHES = ["h", "j"]
FEATURES = torch.cat([stamped_rows(0, 6), stamped_rows(1, 12)]).repeat_interleave(4, dim=0)
REQUEST = {
    "name": "request 0",
    "model": "qwen2_vl",
    "modality": "IMAGE",
    "hashes": HASHES,
    "counts": [6, 12],
    "merge_size": 2,
}


def check(hashes: Any = None, features: torch.Tensor = FEATURES) -> list[Violation]:
    """Return the violations of hashes, or of features where none come."""
    payload = {"hashes": hashes, "features": features}
    return list(encoder_hashes.check(payload, REQUEST, owner_of))


@pytest.mark.parametrize("hashes", [HASHES, tuple(HASHES), None])
def test_honest_hashes_and_features_break_nothing(hashes: Any) -> None:
    """In a list or a tuple, or none at all."""
    assert check(hashes) == []


@pytest.mark.parametrize(
    ("hashes", "clauses"),
    [
        (7, ["hashes-sized"]),
        (7.5, ["hashes-sized"]),
        ([], ["hash-each"]),
        (["h"], ["hash-each"]),
        ("h,j", ["hash-each"]),
        (["j", "h"], ["own-hash", "own-hash"]),
        (["h", "h"], ["own-hash"]),
        ([None, None], ["own-hash", "own-hash"]),
        ({"h": 0, "k": 1}, ["own-hash"]),
    ],
)
def test_hashes_that_come_are_counted_and_believed(hashes: Any, clauses: list[str]) -> None:
    """A text is as long as its letters."""
    assert [v.clause.name for v in check(hashes)] == clauses


@pytest.mark.parametrize(
    ("features", "clauses"),
    [
        (FEATURES[:-4], ["key-features"]),
        (FEATURES[:0], ["key-features"]),
        (FEATURES.roll(4, 0), ["key-features"]),
        (torch.cat([FEATURES, FEATURES[-4:]]), ["patch-count"]),
    ],
)
def test_keys_are_made_of_what_the_grids_cut(features: torch.Tensor, clauses: list[str]) -> None:
    """What lies behind it is in no key, and nothing of it is refused."""
    found = check(None, features)

    assert [v.clause.name for v in found] == clauses
    assert ending(found, "0.5.23") is None


@pytest.mark.parametrize(
    ("release", "text"),
    [
        (
            "0.5.16",
            "User-supplied hashes length 3 != grid count 2 for qwen2_vl/IMAGE; "
            "hashes must be in grid space (1 per encoder grid entry).",
        ),
        (
            "0.5.23",
            "User-supplied hashes length 3 != grid count 2 for req request 0; "
            "hashes must be grid-space (1 per encoder grid entry).",
        ),
    ],
)
def test_the_refusal_says_both_counts(release: str, text: str) -> None:
    """Every release refuses, in its own words."""
    violation = ending(check("abc"), release)

    assert violation is not None
    guard = violation.clause.guard(release)
    assert guard is not None
    assert (guard.error, violation.refusal(guard)) == ("BadRequestError", text)


def test_what_has_no_length_ends_in_an_accident() -> None:
    """And an owner is told only by stamps."""
    (violation,) = check(7)

    assert violation.accident("0.5.23") == ("TypeError",)
    payload = {"hashes": None, "features": FEATURES}
    assert encoder_hashes.answers(payload, REQUEST)["key-features"] == "unchecked"
