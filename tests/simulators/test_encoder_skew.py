"""Two honest settings of rules, and the smallest input on which they count differently."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.encoder_rules import (
    Rules,
    Size,
    grid_of_clip,
    resized,
    tokens_of_clip,
    tokens_of_picture,
    tokens_of_sound,
)
from simulators.skew_search import (
    Disagreement,
    pixels,
    smallest_clip,
    smallest_picture,
    smallest_sound,
)

HONEST = Rules()
#: Sides in pixels up to which all pictures are looked at.
MOST = 48

RULES = st.builds(
    Rules,
    patch=st.sampled_from([8, 14, 16]),
    merge=st.sampled_from([1, 2]),
    rounding=st.sampled_from(["half-even", "half-up", "floor", "ceil"]),
    min_pixels=st.sampled_from([28 * 28, 56 * 56]),
    small_side=st.booleans(),
    before=st.sampled_from([0, 1]),
    row_ends=st.booleans(),
)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (Rules(rounding="floor"), Rules(rounding="ceil"), Disagreement((1, 2), 2, 1)),
        (HONEST, Rules(merge=1), Disagreement((1, 1), 1, 4)),
        (HONEST, Rules(rounding="half-up"), Disagreement((14, 15), 2, 1)),
        (HONEST, Rules(small_side=True), Disagreement((1, 3), 2, 3)),
        (HONEST, Rules(row_ends=True), Disagreement((1, 1), 1, 2)),
    ],
)
def test_the_smallest_picture_of_a_pair_of_settings(
    ours: Rules, theirs: Rules, expected: Disagreement
) -> None:
    """Found by looking at all smaller ones."""
    assert smallest_picture(ours, theirs, MOST) == expected


def test_the_smallest_clip_and_the_smallest_sound() -> None:
    """An odd number of frames, two patches of time, and a sound of one feature frame."""
    size = (56, 56)

    assert smallest_clip(HONEST, Rules(frames="floor"), size, 8) == Disagreement(1, 4, 0)
    assert smallest_clip(HONEST, Rules(pools_time=True), size, 8) == Disagreement(3, 8, 4)
    assert smallest_sound(HONEST, Rules(sound="windows"), 8) == Disagreement(1, 0, 1)


def test_a_setting_agrees_with_itself() -> None:
    """Nothing is found, however long it is looked for."""
    assert smallest_picture(HONEST, replace(HONEST), MOST) is None
    assert smallest_clip(HONEST, HONEST, (56, 56), 64) is None
    assert smallest_sound(HONEST, HONEST, 400) is None


@settings(max_examples=40, deadline=None)
@given(ours=RULES, theirs=RULES, sides=st.tuples(st.integers(1, 24), st.integers(1, 24)))
def test_no_smaller_picture_tells_two_settings_apart(
    ours: Rules, theirs: Rules, sides: Size
) -> None:
    """And a picture that was found does."""
    found = smallest_picture(ours, theirs, 24)

    if found is not None:
        assert tokens_of_picture(found.given, ours) == found.ours != found.theirs
    if found is None or pixels(sides) < pixels(found.given):
        assert tokens_of_picture(sides, ours) == tokens_of_picture(sides, theirs)


@settings(max_examples=60, deadline=None)
@given(rules=RULES, sides=st.tuples(st.integers(1, 400), st.integers(1, 400)))
def test_a_picture_is_scaled_to_whole_tokens(rules: Rules, sides: Size) -> None:
    """Both sides, whatever the rules, and within the bounds of pixels."""
    height, width = resized(sides, rules)

    assert height % rules.token == width % rules.token == 0
    assert min(height, width) >= rules.token
    assert rules.min_pixels <= height * width <= max(rules.max_pixels, rules.token**2)


@pytest.mark.parametrize(
    ("size", "rules", "scaled", "tokens"),
    [
        ((3, 22), Rules(min_pixels=112896, small_side=True), (140, 924), 165),
        ((22, 3), Rules(min_pixels=112896, small_side=True), (896, 140), 160),
        ((23, 3), Rules(min_pixels=101920, small_side=True), (868, 140), 155),
        ((23, 3), Rules(min_pixels=101920), (896, 140), 160),
    ],
)
def test_the_sizes_of_public_reports(size: Size, rules: Rules, scaled: Size, tokens: int) -> None:
    """A strip that was taken for its transpose, and one that two copies of a rule scale apart."""
    assert resized(size, rules) == scaled
    assert tokens_of_picture(size, rules) == tokens


def test_clips_and_sounds_are_counted_as_upstream_does() -> None:
    """By hand: four frames of 56 x 56, and a sound of 250 feature frames."""
    assert grid_of_clip(4, (56, 56), HONEST) == (2, 4, 4)
    assert tokens_of_clip(4, (56, 56), HONEST) == 8
    assert tokens_of_sound(250, HONEST) == 62
    assert tokens_of_sound(250, Rules(sound="windows")) == 33
