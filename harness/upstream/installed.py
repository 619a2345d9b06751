"""The plain loader: SGLang as it is installed in this environment, with all around it."""

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from harness.upstream.loading import Needs
from harness.upstream.source import Tree
from harness.upstream.touches import LEDGER


class Installed:
    """Imports the installed package; nothing is stubbed."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        sys.dont_write_bytecode = True

    def load(self, needs: Needs) -> ModuleType:
        """Return upstream's module."""
        module = importlib.import_module(needs.module)
        LEDGER.sealed = True
        return module

    def decorated(self) -> Sequence[str]:
        """Return nothing: every decorator is the real one."""
        return ()
