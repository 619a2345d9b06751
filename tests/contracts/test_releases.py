"""Releases and how they compare."""

import pytest

from contracts.releases import RELEASES, Span, ordinal


def test_releases_are_in_order() -> None:
    """Oldest first."""
    assert list(RELEASES) == sorted(RELEASES, key=ordinal)


def test_a_development_version_stands_with_the_release_it_leads_to() -> None:
    """A checkout after 0.5.23 holds what 0.5.23 holds."""
    assert ordinal("0.5.24.dev3+g123") == ordinal("0.5.24") > ordinal("0.5.23")


@pytest.mark.parametrize(
    ("release", "inside"), [("0.5.17", False), ("0.5.18", True), ("0.5.20", False)]
)
def test_a_span_begins_with_its_first_and_ends_before_its_last(release: str, inside: bool) -> None:
    """`until` is not in it any more."""
    assert (release in Span("0.5.18", "0.5.20")) is inside


def test_a_text_that_is_no_version_is_refused() -> None:
    """The text is named."""
    with pytest.raises(ValueError, match="main"):
        ordinal("main")
