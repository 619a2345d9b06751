"""Where a process hung, in words; and whether upstream had a part in it."""

import pytest

from harness.outcome import Ending
from harness.stack import hung

TOOLS = ["packed_rows.py:71 in decoded", "shard_gather.py:96 in _read", "ranks.py:280 in _be_rank"]
UPSTREAMS = ["distributed_c10d.py:4 in all_gather", "sglang/srt/usp.py:9 in exchange", *TOOLS[1:]]


def test_a_hang_in_upstream_is_upstreams() -> None:
    """With its place, and where it waits."""
    found = hung(UPSTREAMS)

    assert (found.ending, found.unsure) == (Ending.HUNG, ())
    assert found.death == "hung in exchange of usp.py, waiting in all_gather of distributed_c10d.py"
    assert found.stack.splitlines() == UPSTREAMS


def test_a_hang_in_the_tool_says_nothing_of_upstream() -> None:
    """It cannot be judged, and the place is the tool's."""
    assert hung(TOOLS).unsure == (
        "the tool itself was not done in time, and hung in decoded of packed_rows.py",
    )


@pytest.mark.parametrize("frames", [[], UPSTREAMS[:2]])
def test_without_a_frame_of_the_tools_alone_it_counts(frames: list[str]) -> None:
    """A process that left no stack may be anywhere: it was in upstream's hands."""
    assert hung(frames).unsure == ()
