"""What is wrong with the tool's input or surroundings; never what upstream did.

    HarnessError
    +-- UsageError      a name, a case line or an option that cannot be understood
    +-- SourceError     no SGLang tree where one was named
    +-- CacheError      the user's cache cannot be written or read
    +-- SnapshotError   a snapshot is missing, or no longer what was written

Each names the input, the place and the mend, and ends the command with exit code 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches

#: Names that fit into one line.
_SHOWN = 20


class HarnessError(Exception):
    """The tool cannot go on. The text says what is wrong and how to mend it."""


class UsageError(HarnessError):
    """A name, a case line or an option cannot be understood."""


class SourceError(HarnessError):
    """The source under test cannot be found, fetched or read."""


class CacheError(HarnessError):
    """The user's cache cannot be written or read."""


class SnapshotError(HarnessError):
    """A committed snapshot is missing, or is not as it was written."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is in none of the tables, with the near ones."""
    names = list(known)
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif len(names) > _SHOWN:
        hint = f"there are {len(names)}; seamproof list shows them"
    else:
        hint = f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} {name!r}: {hint}")
