"""The contract of kernel-rotary, alone: rows, angles and positions, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_rotary
from contracts.contract import Answer, Violation
from simulators.rotary_rows import Sizes, Turned, angle, rows_of_part

SIZES = Sizes(2, 3)
Q, K = (rows_of_part(part, SIZES) for part in ("q", "k"))
OTHER = rows_of_part("q", SIZES, request=1)
COS, SIN = (
    torch.tensor([angle(position, SIZES.width)[lane] for position in range(3)]).float()
    for lane in (0, 1)
)
CACHE = torch.cat([COS, SIN], 1)
POSITIONS = torch.tensor([0, 1, 2, 0, 1, 2])
READER = Turned(SIZES)


def request(entry: str, **asked: Any) -> dict[str, Any]:
    """Return what was asked for."""
    form = {"shape": SIZES.shape, "dtype": "torch.float32", "interleaved": False}
    return {"entry": entry, **form, **asked}


def rows(interleaved: bool = False, **told: Any) -> list[Violation]:
    """Return the violations of rows and angles for the kernel with some of them changed."""
    payload = {"q": Q, "cos": COS, "sin": SIN, **told}
    asked = request("rows", interleaved=interleaved)
    return list(kernel_rotary.check(payload, asked, READER.owner_of))


def pair(entry: str = "pair", **told: Any) -> list[Violation]:
    """Return the violations of a pair and its angles with some of it changed."""
    payload = {"q": Q, "k": K, "cache": CACHE, "head_size": None, "positions": None, **told}
    return list(kernel_rotary.check(payload, request(entry), READER.owner_of))


def names(found: list[Violation]) -> list[str]:
    """Return the clauses that are broken, each once."""
    return list(dict.fromkeys(violation.clause.name for violation in found))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def accident(found: list[Violation]) -> tuple[str, ...]:
    """Return what the call ends in by accident."""
    violation = ending(found, "0.5.23")
    return () if violation is None else violation.accident("0.5.23")


def test_an_honest_payload_breaks_nothing() -> None:
    """At each entry, and in each form that upstream can take."""
    assert rows() == []
    assert rows(cos=COS.half(), sin=SIN.double()) == []
    assert rows(interleaved=True) == []
    wide = {"cos": COS.repeat_interleave(2, 1), "sin": SIN.repeat_interleave(2, 1)}
    assert rows(interleaved=True, **wide) == []
    assert rows(q=Q.repeat_interleave(2, 1)[:, ::2]) == []
    for entry in ("pair", "flashinfer"):
        assert pair(entry) == []
        assert pair(entry, positions=POSITIONS, head_size=8) == []


LIES: list[tuple[dict[str, Any], list[str], tuple[str, ...]]] = [
    ({"q": Q[0, :, 0]}, ["row-dimensions", "form-asked"], ("ValueError",)),
    ({"q": Q[None]}, ["row-dimensions", "form-asked"], ("ValueError",)),
    ({"q": Q.transpose(1, 2).contiguous().transpose(1, 2)}, ["batch-joined"], ("RuntimeError",)),
    ({"q": Q.repeat_interleave(2, -1)[..., ::2]}, ["columns-together"], ()),
    ({"cos": COS.tolist(), "sin": SIN.tolist()}, ["angles-kind"], ("AttributeError",)),
    (
        {"sin": SIN.to("meta")},
        ["angles-device"],
        ("NotImplementedError", "ValueError"),
    ),
    ({"cos": COS[None]}, ["angles-flat"], ()),
    ({"sin": SIN.flatten()}, ["angles-flat", "angles-width"], ()),
    ({"cos": COS.repeat_interleave(2, 1)}, ["angles-width", "angle-identity"], ()),
    ({"cos": COS[:-1]}, ["angles-enough"], ()),
    ({"q": Q.flatten(0, 1)}, ["angles-enough"], ()),
    ({"q": Q[:, :-1].contiguous()}, ["form-asked", "row-identity"], ()),
    ({"q": Q[:, :-1]}, ["batch-joined", "form-asked", "row-identity"], ("RuntimeError",)),
    ({"q": Q.half()}, ["form-asked"], ()),
    ({"cos": COS.roll(1, 0), "sin": SIN.roll(1, 0)}, ["angle-identity"], ()),
    ({"cos": SIN, "sin": COS}, ["angle-identity"], ()),
    ({"q": Q.flip(1)}, ["row-identity"], ()),
    ({"q": OTHER}, ["row-identity"], ()),
    ({"q": K}, ["row-identity"], ()),
]


@pytest.mark.parametrize(("told", "clauses", "ends_in"), LIES)
def test_each_clause_of_rows_is_broken_by_its_own_lie(
    told: dict[str, Any], clauses: list[str], ends_in: tuple[str, ...]
) -> None:
    """In the order of upstream, with the accident that it causes, and no guard."""
    found = rows(**told)

    assert (names(found), accident(found), refusal(found)) == (clauses, ends_in, "")


def test_an_odd_head_size_is_refused_in_every_release() -> None:
    """By the one check that the kernel's function has."""
    found = rows(q=Q[..., :-1])

    for release in ("0.5.16", "0.5.18", "0.5.19", "0.5.23"):
        assert refusal(found, release) == "head_size must be divisible by 2"


def test_where_angles_are_interleaved_each_number_stands_twice() -> None:
    """Cosines that are told twice over, one row of them behind the other, are others."""
    twice = rows(interleaved=True, cos=torch.cat([COS, COS], 1), sin=torch.cat([SIN, SIN], 1))

    assert names(twice) == ["angle-identity"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"q": Q[0]}, "got q:(3, 2, 8) k:(2, 3, 2, 8)"),
    ({"k": K[:, :-1]}, "got torch.Size([2, 3, 2, 8]) vs torch.Size([2, 2, 2, 8])"),
    ({"q": Q[..., :-2]}, "got torch.Size([2, 3, 2, 6]) vs torch.Size([2, 3, 2, 8])"),
    ({"cache": CACHE[None]}, "cos_sin_cache must be a 2D torch.Tensor"),
    ({"cache": CACHE.tolist()}, "cos_sin_cache must be a 2D torch.Tensor"),
    ({"cache": CACHE.to("meta")}, "got q=cpu, k=cpu, cos_sin_cache=meta"),
    ({"k": K.to("meta")}, "got q=cpu, k=meta, cos_sin_cache=cpu"),
    ({"cache": CACHE[:, :-1]}, "must be even and <= head_size, got 7 vs 8"),
    ({"cache": torch.cat([CACHE, CACHE], 1)}, "must be even and <= head_size, got 16 vs 8"),
    ({"head_size": 10}, "head_size mismatch: inferred 8, but head_size=10"),
]


@pytest.mark.parametrize(("told", "text"), REFUSED)
@pytest.mark.parametrize("entry", ["pair", "flashinfer"])
def test_what_a_pair_is_refused_for_is_said(entry: str, told: dict[str, Any], text: str) -> None:
    """With FlashInfer and without it, in every release."""
    for release in ("0.5.16", "0.5.23"):
        assert text in refusal(pair(entry, **told), release)


def test_keys_of_fewer_heads_are_a_pair() -> None:
    """As in grouped attention; but it is not what was asked for."""
    assert names(pair(k=K[:, :, :1])) == ["form-asked"]


@pytest.mark.parametrize(
    ("told", "clauses", "ends_in"),
    [
        ({"cache": CACHE[:2]}, ["angles-enough"], ("RuntimeError",)),
        ({"cache": CACHE[:0]}, ["angles-enough"], ("RuntimeError",)),
        ({"cache": CACHE[:, :-2]}, ["angles-width", "angle-identity"], ()),
        ({"cache": CACHE.flip(0)}, ["angle-identity"], ()),
        ({"positions": POSITIONS[:-1]}, ["positions-fit"], ("RuntimeError",)),
        ({"positions": POSITIONS[:1]}, ["positions-fit"], ()),
        ({"positions": POSITIONS + 1}, ["positions-within", "position-asked"], ("IndexError",)),
        ({"positions": POSITIONS - 1}, ["positions-within", "position-asked"], ()),
        ({"positions": POSITIONS.flip(0)}, ["position-asked"], ()),
        ({"positions": POSITIONS[None]}, [], ()),
        ({"positions": POSITIONS.tolist()}, ["positions-kind"], ("AttributeError",)),
    ],
)
def test_without_flashinfer_nothing_looks_at_angles_and_positions(
    told: dict[str, Any], clauses: list[str], ends_in: tuple[str, ...]
) -> None:
    """What ends the call is torch, by accident."""
    found = pair(**told)

    assert (names(found), accident(found), refusal(found)) == (clauses, ends_in, "")


def test_one_angle_whose_numbers_are_as_many_as_the_tokens_ends_in_nothing() -> None:
    """Each token is then turned by one of them."""
    sizes = Sizes(1, 4)
    one = torch.tensor([angle(0, 8)]).float().reshape(1, 8)
    told = {"q": rows_of_part("q", sizes), "k": rows_of_part("k", sizes), "cache": one}
    payload = {**told, "head_size": None, "positions": None}
    asked = {**request("pair"), "shape": sizes.shape}

    found = list(kernel_rotary.check(payload, asked, Turned(sizes).owner_of))

    assert names(found) == ["angles-enough"]
    assert accident(found) == ()


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        (POSITIONS[None], "positions must be a 1D Tensor"),
        (POSITIONS.tolist(), "positions must be a 1D Tensor"),
        (POSITIONS[:-1], "positions length must be bsz*seqlen=6, got 5"),
        (POSITIONS[:1], "positions length must be bsz*seqlen=6, got 1"),
    ],
)
def test_with_flashinfer_positions_are_looked_at(positions: Any, text: str) -> None:
    """Their form and their count, but not which they are."""
    assert refusal(pair("flashinfer", positions=positions)) == text
    assert refusal(pair("flashinfer", positions=POSITIONS.flip(0))) == ""


def test_without_a_stamp_reader_identity_is_unchecked() -> None:
    """And whoever asked is told."""
    said = kernel_rotary.answers({"q": Q, "cos": COS, "sin": SIN}, request("rows"))

    assert said["angle-identity"] is said["row-identity"] is Answer.UNCHECKED
    assert said["angles-width"] is Answer.HELD
