"""The contract of image-resolution, alone: sizes written by hand."""

from typing import Any

import pytest

from contracts import ending, image_resolution
from contracts.clauses.picture_size import aligned


def broken(height: Any, width: Any, asked: Any = None, user: bool = True) -> list[str]:
    """Return the clauses that a size breaks."""
    payload = {"height": height, "width": width, "asked": asked or (height, width)}
    return [v.clause.name for v in image_resolution.check(payload, {"user": user})]


@pytest.mark.parametrize(
    ("size", "from_user", "inside"),
    [
        ((64, 96), [], []),
        ((500, 500), ["size-multiple"], ["size-aligned"]),
        ((64, 97), ["size-multiple"], ["size-aligned"]),
        ((0, 96), ["size-positive"], ["size-positive"]),
        ((-64, 96), ["size-positive"], ["size-positive"]),
        ((-65, 96), ["size-positive"], ["size-aligned", "size-positive"]),
        ((None, 96), ["size-numbers"], ["size-numbers"]),
        (("64", "96"), ["size-numbers"], ["size-numbers"]),
        ((64.0, 96), ["size-numbers"], ["size-numbers"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(
    size: tuple[Any, Any], from_user: list[str], inside: list[str]
) -> None:
    """A user's size may fit no grid; where tokens are made it must."""
    assert broken(*size) == from_user
    assert broken(*size, user=False) == inside


def test_another_size_than_asked_for_is_seen() -> None:
    """Swapped sides fit the grid, and are wrong."""
    assert broken(96, 64, asked=(64, 96)) == ["size-asked"]


def test_a_size_is_brought_to_the_next_multiple() -> None:
    """As the public report has it: 500x500 must become 512x512, 550x1009 576x1024."""
    assert aligned(500, 500) == (512, 512)
    assert aligned(1009, 550) == (1024, 576)
    assert aligned(720, 1280) == (736, 1280)
    assert aligned(0, -5) == (32, 32)


def test_only_where_tokens_are_made_is_a_size_refused() -> None:
    """From 0.5.18 on; before, and for a user's size, nothing is said."""
    payload = {"height": 500, "width": 480, "asked": (500, 480)}
    (inside,) = image_resolution.check(payload, {"user": False})
    (users,) = image_resolution.check(payload, {"user": True})

    assert ending([inside], "0.5.18") is inside
    assert ending([inside], "0.5.17") is None
    assert ending([users], "0.5.23") is None
    assert inside.refusal(inside.clause.guards[0]).endswith("got 480x500")
