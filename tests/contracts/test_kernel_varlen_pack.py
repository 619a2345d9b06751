"""The contract of kernel-varlen-pack, alone: dense tensors and positions, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_varlen_pack
from contracts.contract import Violation
from contracts.releases import RELEASES
from simulators.kernel_rows import owner_of, stamped

#: Two sequences of 3 and 2 tokens, padded to 4.
KEPT = [0, 1, 2, 4, 5]
Q, K, V = (stamped(part, (8, 2, 8)).reshape(2, 4, 2, 8) for part in ("q", "k", "v"))
INDICES = torch.tensor(KEPT)
PACKED = Q.reshape(8, 2, 8)[KEPT]


def check(entry: str = "pack", **told: Any) -> list[Violation]:
    """Return the violations of an honest payload with some of it changed."""
    payload = {"q": Q, "k": K, "v": V, "indices": INDICES, "packed": PACKED, **told}
    request = {
        "entry": entry,
        "total": 8,
        "kept": KEPT,
        "shape": (2, 4, 2, 8),
        "dtype": "torch.float32",
    }
    return list(kernel_varlen_pack.check(payload, request, owner_of))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def names(found: list[Violation]) -> list[str]:
    """Return the clauses that are broken, each once, in order."""
    return list(dict.fromkeys(violation.clause.name for violation in found))


def test_an_honest_payload_breaks_nothing() -> None:
    """With indices of either type, and dense tensors with gaps."""
    for entry in ("pack", "inverse", "scatter"):
        assert check(entry) == []
        assert check(entry, indices=INDICES.int()) == []
    assert check(k=K.repeat_interleave(2, dim=2)[:, :, ::2]) == []


@pytest.mark.parametrize(
    ("told", "clauses"),
    [
        ({"k": K[:, :-1]}, ["shape-shared", "form-asked"]),
        ({"k": K.half()}, ["dtype-shared", "form-asked"]),
        ({p: t.flatten(0, 1) for p, t in (("q", Q), ("k", K), ("v", V))}, ["dense", "form-asked"]),
        ({"indices": INDICES.float()}, ["index-kind"]),
        ({"indices": KEPT}, ["index-kind"]),
        ({"indices": INDICES[None]}, ["index-flat"]),
        ({"indices": INDICES.repeat_interleave(2)[::2]}, ["index-together"]),
        ({"indices": torch.tensor([0, 1, 2, 4, 8])}, ["index-within", "kept-asked"]),
        ({"indices": torch.tensor([0, 1, 2, 4, -3])}, ["index-within", "kept-asked"]),
        ({"indices": torch.tensor([0, 1, 2, 4, 4])}, ["index-once", "kept-asked"]),
        ({"indices": INDICES[:-1]}, ["kept-asked"]),
        ({"indices": INDICES.flip(0)}, ["kept-asked"]),
        ({"k": V, "v": K}, ["row-identity"]),
        ({"q": Q.flip(0)}, ["row-identity"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(told: dict[str, Any], clauses: list[str]) -> None:
    """In the order of upstream, and nothing else is said to be broken."""
    assert names(check(**told)) == clauses


def test_what_an_entry_does_not_get_is_not_looked_at() -> None:
    """The way back gets no dense tensors, and packing no packed rows."""
    assert check("inverse", k=K.half()) == []
    assert check("pack", packed=PACKED.flatten(1)) == []
    assert names(check("scatter", packed=PACKED.flatten(1))) == ["packed"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_same_asserts_stand_in_every_release(release: str) -> None:
    """Their file has moved twice."""
    assert refusal(check(k=K[:, :-1]), release) == "Q/K/V must share shape"
    assert refusal(check(k=K.half()), release) == "Q/K/V must share dtype"
    flat = {"q": Q.flatten(0, 1), "k": K.flatten(0, 1), "v": V.flatten(0, 1)}
    assert refusal(check(**flat), release) == "Q/K/V must be [B, S, H, D]"
    packed = check("scatter", packed=PACKED[None])
    assert refusal(packed, release) == "out_unpad must be [total_valid, H, D]"


@pytest.mark.parametrize(
    ("indices", "packs", "back"),
    [
        (INDICES.float(), ("AssertionError",), ()),
        (KEPT, ("AttributeError",), ("AttributeError",)),
        (INDICES[:, None], (), ("RuntimeError",)),
        (INDICES[None], (), ()),
        (torch.tensor([[0, 1], [2, 4]]), (), ()),
        (torch.tensor([[0, 1, 2], [4, 5, 6]]), (), ("RuntimeError",)),
        (torch.tensor([0, 1, 2, 4, 8]), (), ("IndexError",)),
        (torch.tensor([0, 1, 2, 4, -9]), (), ("IndexError",)),
        (torch.tensor([0, 1, 2, 4, -3]), (), ()),
    ],
)
def test_an_accident_depends_on_the_entry(
    indices: Any, packs: tuple[str, ...], back: tuple[str, ...]
) -> None:
    """A kernel looks at nothing; torch does, where it turns indices round."""
    for entry, accident in (("pack", packs), ("inverse", back), ("scatter", back)):
        (first, *_) = check(entry, indices=indices)

        assert first.accident("0.5.23") == accident
