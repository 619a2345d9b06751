"""A user's own splits: what the ranks of a sequence are told, from text to a fault.

Lists for each rank are parted by `/`; one list alone is told to every rank. A list is `none` (the
field is null), `omitted` (there is no such field) or its items, parted by commas: `5` is an int,
`5.0` a float, `none` null, and any other word a string. No text is an empty list.
"""

import re
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from harness.errors import UsageError
from simulators.faults.fault import Fault, Place, whole
from simulators.payload import SPLITS, Payload
from simulators.scheduler import MISSING

_SPLITS = "splits="
_NONE, _OMITTED = "none", "omitted"
_INT, _FLOAT = re.compile(r"[+-]?[0-9]+"), re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)")
#: Upstream makes room for as many rows as a split says: more would fill a machine's memory.
_MOST = 1_000_000
#: Characters of a number that is read as one at all.
_LONGEST = 20


@dataclass(frozen=True)
class Splits:
    """A user's own splits, as text."""

    text: str

    @property
    def name(self) -> str:
        """The name under which a case carries them."""
        return f"{_SPLITS}{self.text}"

    @classmethod
    def named(cls, name: str) -> "Splits | None":
        """Return the splits that a fault's name carries, or None if it carries none."""
        return cls(name.removeprefix(_SPLITS)) if name.startswith(_SPLITS) else None

    @property
    def lists(self) -> tuple[Any, ...]:
        """What each rank is told, in rank order, or the one list that all are told.

        Raises:
            UsageError: if the text cannot be understood.
        """
        return tuple(_list(text.strip()) for text in self.text.split("/"))

    @property
    def is_omitted(self) -> bool:
        """Whether a rank is told nothing at all."""
        return any(told is MISSING for told in self.lists)

    @property
    def fault(self) -> Fault:
        """The fault that tells them.

        Raises:
            UsageError: if the text cannot be understood.
        """
        lists = self.lists

        def change(payload: Payload, at: Place, rng: Random) -> Payload:
            ranks = len(payload.beside["rows"])
            if len(lists) not in (1, ranks):
                raise ValueError(f"{len(lists)} lists of splits for {ranks} ranks")
            told = dict(enumerate(lists * ranks if len(lists) == 1 else lists))
            return replace(payload, beside={**payload.beside, "rank_splits": told})

        return Fault(self.name, "substitution", change, (SPLITS,), whole, "-> your own", "splits")


def _list(text: str) -> Any:
    if text.lower() == _NONE:
        return None
    if text.lower() == _OMITTED:
        return MISSING
    return tuple(_item(word.strip(), text) for word in text.split(",")) if text else ()


def _item(word: str, text: str) -> Any:
    if not word:
        raise UsageError(f"splits {text!r}: a split is missing beside a comma")
    if word.lower() == _OMITTED:
        raise UsageError(
            f"splits {text!r}: omitted stands for all splits, and none for one of them"
        )
    if word.lower() == _NONE:
        return None
    if _INT.fullmatch(word):
        if len(word) > _LONGEST or abs(int(word)) > _MOST:
            raise UsageError(f"splits {text!r}: a split is at most {_MOST}")
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word
