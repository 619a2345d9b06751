"""Honest assignments of items to encoders, and how a fault tells them."""

from typing import Any

import pytest

from contracts import encoder_assign
from simulators.assigned_items import (
    hashes_of,
    honest_assignment,
    largest,
    modalities_of,
    told_counts,
)
from simulators.encode_request import REQUEST, ItemReader, urls
from simulators.faults import FAULTS
from simulators.payload import Payload
from simulators.rng import stream


def faulty(name: str, at: tuple[int, ...] = (), modality: str = "image") -> Payload:
    """Return the assignment of five items to two encoders with one fault."""
    return FAULTS[name].change(honest_assignment(2, 5, modality, "http"), at, stream(0))


def counts(name: str, at: tuple[int, ...] = ()) -> Any:
    """Return the counts that are told with one fault."""
    return told_counts(faulty(name, at))


@pytest.mark.parametrize(
    ("mode", "modality"), [("http", "image"), ("http", "mixed"), ("grpc", "image")]
)
@pytest.mark.parametrize("entry", ["encode", "request"])
@pytest.mark.parametrize("encoders", [1, 2, 3, 8])
def test_an_honest_assignment_satisfies_its_contract(
    mode: str, entry: str, modality: str, encoders: int
) -> None:
    """As even as can be; by gRPC no request of a client's gets out, and the contract says so."""
    payload = honest_assignment(encoders, 7, modality, mode)
    told = {**payload.beside, "counts": told_counts(payload), "items": list(urls(REQUEST, 7))}
    request = {
        "modalities": modalities_of(7, modality),
        "hashes": hashes_of(7, modality),
        "entry": entry,
    }

    broken = [v.clause.name for v in encoder_assign.check(told, request, ItemReader(7))]
    assert broken == (["handed-taken"] if (mode, entry) == ("grpc", "request") else [])
    by_name = told_counts(payload)
    assert isinstance(by_name, dict)
    assert all(max(told) - min(told) <= 1 for told in by_name.values())


def test_counts_change_as_the_picture_says() -> None:
    """One at a time, or all of them."""
    assert counts("noop") == {"IMAGE": [3, 2]}
    assert counts("assigned-one-less", (0,)) == {"IMAGE": [2, 2]}
    assert counts("assigned-negative", (1,)) == {"IMAGE": [3, -3]}
    assert counts("assigned-moved", (1, 0)) == {"IMAGE": [4, 1]}
    assert counts("assigned-overdrawn", (0, 1)) == {"IMAGE": [-1, 6]}
    assert counts("assigned-entry-more") == {"IMAGE": [3, 1, 1]}
    assert counts("assigned-entry-lost") == {"IMAGE": [3]}
    assert counts("assigned-nothing") == {"IMAGE": [0, 0]}
    assert counts("assigned-list") == [3, 2]
    assert counts("assigned-by-none") is None
    assert counts("assigned-images-lost") == {}
    assert list(counts("assigned-modality-added")) == ["AUDIO", "IMAGE"]


def test_what_stands_beside_the_counts_changes_alone() -> None:
    """The encoders' URLs, and the hashes."""
    assert faulty("assigned-encoder-gone").beside["urls"] == ["http://encoder-0:30000"]
    assert faulty("assigned-encoders-none").beside["urls"] == []
    assert len(faulty("assigned-hashes-short").beside["hashes"]) == 4
    assert len(set(faulty("assigned-hashes-alike").beside["hashes"])) == 1
    assert len(faulty("assigned-hashes-long", modality="mixed").beside["hashes"]) == 4


def test_the_largest_modality_is_changed() -> None:
    """The first of several that are alike."""
    assert largest({"IMAGE": 1, "VIDEO": 2}) == "VIDEO"
    assert largest({"IMAGE": 1, "VIDEO": 1}) == "IMAGE"
    assert largest({"IMAGE": None}) == "IMAGE"
