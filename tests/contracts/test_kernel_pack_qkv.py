"""The contract of kernel-pack-qkv, alone: three tensors, a number of ranks and memory, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_pack_qkv
from contracts.contract import Violation
from simulators.kernel_rows import owner_of, stamped

SHAPE = (6, 8, 16)
Q, K, V = (stamped(part, SHAPE) for part in ("q", "k", "v"))
OUT = torch.zeros(2, 6, 4, 48)
REQUEST = {
    "shape": SHAPE,
    "dtype": "torch.float32",
    "world_size": 2,
    "device_types": ["cpu"],
    "takes_out": True,
}


def check(takes_out: bool = True, **told: Any) -> list[Violation]:
    """Return the violations of an honest payload with some of it changed."""
    payload = {"q": Q, "k": K, "v": V, "world_size": 2, "out": OUT, **told}
    request = {**REQUEST, "takes_out": takes_out}
    return list(kernel_pack_qkv.check(payload, request, owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def test_an_honest_payload_breaks_nothing() -> None:
    """Nor do views with gaps between rows or heads."""
    assert check() == []
    assert check(out=None) == []
    apart = torch.zeros(12, 16, 16)[::2, ::2].copy_(K)
    assert check(k=apart) == []


COLUMNS_APART = Q.transpose(1, 2).contiguous().transpose(1, 2)
LIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"k": K[:-1]}, ["same-shape", "shape-asked"]),
    ({"q": Q[None]}, ["same-shape", "shape-asked"]),
    ({"q": Q[:-1], "k": K[:-1], "v": V[:-1], "out": None}, ["shape-asked"]),
    ({"v": V.to("meta")}, ["on-device", "alike"]),
    ({"k": K.half()}, ["alike", "dtype-asked"]),
    ({"q": Q.half(), "k": K.half(), "v": V.half(), "out": None}, ["dtype-asked"]),
    ({"q": COLUMNS_APART}, ["columns-together"]),
    ({"world_size": 3}, ["world-divides", "out-fits", "world-asked"]),
    ({"world_size": 0}, ["world-divides", "world-asked"]),
    ({"world_size": 4, "out": None}, ["world-asked"]),
    ({"world_size": 2.0}, ["world-whole"]),
    ({"world_size": None}, ["world-whole"]),
    ({"out": OUT[..., :-1]}, ["out-fits"]),
    ({"out": OUT.half()}, ["out-fits"]),
    ({"out": torch.zeros(2, 6, 48, 4).transpose(2, 3)}, ["out-fits"]),
    ({"out": OUT.to("meta")}, ["out-fits"]),
    ({"k": V, "v": K}, ["row-identity"]),
    ({"k": K.roll(1, 0)}, ["row-identity"]),
    ({"k": K.flip(1)}, ["row-identity"]),
    ({"k": stamped("k", SHAPE, request=1)}, ["row-identity"]),
]


@pytest.mark.parametrize(("told", "clauses"), LIES)
def test_each_clause_is_broken_by_its_own_lie(told: dict[str, Any], clauses: list[str]) -> None:
    """In the order of upstream, and nothing else is said to be broken."""
    assert list(dict.fromkeys(v.clause.name for v in check(**told))) == clauses


def test_every_check_came_with_0_5_18() -> None:
    """Before, an accident is all that can end the call, and most lies cause none."""
    for told, clauses in LIES:
        found = check(**told)
        guarded = clauses[0] in {"same-shape", "on-device", "alike", "columns-together"} | {
            "world-divides", "out-fits",
        }  # fmt: skip
        assert bool(refusal(found)) == bool(refusal(found, "0.5.18")) == guarded
        assert refusal(found, "0.5.17") == ""


def test_the_device_is_named_since_0_5_23() -> None:
    """It is that of q, whichever is elsewhere."""
    text = "q, k, and v must be on one of ('cpu',), got {}"

    assert refusal(check(v=V.to("meta"))) == text.format("cpu")
    assert refusal(check(q=Q.to("meta"))) == text.format("meta")
    for release in ("0.5.18", "0.5.19", "0.5.22"):
        assert refusal(check(v=V.to("meta")), release) == "q, k, and v must be CUDA tensors"


@pytest.mark.parametrize(
    ("told", "accident"),
    [
        ({"q": Q[None]}, ("ValueError",)),
        ({"k": K[None]}, ()),
        ({"world_size": 0}, ("ZeroDivisionError",)),
        ({"world_size": -2}, ("RuntimeError",)),
        ({"world_size": 3}, ()),
        ({"world_size": "2"}, ("TypeError",)),
    ],
)
def test_what_0_5_17_ends_in_depends_on_the_value(
    told: dict[str, Any], accident: tuple[str, ...]
) -> None:
    """It unpacks the shape of q, and divides."""
    found = check(takes_out=False, **told)

    assert found[0].accident("0.5.17") == accident


def test_memory_that_is_not_taken_is_not_looked_at() -> None:
    """0.5.17 has no such argument."""
    assert check(takes_out=False, out=OUT.half()) == []
