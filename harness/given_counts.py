"""A user's own counts and rows: what a preprocessor tells, and what an encoder makes.

Counts and rows are parted by commas, one of each for each item; `;` parts the two. A count is an
int or a float: what upstream is told. Rows are ints: how many of its own rows each item has. Those
that an item should not have continue its stamps, so that nobody asked for them.
"""

import re
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.errors import UsageError
from simulators.encoder import MOST_TOKENS, stamped_rows
from simulators.faults.fault import Fault, Place, whole
from simulators.payload import EMBEDDINGS, PLACEHOLDERS, Payload
from simulators.placeholder_rows import item_rows

_COUNTS = "counts="
_INT, _FLOAT = re.compile(r"[+-]?[0-9]+"), re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)")
#: Before 0.5.19 a count is told as a grid, and as many patches of pixels: more fill the memory.
_MOST_TOLD = 100_000
#: Characters of a number that is read as one at all.
_LONGEST = 20


@dataclass(frozen=True)
class Counts:
    """What is told and made of each item; a payload of placeholders takes only rows."""

    #: One for each item; empty where the honest ones are told.
    told: tuple[float, ...]
    rows: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name under which a case carries them."""
        return f"{_COUNTS}{_joined(self.told)};{_joined(self.rows)}"

    @classmethod
    def named(cls, name: str) -> "Counts | None":
        """Return the counts that a fault's name carries, or None if it carries none."""
        if not name.startswith(_COUNTS):
            return None
        told, _, rows = name.removeprefix(_COUNTS).partition(";")
        return cls(counts_of(told) if told else (), rows_of(rows, MOST_TOKENS))

    @property
    def fault(self) -> Fault:
        """The fault that tells and makes them."""

        def change(payload: Payload, at: Place, rng: Random) -> Payload:
            if payload.form == PLACEHOLDERS:
                return payload.with_records(
                    [self._placed(payload, index) for index in range(len(payload.records))]
                )
            said = zip(payload.records, self.told, self.rows, strict=True)
            return payload.with_records(
                [
                    item._replace(count=told, rows=stamped_rows(item.owner, made))
                    for item, told, made in said
                ]
            )

        forms = (EMBEDDINGS, PLACEHOLDERS)
        return Fault(self.name, "skew", change, forms, whole, "-> your own", "items")

    def _placed(self, payload: Payload, index: int) -> dict[str, Any]:
        request, item = payload.beside["layout"].place(index)
        return {**payload.records[index], "rows": item_rows(request, item, self.rows[index])}


def _joined(numbers: tuple[float, ...]) -> str:
    return ",".join(map(str, numbers))


def counts_of(text: str) -> tuple[float, ...]:
    """Return the counts of a list.

    Raises:
        UsageError: if one is no number, or too large to be told.
    """
    return tuple(_count(word.strip(), text) for word in text.split(","))


def _count(word: str, text: str) -> float:
    whole_number, fraction = _INT.fullmatch(word), _FLOAT.fullmatch(word)
    if len(word) > _LONGEST or not (whole_number or fraction):
        raise UsageError(f"--counts {text}: expected numbers parted by commas, got {word!r}")
    count = int(word) if whole_number else float(word)
    if abs(count) > _MOST_TOLD:
        raise UsageError(f"--counts {text}: a count is at most {_MOST_TOLD}")
    return count


def rows_of(text: str, most: int) -> tuple[int, ...]:
    """Return how many rows a list says.

    Args:
        text: The list.
        most: How many rows an item can have.

    Raises:
        UsageError: if one is no whole number from 0 to `most`.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not word.isdecimal() or len(word) > _LONGEST or int(word) > most:
            raise UsageError(
                f"--rows {text}: expected whole numbers from 0 to {most}, got {word!r}"
            )
    return tuple(map(int, words))
