"""What a row of the table of seams is made of: dimensions, spaces of cases, and the row itself."""

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contracts.releases import Span
from harness.device import Device
from simulators.faults import Place


@dataclass(frozen=True)
class Dim:
    """One dimension of a request, as it stands in a case line: `records=3`."""

    meaning: str
    accepts: Callable[[str], bool]
    default: str | None = None
    #: True where it says who hears a lie or what follows it: a golden run has the default.
    of_lie: bool = False


def one_of(*values: str) -> Callable[[str], bool]:
    """Return the test for a value that is one of a few words."""
    return lambda value: value in values


def whole_number(low: int, high: int) -> Callable[[str], bool]:
    """Return the test for a whole number from `low` to `high`."""
    return lambda value: value.isdecimal() and low <= int(value) <= high


#: Pixels of a side, at most: a case must end within its deadline.
_MOST_PIXELS = 4096


def listed_or(
    words: tuple[str, ...], fits: Callable[[str], bool], most_items: int
) -> Callable[[str], bool]:
    """Return the test for one of a few words, or for values parted by commas.

    Args:
        words: The words.
        fits: The test for one value.
        most_items: How many values there are at most.
    """

    def accepts(value: str) -> bool:
        values = value.split(",")
        return value in words or (len(values) <= most_items and all(map(fits, values)))

    return accepts


def either(*tests: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return the test for a value that one test or another accepts."""
    return lambda value: any(test(value) for test in tests)


def size(multiple: int) -> Callable[[str], bool]:
    """Return the test for a size in pixels, height x width, in multiples of a number."""

    def accepts(value: str) -> bool:
        sides = value.split("x")
        return len(sides) == 2 and all(
            side.isdecimal() and 0 < int(side) <= _MOST_PIXELS and int(side) % multiple == 0
            for side in sides
        )

    return accepts


@dataclass(frozen=True)
class Space:
    """A part of a seam's cases: all faults at all places, for each combination of sizes."""

    dims: Mapping[str, tuple[str, ...]]
    #: Names of the faults, globs among them; empty means every one of the scopes.
    faults: tuple[str, ...] = ()
    #: Names, or globs, of faults that are left out of them.
    without: tuple[str, ...] = ()
    #: Scopes of the faults; empty means every one that the payload's form allows.
    scopes: tuple[str, ...] = ()
    #: False: of each fault only the first and the last place.
    every_place: bool = True
    #: Faults done one after the other, in one payload.
    composites: tuple[tuple[tuple[str, Place], ...], ...] = ()

    def has(self, fault: str, scope: str) -> bool:
        """Return whether a fault of a scope belongs to this space; the golden run always does."""
        if fault == "noop":
            return True
        if scope == "fuzz":
            return False
        named = not self.faults or any(fnmatch.fnmatch(fault, name) for name in self.faults)
        if any(fnmatch.fnmatch(fault, name) for name in self.without):
            return False
        return named and (not self.scopes or scope in self.scopes)


def _count_of_records(dims: Mapping[str, str]) -> int:
    return int(dims.get("records", "1"))


def _always_fits(dims: Mapping[str, str]) -> str:
    return ""


def _lacks_nothing(dims: Mapping[str, str], device: Device) -> str:
    return ""


@dataclass(frozen=True)
class Seam:
    """One row: which contract holds, which consumer drives it, and with what."""

    name: str
    #: `module:Class` of the consumer, imported only in a worker.
    consumer: str
    #: Forms of the payload: which faults can change it. Spaces enumerate those of the first;
    #: a case line may name those of any.
    forms: tuple[str, ...]
    #: Upstream's module for each range of releases, and the function that consumes.
    modules: tuple[tuple[Span, str], ...]
    symbol: str
    dims: Mapping[str, Dim]
    spaces: tuple[Space, ...]
    #: The platform that the consumer provides; `npu` where only that one enters the code.
    platform: str = "cpu"
    #: How long one case may take, in seconds.
    deadline_s: float = 10.0
    #: How many records the payload has, from the dimensions.
    count: Callable[[Mapping[str, str]], int] = _count_of_records
    #: Says why a combination of dimensions makes no sense; empty if it does.
    misfit: Callable[[Mapping[str, str]], str] = _always_fits
    #: Says what a machine, running on a device, lacks for a combination of dimensions; empty if
    #: it lacks nothing. Such a case is unavailable.
    lacks: Callable[[Mapping[str, str], Device], str] = _lacks_nothing
    #: True where upstream's function launches Triton kernels.
    kernel: bool = False

    def module(self, release: str) -> str:
        """Return the name of upstream's module in a release.

        Raises:
            KeyError: if the release has no such module.
        """
        for span, module in self.modules:
            if release in span:
                return module
        raise KeyError(release)
