"""Positions of kept tokens: honest first; their faults by hand."""

import pytest
import torch

from contracts import kernel_varlen_pack
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.kernel_rows import PARTS, owner_of
from simulators.payload import Payload
from simulators.rng import stream
from simulators.varlen_rows import (
    FORMS,
    honest_varlen,
    inverse_of,
    kept_positions,
    padded_length,
    told_indices,
)

#: Sequences of 3 and 2 tokens, padded to 4.
KEPT = [0, 1, 2, 4, 5]


def faulty(name: str, at: tuple[int, ...] = ()) -> Payload:
    """Return the positions of two sequences with one fault."""
    return FAULTS[name].change(honest_varlen([3, 2]), at, stream(0))


def test_positions_are_flat_and_leave_out_padding() -> None:
    """Every sequence has some, the empty one nothing else."""
    assert (kept_positions([3, 2]), padded_length([3, 2])) == (KEPT, 4)
    assert kept_positions([0, 2]) == [3, 4]
    assert inverse_of(KEPT, 8) == {0: 0, 1: 1, 2: 2, 4: 3, 5: 4}


@pytest.mark.parametrize("entry", ["pack", "inverse", "scatter"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_an_honest_payload_breaks_nothing(entry: str, dtype: str) -> None:
    """At any entry, whichever type the indices have."""
    payload = honest_varlen([3, 2], dtype=dtype)
    request = {
        "entry": entry,
        "total": 8,
        "kept": KEPT,
        "shape": (2, 4, 2, 8),
        "dtype": f"torch.{dtype}",
    }
    for kind in ("int32", "int64"):
        told = {**payload.beside, "indices": told_indices(payload, kind)}

        assert list(kernel_varlen_pack.check(told, request, owner_of)) == []


def test_each_position_holds_its_own_row() -> None:
    """Of every part and head; another request's rows are its own."""
    payload = honest_varlen([3, 2])

    for part in PARTS:
        rows = payload.beside[part]
        assert owner_of(rows[1, :, 1].tolist()) == [
            Origin(f"{part} head 1", position) for position in range(4, 8)
        ]
        foreign = owner_of(payload.beside["foreign"][part][0, :1, 0].tolist())
        assert foreign == [Origin(f"another request {part} head 0", 0)]
    assert payload.foreign == (4, 5, 6, 0, 1)


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("index-past-end", (1,), [0, 8, 2, 4, 5]),
        ("index-far-past", (1,), [0, 508, 2, 4, 5]),
        ("index-negative", (4,), [0, 1, 2, 4, -1]),
        ("index-from-end", (3,), [0, 1, 2, -4, 5]),
        ("index-next", (2,), [0, 1, 3, 4, 5]),
        ("index-nowhere", (0,), [2**40, 1, 2, 4, 5]),
        ("indices-shifted", (), [1, 2, 3, 5, 6]),
        ("indices-local", (), [0, 1, 2, 0, 1]),
        ("indices-unpadded", (), [0, 1, 2, 3, 4]),
        ("indices-past-end", (), [8, 9, 10, 12, 13]),
    ],
)
def test_positions_change_as_the_picture_says(
    name: str, at: tuple[int, ...], told: list[int]
) -> None:
    """And nothing beside them."""
    assert list(faulty(name, at).records) == told


def test_the_same_positions_are_told_in_other_forms() -> None:
    """As many numbers, but for halves of an odd number and for a mask."""
    told = {form: told_indices(faulty(f"indices-{form}"), "int64") for form in FORMS if form}

    assert told["apart"].tolist() == KEPT
    assert not told["apart"].is_contiguous()
    assert told["row"].shape == (1, 5)
    assert told["column"].shape == (5, 1)
    assert told["halves"].tolist() == [[0, 1], [2, 4]]
    assert told["float"].dtype == torch.float32
    assert (told["int16"].dtype, told["int32"].dtype) == (torch.int16, torch.int32)
    assert told["mask"].nonzero().flatten().tolist() == KEPT
    assert told["list"] == KEPT


def test_an_unknown_form_is_an_error() -> None:
    """It is no form that is honest."""
    payload = honest_varlen([3, 2])
    payload.beside["form"] = "round"  # type: ignore[index]

    with pytest.raises(ValueError, match="round"):
        told_indices(payload, "int64")


@pytest.mark.parametrize(
    ("name", "part", "shape"),
    [
        ("dense-k-token-less", "k", (2, 3, 2, 8)),
        ("dense-v-head-less", "v", (2, 4, 1, 8)),
        ("dense-q-flat", "q", (8, 2, 8)),
        ("dense-flat", "k", (8, 2, 8)),
        ("dense-token-less", "v", (2, 3, 2, 8)),
        ("packed-flat", "packed", (5, 16)),
        ("packed-deep", "packed", (1, 5, 2, 8)),
    ],
)
def test_tensors_change_as_the_picture_says(name: str, part: str, shape: tuple[int, ...]) -> None:
    """One of them, or all."""
    assert tuple(faulty(name).beside[part].shape) == shape


def test_a_view_with_room_between_heads_holds_the_same() -> None:
    """Upstream makes it contiguous."""
    honest, changed = honest_varlen([3, 2]).beside["v"], faulty("dense-v-heads-apart").beside["v"]

    assert torch.equal(honest, changed)
    assert not changed.is_contiguous()
