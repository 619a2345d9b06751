"""The smallest media on which two rules disagree, found by search, and run through the seam."""

from collections.abc import Callable

import pytest

from harness.case import cases, parse
from harness.runner import run_cases
from harness.seams import SEAMS
from harness.upstream.source import Tree
from harness.verdict import Verdict
from simulators.encoder_rules import Rules
from simulators.skew_search import (
    Disagreement,
    smallest_clip,
    smallest_picture,
    smallest_sound,
)

OWN = Rules()
SIZE = (56, 56)
_ONE = "requests=1 each=1 sizes="
#: By the fault that is the other rule: the search, the honest case and the case that is smaller.
SMALLEST: dict[str, tuple[Callable[[], Disagreement | None], Disagreement, str, str]] = {
    "tally-made-half-up": (
        lambda: smallest_picture(OWN, Rules(rounding="half-up"), 24),
        Disagreement((14, 15), 2, 1),
        f"{_ONE}14x15",
        f"{_ONE}14x14",
    ),
    "tally-made-pooled": (
        lambda: smallest_clip(OWN, Rules(pools_time=True), SIZE, 8),
        Disagreement(3, 8, 4),
        f"medium=video {_ONE}3x56x56",
        f"medium=video {_ONE}2x56x56",
    ),
    "tally-made-windows": (
        lambda: smallest_sound(OWN, Rules(sound="windows"), 8),
        Disagreement(1, 0, 1),
        f"model=qwen2_audio medium=audio {_ONE}1",
        f"model=qwen2_audio medium=audio {_ONE}0",
    ),
}


@pytest.mark.parametrize("fault", SMALLEST)
def test_upstream_refuses_the_smallest_medium_and_takes_a_smaller_one(
    fault: str, newest: Tree
) -> None:
    """The counts in its error are those of the search, and the cases are in the table."""
    search, expected, dims, smaller = SMALLEST[fault]
    wanted = [
        parse(f"encoder-counts {name} {of}") for name, of in ((fault, dims), (fault, smaller))
    ]
    assert set(wanted) <= set(cases(SEAMS["encoder-counts"]))

    refused, taken = run_cases(newest, wanted)

    assert search() == expected
    assert refused.verdict is Verdict.REFUSED
    said = f"Encoder produced {expected.theirs} tokens, but preprocessor metadata expected "
    assert f"{said}{expected.ours}" in refused.message
    assert taken.verdict is Verdict.TOLERATED
