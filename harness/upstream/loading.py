"""What a consumer asks of a loader, whichever way upstream is loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from harness.upstream.source import Tree


@dataclass(frozen=True)
class Needs:
    """What a consumer needs loaded, and what it provides."""

    #: Upstream's module with the consumer's entry.
    module: str
    #: Further upstream modules to load for real.
    real: Sequence[str] = ()
    #: Modules of other packages that upstream expects to be imported already.
    preload: Sequence[str] = ()
    #: Names in modules that are not loaded, given real content.
    provided: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Upstream(Protocol):
    """Upstream's code, loaded from one tree."""

    tree: Tree

    def load(self, needs: Needs) -> ModuleType:
        """Return upstream's module, imported for real and sealed.

        Raises:
            NotProvided: if it cannot be loaded without more being provided.
        """

    def decorated(self) -> Sequence[str]:
        """Return the functions that run without a decorator of upstream's."""
