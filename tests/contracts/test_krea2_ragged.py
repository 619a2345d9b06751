"""The contract of krea2-ragged, alone: masks and sizes written by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, krea2_ragged
from contracts.contract import Violation
from simulators.text_masks import MaskReader, assembled_masks, honest_masks

SIZE = (48, 80)
RAGGED = assembled_masks(honest_masks(2, True, SIZE))
WHOLE = assembled_masks(honest_masks(2, False, SIZE))


def check(mask: Any, size: Any = SIZE, world: int = 1, ragged: bool = True) -> list[Violation]:
    """Return the violations of a mask and a size that two prompts come with."""
    request = {"prompts": 2, "tokens": 16, "size": SIZE, "world": world}
    payload = {"mask": mask, "size": size}
    return list(krea2_ragged.check(payload, request, MaskReader(2, ragged)))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def test_honest_masks_break_nothing() -> None:
    """Ragged on one rank, whole on any number."""
    assert check(RAGGED) == []
    assert check(WHOLE, ragged=False) == []
    assert check(WHOLE, ragged=False, world=4) == []


@pytest.mark.parametrize(
    ("mask", "size", "clauses"),
    [
        (None, SIZE, {"mask-there"}),
        (RAGGED.tolist(), SIZE, {"mask-tensor"}),
        (RAGGED[:, :-1], SIZE, {"mask-shape"}),
        (RAGGED.flatten(), SIZE, {"mask-shape"}),
        (WHOLE[:1], SIZE, {"whole-mask-shape"}),
        (RAGGED.float(), SIZE, {"mask-boolean"}),
        (RAGGED.flip(0), SIZE, {"mask-identity"}),
        (~RAGGED, SIZE, {"mask-identity"}),
        (RAGGED, (None, 80), {"size-numbers"}),
        (RAGGED, ("48", "80"), {"size-numbers"}),
        (RAGGED, (0, 80), {"size-positive", "size-asked"}),
        (RAGGED, (80, 48), {"size-asked"}),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(mask: Any, size: Any, clauses: set[str]) -> None:
    """Nothing else is said to be broken."""
    assert names(check(mask, size)) == clauses


def test_padding_is_refused_where_the_sequence_is_shared() -> None:
    """And only there; a half is true, and so is no padding."""
    violation = ending(check(RAGGED, world=2), "0.5.16")

    assert violation is not None
    assert violation.refusal(violation.clause.guards[0]).startswith(
        "Krea-2 sequence parallelism does not support ragged/padded multi-prompt batches; use"
    )
    assert names(check(RAGGED.float().clamp(min=0.5), world=2)) == {"mask-boolean"}


def test_the_form_of_a_whole_mask_stops_to_matter_in_0_5_23() -> None:
    """One with padding still has to be joined to the picture's."""
    whole, padded = check(WHOLE[:1]), check(RAGGED[1:])

    assert ending(whole, "0.5.22") is whole[0]
    assert ending(whole, "0.5.23") is None
    assert ending(padded, "0.5.23") is padded[0]
    assert ending(check(torch.ones(2, 15) > 0), "0.5.16") is None


def test_a_side_that_can_be_counted_ends_no_call() -> None:
    """A text of digits is one, a text with a unit is not."""
    assert ending(check(RAGGED, ("48", 80.5)), "0.5.23") is None
    assert ending(check(RAGGED, ("48px", 80)), "0.5.23") is not None
