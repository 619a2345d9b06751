"""Where a clause was read: the release, the file and the function.

Lines are not kept here. They move with every release and are found at run time, from the
documented text, in the tree that is under test.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One place in upstream's code."""

    #: The release in which the place was read.
    release: str
    #: Path below `sglang/`.
    path: str
    #: Dotted name of the function inside the file.
    symbol: str

    def __str__(self) -> str:
        return f"sglang {self.release}, {self.path}, {self.symbol}"
