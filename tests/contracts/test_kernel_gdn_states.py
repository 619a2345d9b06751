"""The contract of kernel-gdn-states, alone: starts, slots and states, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_gdn_states
from contracts.contract import Answer, Violation
from contracts.releases import RELEASES
from simulators.stateful_sequences import Sizes, honest_sequences, owner_reader

SIZES = Sizes((2, 3))
POOL = honest_sequences(SIZES).beside["pool"]
OWN = POOL[[1, 3]]


def told(*numbers: int) -> torch.Tensor:
    """Return numbers as they are told."""
    return torch.tensor(numbers, dtype=torch.int64)


def payload(entry: str = "update", **changed: Any) -> dict[str, Any]:
    """Return an honest payload with some of it changed."""
    return {
        "states": OWN if entry == "recurrent" else POOL,
        "slots": told(1, 3),
        "starts": told(0, 2, 5),
        "batch": 1,
        "dtype": "torch.bfloat16",
        "scale": 0.25,
        "places": (0, 1),
        **changed,
    }


def request(entry: str) -> dict[str, Any]:
    """Return what was asked for."""
    return {
        "entry": entry,
        "starts": (0, 2, 5),
        "slots": (1, 3),
        "shape": (2, 16, 16),
        "scale": 0.25,
    }


def check(entry: str = "update", **changed: Any) -> list[Violation]:
    """Return the violations of a payload with some of it changed."""
    told = payload(entry, **changed)
    return list(kernel_gdn_states.check(told, request(entry), owner_reader(SIZES)))


def refusal(found: list[Violation], release: str) -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


@pytest.mark.parametrize("entry", ["recurrent", "update", "chunk"])
def test_an_honest_payload_breaks_nothing(entry: str) -> None:
    """At any entry."""
    assert check(entry) == []


TURNED = POOL.transpose(-1, -2).contiguous()
LIES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("chunk", {"dtype": "torch.float32"}, ["dtype-fits-chunk"]),
    ("recurrent", {"batch": 2}, ["batch-flat-recurrent"]),
    ("update", {"batch": 2}, ["batch-flat-update"]),
    ("chunk", {"batch": 2}, ["batch-flat-chunk"]),
    ("recurrent", {"states": OWN[:1]}, ["state-count-recurrent"]),
    ("recurrent", {"states": POOL}, ["state-count-recurrent", "state-identity"]),
    ("update", {"slots": told(1)}, ["state-count-update", "place-count-update"]),
    ("chunk", {"slots": told(1)}, ["state-count-chunk"]),
    ("chunk", {"starts": told(0, 5)}, ["state-count-chunk", "starts-asked"]),
    ("update", {"places": (0,)}, ["place-count-update"]),
    ("update", {"places": None}, ["places-told"]),
    ("update", {"slots": None}, ["slots-told"]),
    ("update", {"scale": 0.0}, ["scale-positive-update", "scale-asked"]),
    ("chunk", {"scale": 0.0}, ["scale-asked"]),
    ("recurrent", {"scale": float("nan")}, ["scale-positive-recurrent", "scale-asked"]),
    ("update", {"starts": None}, ["starts-told"]),
    ("update", {"starts": told(0, 2, 5).float()}, ["starts-whole"]),
    ("update", {"starts": told(1, 2, 5)}, ["starts-at-zero", "starts-asked"]),
    ("update", {"starts": told(0, 5, 2)}, ["starts-rise", "starts-end", "starts-asked"]),
    ("update", {"starts": told(0, 2, 4)}, ["starts-end", "starts-asked"]),
    ("update", {"starts": told(0, 3, 5)}, ["starts-asked"]),
    ("update", {"slots": told(1, 5)}, ["slot-within", "state-identity"]),
    ("update", {"slots": told(-1, 3)}, ["slot-within", "state-identity"]),
    ("update", {"slots": told(3, 3)}, ["slot-once", "state-identity"]),
    ("update", {"slots": told(3, 1)}, ["state-identity"]),
    ("update", {"slots": told(0, 3)}, ["state-identity"]),
    ("recurrent", {"states": OWN.flip(0)}, ["state-identity"]),
    ("update", {"states": POOL[:, :1]}, ["state-shape", "states-together"]),
    ("update", {"states": POOL.half()}, ["state-dtype"]),
    ("update", {"states": POOL.repeat_interleave(2, 0)[::2]}, ["states-together"]),
    ("update", {"states": TURNED}, ["state-identity"]),
]


@pytest.mark.parametrize(("entry", "lie", "clauses"), LIES)
def test_each_clause_is_broken_by_its_own_lie(
    entry: str, lie: dict[str, Any], clauses: list[str]
) -> None:
    """In the order of upstream, and nothing else is said to be broken."""
    assert list(dict.fromkeys(v.clause.name for v in check(entry, **lie))) == clauses


@pytest.mark.parametrize("release", RELEASES)
def test_counts_are_refused_with_their_numbers(release: str) -> None:
    """In every release."""
    count = (
        "The number of initial states is expected to be equal to the number of input sequences, "
        "i.e., 2 rather than {}."
    )

    assert refusal(check("recurrent", states=OWN[:1]), release) == count.format(1)
    assert refusal(check("update", slots=told(1, 3, 0)), release) == count.format(3)
    assert refusal(check("chunk", slots=told()), release) == count.format(0)
    assert "is expected to be 1 rather than 4 when" in refusal(check(batch=4), release)
    assert refusal(check(places=(0, 1, 2)), release).endswith("i.e., 2 != 3.")
    assert refusal(check(scale=-1.0), release) == "scale must be positive"


@pytest.mark.parametrize(
    "lie",
    [
        {"starts": told(0, 5, 2)},
        {"starts": told(0, 2, 4)},
        {"slots": told(3, 1)},
        {"slots": told(1, 1)},
        {"states": POOL.repeat_interleave(2, 0)[::2]},
    ],
)
@pytest.mark.parametrize("release", RELEASES)
def test_nothing_looks_at_order_or_at_whose_they_are(release: str, lie: dict[str, Any]) -> None:
    """Such lies end no call."""
    found = check(**lie)

    assert found
    assert ending(found, release) is None


def test_places_may_be_missing_since_0_5_22() -> None:
    """Before, their length is asked for all the same."""
    (found,) = check(places=None)

    assert [bool(found.accident(release)) for release in RELEASES] == [True] * 6 + [False] * 2
    assert check(slots=None)[0].accident("0.5.23") == ("AttributeError",)
    assert check("chunk", slots=None)[0].accident("0.5.23") == ()


def test_without_a_reader_identity_is_unchecked() -> None:
    """And whoever asks is told."""
    said = kernel_gdn_states.answers(payload(), request("update"))

    assert said["state-identity"] is Answer.UNCHECKED
    assert {answer for name, answer in said.items() if name != "state-identity"} == {Answer.HELD}
