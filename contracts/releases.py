"""The SGLang releases that the project has read, oldest first, and how versions compare."""

import re
from dataclasses import dataclass

#: Every release whose seams were read and whose snapshots are committed, oldest first.
RELEASES = ("0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
OLDEST = RELEASES[0]
NEWEST = RELEASES[-1]

#: A release as people write it, with what may stand behind the three numbers.
RELEASE = re.compile(r"\d+\.\d+\.\d+([a-z.]\w*)*")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def ordinal(version: str) -> tuple[int, int, int]:
    """Return the sort key of a version: its three leading numbers.

    A development suffix does not count: `0.5.24.dev3` stands with 0.5.24, since a checkout
    after 0.5.23 already holds what 0.5.23 holds.

    Raises:
        ValueError: if the text does not begin with three numbers.
    """
    match = _VERSION.match(version)
    if match is None:
        raise ValueError(f"{version!r} is no SGLang version: expected three numbers, as in 0.5.23")
    major, minor, patch = (int(part) for part in match.groups())
    return major, minor, patch


@dataclass(frozen=True)
class Span:
    """A range of releases: from `since` on, up to but not including `until`."""

    since: str = "0.0.0"
    until: str | None = None

    def __contains__(self, release: object) -> bool:
        if not isinstance(release, str):
            return False
        at = ordinal(release)
        return ordinal(self.since) <= at and (self.until is None or at < ordinal(self.until))

    def __str__(self) -> str:
        if self == EVER:
            return "every one"
        return f"{self.since} on" if self.until is None else f"{self.since} until {self.until}"


#: Every release.
EVER = Span()
