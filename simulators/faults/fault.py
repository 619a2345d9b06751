"""What a fault is: a pure change of a payload, the places it has, and a picture of it.

A fault knows neither the seam nor the dose: which request it hits is the case's business.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from pathlib import Path
from random import Random

from simulators.payload import RECORDS, Payload

#: Where in the payload a fault acts: indices of records, empty for the whole of it.
Place = tuple[int, ...]
Change = Callable[[Payload, Place, Random], Payload]
Places = Callable[[int], Iterator[Place]]


class FaultError(Exception):
    """A fault does not do what a fault must."""


@dataclass(frozen=True)
class Fault:
    """One row of the table of faults."""

    name: str
    #: The field's own word: omission, truncation, duplication, reordering, merge,
    #: substitution, skew, staleness, delay or disconnect.
    kind: str
    change: Change
    #: Forms of payload that the fault can change.
    forms: tuple[str, ...]
    #: All the places that the fault has in a payload of so many records.
    places: Places
    #: Before and after, as in `[a b c] -> [a c]`.
    picture: str
    #: What is changed: `records` (the list of them), `items` (a record as a whole), `ids` (the
    #: tokens inside one), `body` (the payload as a whole), `answer` (its way over HTTP), `fuzz`
    #: (whatever the seed says; no space of cases has it).
    scope: str = "records"
    #: True where nothing that a consumer may rely on is changed: it must be tolerated.
    benign: bool = False

    def fits(self, payload: Payload, at: Place) -> bool:
        """Return whether a payload has this place.

        One that an earlier fault replaced as a whole has none any more.
        """
        return payload.body is RECORDS and at in _known(self.places, len(payload.records))

    def done(self, payload: Payload, at: Place, rng: Random) -> Payload:
        """Return the payload with this fault done to it.

        Raises:
            FaultError: if the fault raises, or returns no payload.
        """
        try:
            changed = self.change(payload, at, rng)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            said = f"{type(error).__name__}: {error} at {where}"
            raise FaultError(f"the fault {self.name} raised {said}") from error
        if not isinstance(changed, Payload):
            kind = type(changed).__name__
            raise FaultError(f"the fault {self.name} returned {kind}, and no payload")
        return changed


@lru_cache(maxsize=1024)
def _known(places: Places, count: int) -> frozenset[Place]:
    return frozenset(places(count))


def whole(count: int) -> Iterator[Place]:
    """Yield the one place of a fault that changes the payload as a whole."""
    yield ()


def each(count: int) -> Iterator[Place]:
    """Yield each record."""
    return ((index,) for index in range(count))


def cuts(count: int) -> Iterator[Place]:
    """Yield how many records to keep, from none to all but two.

    All but one is the omission of the last record, which is a fault of its own.
    """
    return ((kept,) for kept in range(count - 1))


def pairs(count: int) -> Iterator[Place]:
    """Yield each unordered pair of records."""
    return iter(combinations(range(count), 2))


def ordered_pairs(count: int) -> Iterator[Place]:
    """Yield each ordered pair of two different records."""
    return iter(permutations(range(count), 2))


def neighbours(count: int) -> Iterator[Place]:
    """Yield each record that has a next one."""
    return ((index,) for index in range(count - 1))


def each_of_three(count: int) -> Iterator[Place]:
    """Yield each record, where there are three or more.

    With two records, one in the place of both is the duplication of it over the other.
    """
    return each(count) if count > 2 else iter(())


def from_three(count: int) -> Iterator[Place]:
    """Yield the whole payload, where it has three records or more.

    With two records, a rotation is the swap of the two.
    """
    return whole(count) if count > 2 else iter(())


def from_four(count: int) -> Iterator[Place]:
    """Yield the whole payload, where it has four records or more.

    With three records, a reversal is the swap of the outer two.
    """
    return whole(count) if count > 3 else iter(())


def beyond_first(count: int) -> Iterator[Place]:
    """Yield each record but the first, where there are three or more.

    With two records, keeping the second is the omission of the first.
    """
    return ((index,) for index in range(1, count)) if count > 2 else iter(())
