"""How a call into upstream ended, and whose error it was."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.consumers.consumer import Output, outcome_of
from harness.outcome import Ending
from simulators.encoder import sizes_of

UPSTREAM = """
def fails():
    raise IndexError("upstream's")

def asks(other):
    return other()
"""


@pytest.fixture
def loaded(tmp_path: Path) -> tuple[Any, Any]:
    """Return a module of upstream's, and what says where its tree is."""
    file = tmp_path / "sglang" / "module.py"
    file.parent.mkdir()
    file.write_text(UPSTREAM)
    module = SimpleNamespace()
    exec(compile(UPSTREAM, str(file), "exec"), module.__dict__)
    return module, SimpleNamespace(tree=SimpleNamespace(root=tmp_path))


def ours() -> Output:
    """Fail, as a reader of an output could."""
    raise IndexError("a column that there is not")


def test_an_error_of_upstreams_is_its_own(loaded: tuple[Any, Any]) -> None:
    """With the frame that it was raised in."""
    module, upstream = loaded

    outcome = outcome_of(upstream, module.fails)

    assert (outcome.ending, outcome.unsure) == (Ending.RAISED, ())
    assert outcome.raised is not None
    assert [frame[2] for frame in outcome.raised.frames] == ["fails"]


def test_what_upstream_called_may_fail_for_it(loaded: tuple[Any, Any]) -> None:
    """A provided function that gets what it cannot take, say."""
    module, upstream = loaded

    assert outcome_of(upstream, lambda: module.asks(ours)).unsure == ()


def mistaken() -> Output:
    """Fail inside of a simulator."""
    sizes_of(2, "1,2,3")
    return Output()


def test_an_error_at_the_call_may_be_upstreams(loaded: tuple[Any, Any]) -> None:
    """What is compiled has no frame."""
    assert outcome_of(loaded[1], ours).unsure == ()


def test_an_error_inside_of_the_tool_is_the_tools(loaded: tuple[Any, Any]) -> None:
    """It is no verdict on upstream."""
    assert outcome_of(loaded[1], mistaken).unsure == (
        "the tool failed, and not upstream: ValueError: 3 pictures for 2",
    )
