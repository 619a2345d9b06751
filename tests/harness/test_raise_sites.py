"""Guards are found in a file by what they say: raises and asserts, each in its own function."""

from pathlib import Path

import pytest

from contracts.contract import Guard
from contracts.releases import EVER
from contracts.source import Source
from harness.upstream.raise_sites import find_raise, guard_site

_FILE = """
def first(rows, splits):
    assert rows.ndim == 4, f"x must have 4 dimensions, got {rows.ndim}"
    assert len(splits) == 2, (
        f"seq_lens must have length {2}, got {len(splits)}"
    )


def second(rows, splits):
    assert splits
    assert rows.ndim == 4, f"x must have 4 dimensions, got {rows.ndim}"
    assert rows.size, "no " + "rows"


class Layer:
    def forward(self, rows):
        assert rows.ndim == 4, f"x must have 4 dimensions, got {rows.ndim}"
        if rows.size > 8:
            raise AssertionError(f"too many rows: {rows.size}")
        raise ValueError("no rows")
"""
_DIMENSIONS = "x must have 4 dimensions, got {dimensions}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in which three functions assert the same."""
    place = tmp_path / "usp.py"
    place.write_text(_FILE)
    return place


def line_of(words: str, after: str) -> int:
    """Return the number of the first line with some words, behind a definition."""
    lines = _FILE.splitlines()
    start = next(number for number, line in enumerate(lines) if after in line)
    return next(n for n, line in enumerate(lines, 1) if n > start and words in line)


@pytest.mark.parametrize(
    ("symbol", "definition"),
    [("first", "def first"), ("second", "def second"), ("Layer.forward", "def forward")],
)
def test_an_assert_is_found_in_its_own_function(file: Path, symbol: str, definition: str) -> None:
    """Though others say the same, word for word."""
    site = guard_site(file, Guard("AssertionError", _DIMENSIONS, EVER, Source("", "", symbol)))

    assert site is not None
    line = line_of("ndim == 4", after=definition)
    assert (site.symbol, site.first, site.last) == (symbol, line, line)
    assert site.error == "AssertionError"
    assert [other for other in range(1, 30) if site.holds(other)] == [line]


def test_an_assert_is_found_anywhere_where_its_function_is_not_there(file: Path) -> None:
    """A release may have moved it: the first that says it."""
    for symbol in ("", "third"):
        site = find_raise(file, "AssertionError", _DIMENSIONS, symbol)
        assert site is not None
        assert site.symbol == "first"


def test_an_assert_over_several_lines_is_one_statement(file: Path) -> None:
    """A traceback names any of them."""
    text = "seq_lens must have length {ranks}, got {splits}"
    site = find_raise(file, "AssertionError", text)

    assert site is not None
    first = line_of("len(splits) == 2", after="def first")
    assert (site.first, site.last) == (first, first + 2)


def test_a_raise_of_an_assertion_error_is_one_too(file: Path) -> None:
    """And an assert without a text, or of other words, is none."""
    site = find_raise(file, "AssertionError", "too many rows: {rows}")

    assert site is not None
    assert (site.symbol, site.first) == ("Layer.forward", line_of("raise Asser", "def forward"))
    assert find_raise(file, "AssertionError", "no columns") is None


def test_an_assert_is_no_error_of_another_type(file: Path) -> None:
    """The text alone does not make a guard."""
    assert find_raise(file, "ValueError", _DIMENSIONS) is None
    assert find_raise(file, "AssertionError", "too few rows") is None
    site = find_raise(file, "ValueError", "no rows")
    assert site is not None
    assert site.symbol == "Layer.forward"
    joined = find_raise(file, "AssertionError", "no rows")
    assert joined is not None
    assert joined.symbol == "second"


def test_of_several_that_say_the_same_the_one_that_is_meant_is_found(tmp_path: Path) -> None:
    """Where there are fewer, it is gone, though an earlier one still says it."""
    twice = tmp_path / "twice.py"
    raised = '    if rows:\n        raise ValueError(f"not active: {rows}")\n'
    twice.write_text(f"def first(rows):\n{raised}{raised}")

    sites = [find_raise(twice, "ValueError", "not active: {rows}", "first", n) for n in range(3)]

    assert [site.first if site else None for site in sites] == [3, 5, None]
