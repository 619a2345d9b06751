"""The contract of ar-grid, alone: image data written by hand."""

from typing import Any

import pytest

from contracts import ar_grid, ending
from contracts.contract import Answer

GRIDS = [[1, 2, 3], [1, 4, 5]]
REQUEST = {"grids": GRIDS, "prompt_tokens": 7}
KEY = "image_grid_thw"


def broken(images: Any) -> dict[str, Any]:
    """Return the violations of image data, by clause."""
    return {v.clause.name: v for v in ar_grid.check(images, REQUEST)}


def of(grids: Any) -> list[Any]:
    """Return image data with these grids."""
    return [{KEY: grids}]


def test_honest_grids_break_nothing() -> None:
    """The picture's rows, in the one object."""
    assert broken(of(GRIDS)) == {}
    assert set(ar_grid.answers(of(GRIDS), REQUEST).values()) == {Answer.HELD}


@pytest.mark.parametrize(
    ("images", "clauses", "accident"),
    [
        (None, {"images-one"}, ()),
        ([], {"images-one"}, ()),
        ("http://host/a.png", {"images-one"}, ()),
        (["http://host/a.png"], {"images-one"}, ()),
        (2, {"images-one"}, ("TypeError",)),
        ([{}], {"grids-key"}, ()),
        (of(None), {"grids-list"}, ()),
        (of("1x2x3"), {"grids-list"}, ("AttributeError", "TypeError")),
        (of(((1, 2, 3), (1, 4, 5))), {"grids-list"}, ("AttributeError", "TypeError")),
        (of([1, 2, 3]), {"rows-list"}, ("ValueError", "TypeError")),
        (of([[2, 3], [4, 5]]), {"rows-list"}, ("ValueError", "TypeError")),
        (of([["1", "2", "3"], [1, 4, 5]]), {"rows-list"}, ("ValueError", "TypeError")),
        (of([[1, 2.0, 3], [1, 4, 5]]), {"sizes-integers"}, ()),
        (of([[1, 0, 3], [1, 4, 5]]), {"sizes-positive", "grids-order"}, ()),
        (of([[1, -2, 3], [1, 4, 5]]), {"sizes-positive", "grids-order"}, ("RuntimeError",)),
        (of([]), {"grids-count"}, ()),
        (of(GRIDS[:1]), {"grids-count"}, ()),
        (of(GRIDS[::-1]), {"grids-order"}, ()),
        (of([[2, 2, 3], [1, 4, 5]]), {"grids-order"}, ()),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(
    images: Any, clauses: set[str], accident: tuple[str, ...]
) -> None:
    """Nothing else is said to be broken, and the accident is the one that follows."""
    violations = broken(images)

    assert set(violations) == clauses
    stop = ending(list(violations.values()), "0.5.23")
    assert (() if stop is None else stop.accident("0.5.23")) == accident


def test_of_several_objects_the_last_list_is_heard() -> None:
    """As the server does: what stands before it says nothing."""
    other = {KEY: [[1, 9, 9], [1, 8, 8]]}

    assert set(broken([other, *of(GRIDS)])) == {"images-one"}
    assert set(broken([*of(GRIDS), other])) == {"images-one", "grids-order"}
    assert set(broken([*of(GRIDS), {KEY: None}])) == {"images-one"}


def test_what_cannot_be_looked_at_is_unchecked() -> None:
    """Without rows nothing is said about their sizes."""
    answers = ar_grid.answers(of(None), REQUEST)

    assert answers["grids-list"] is Answer.VIOLATED
    assert answers["sizes-positive"] is Answer.UNCHECKED
    assert answers["images-one"] is Answer.HELD


def test_no_release_promises_anything() -> None:
    """Every clause is assumed: the server counts nothing against anything."""
    assert not any(clause.guards for clause in ar_grid.CONTRACT.clauses)
