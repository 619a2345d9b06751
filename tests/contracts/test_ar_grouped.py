"""The contracts of ar-grouped and ar-grouped-shapes, alone: groups written by hand."""

from typing import Any

import pytest

from contracts import ar_grouped, ar_grouped_shapes, ending


def asked(height: Any = 64, width: Any = 96, **other: Any) -> dict[str, Any]:
    """Return the description of one request."""
    return {
        "prompt": "p", "height": height, "width": width, "outputs": 1, "seed": 1, "image": None,
    } | other  # fmt: skip


SAME = asked()


@pytest.mark.parametrize(
    ("group", "together", "in_one_batch"),
    [
        ([asked(), asked()], [], []),
        ([], ["group-there"], ["group-there"]),
        ([asked(), asked(96, 96)], [], ["group-one-size"]),
        ([asked(), asked(65, 96)], [], ["group-one-size"]),
        ([asked(65, 96), asked()], [], ["size-aligned", "group-one-size"]),
        ([asked(65, 96), asked(65, 96)], ["size-aligned"], ["size-aligned"]),
        ([asked(65, 96)], [], ["size-aligned"]),
        ([asked(None, 96), asked()], ["size-numbers"], ["size-numbers", "group-one-size"]),
        ([asked(), asked(image="a.png")], ["picture-none"], ["picture-none"]),
        ([asked(outputs=0), asked(outputs=None)], ["outputs-wanted"] * 2, ["outputs-wanted"] * 2),
        ([SAME, asked(), SAME], ["request-once"], ["request-once"]),
    ],
)
def test_each_clause_is_broken_by_its_own_lie(
    group: list[Any], together: list[str], in_one_batch: list[str]
) -> None:
    """The scheduler's group may be mixed, the head's may not."""
    assert [v.clause.name for v in ar_grouped.check(group, {})] == together
    assert [v.clause.name for v in ar_grouped_shapes.check(group, {})] == in_one_batch


def test_a_picture_is_refused_only_where_it_is_looked_at() -> None:
    """The head's batch leaves it out without a word."""
    group = [asked(), asked(image="a.png")]
    (refused,) = ar_grouped.check(group, {})
    (unseen,) = ar_grouped_shapes.check(group, {})

    assert ending([refused], "0.5.18") is refused
    assert ending([unseen], "0.5.23") is None


def test_a_size_that_fits_no_grid_is_refused_from_0_5_18_on() -> None:
    """With width first, as upstream words it."""
    violation = next(ar_grouped.check([asked(65, 100)] * 2, {}))

    assert violation.refusal(violation.clause.guards[0]) == (
        "GLM-Image dimensions must be aligned before AR token generation, got 100x65"
    )
    assert ending([violation], "0.5.17") is None
