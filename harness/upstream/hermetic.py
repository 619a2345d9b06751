"""The hermetic loader: a seam's own upstream files for real, stubs for everything around them.

Torch, numpy, PIL, requests and the like are the real ones. A missing package is stubbed only
where the importing frame lies in the upstream tree: torch itself probes for packages, and a stub
in answer would break it.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

from harness.upstream import blind_spots, stub_names
from harness.upstream.compiled import made_of
from harness.upstream.loading import Needs
from harness.upstream.source import Tree
from harness.upstream.stubs import StubModule
from harness.upstream.touches import LEDGER, NotProvided

#: Packages that upstream imports, that no seam's path needs, and that take seconds to import.
_HEAVY = frozenset(
    "transformers diffusers flashinfer sgl_kernel aiter torchvision torchaudio torchao "
    "torchcodec decord av uvloop xgrammar outlines nvtx cutlass deep_gemm".split()
)
#: Packages of which upstream gets the real ones, as far as it asks: a stub in their place would
#: change what is seen.
REAL_PACKAGES = frozenset("PIL fastapi httptools httpx msgspec numpy requests zmq".split())


class Hermetic:
    """Loads from one tree, one release in a process."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._finder = _Finder(tree)
        sys.meta_path.insert(0, self._finder)
        sys.dont_write_bytecode = True

    def load(self, needs: Needs) -> ModuleType:
        """Return upstream's module, imported for real and sealed.

        Raises:
            ModuleNotFoundError: if upstream asked for one of `REAL_PACKAGES`, and it is not here.
        """
        LEDGER.sealed = False
        LEDGER.take()
        try:
            for name in needs.preload:
                importlib.import_module(name)
            self._finder.provided |= needs.provided.keys()
            for name, members in needs.provided.items():
                stub = importlib.import_module(name)
                # A package that is there answers for itself.
                if isinstance(stub, StubModule):
                    vars(stub).update(members)
            for name in needs.real:
                self._load_real(name)
            module = self._load_real(needs.module)
            if touched := LEDGER.take():
                # The module swallowed the raise, and now believes what only a stub told it.
                raise NotProvided("; ".join(touched))
            # Not before all is loaded: a module's names are read by others' decorators.
            for name in self._finder.real:
                stub_names.hide(sys.modules[name])
            return module
        finally:
            LEDGER.sealed = True
            for name in sorted(self._finder.missing):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def decorated(self) -> Sequence[str]:
        """Return the functions that run without a decorator of upstream's."""
        return tuple(LEDGER.decorated)

    def _load_real(self, name: str) -> ModuleType:
        file = self.tree.file_of(name)
        if file is None:
            raise ModuleNotFoundError(f"{name} is not in {self.tree.name}")
        self._finder.real.add(name)
        return importlib.import_module(name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._root = str(tree.root)
        self.real: set[str] = set()
        self.provided: set[str] = set()
        #: What a stub stands for though the real one is wanted.
        self.missing: set[str] = set()
        self._looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self._looking:
            return None
        top = name.partition(".")[0]
        if top == "sglang":
            return self._real_spec(name) if name in self.real else _stub_spec(name)
        if top in sys.stdlib_module_names:
            return None
        if name not in self.provided and not self._asked_by_upstream():
            return None
        if top in _HEAVY:
            return _stub_spec(name)
        if not self._is_there(top):
            self.missing |= {top} & REAL_PACKAGES
            return _stub_spec(name)
        return None

    def _real_spec(self, name: str) -> importlib.machinery.ModuleSpec | None:
        file = self._tree.file_of(name)
        if file is None:
            return None
        loader = _RealLoader(name, str(file))
        folders = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, file, loader=loader, submodule_search_locations=folders
        )

    def _is_there(self, top: str) -> bool:
        if isinstance(sys.modules.get(top), StubModule):
            return False
        self._looking = True
        try:
            return importlib.util.find_spec(top) is not None
        finally:
            self._looking = False

    def _asked_by_upstream(self) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if "importlib" not in file and file != __file__:
                return file.startswith(self._root)
            frame = frame.f_back
        return False


class _RealLoader(importlib.machinery.SourceFileLoader):
    """Runs upstream's file, then closes what its stubs could not notice."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file, made once for all workers of a run."""
        return self._made()[0]

    def exec_module(self, module: ModuleType) -> None:
        stub_names.prepare(module)
        super().exec_module(module)
        blind_spots.close(module, self._made()[1])

    def _made(self) -> tuple[CodeType, blind_spots.Spots]:
        return made_of(self.path, self.get_data(self.path))


class _StubLoader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stub has no code."""


def _stub_spec(name: str) -> importlib.machinery.ModuleSpec:
    if LEDGER.sealed:
        # A module that is imported while a case runs: whether it is there is upstream's answer.
        LEDGER.reach(name, "imported")
    return importlib.machinery.ModuleSpec(name, _StubLoader(), is_package=True)


def provide(module: ModuleType, **members: Any) -> None:
    """Give names of a loaded upstream module real content; each must be there already.

    Raises:
        AttributeError: if the module has no such name: upstream moved it, and providing it would
            go unnoticed.
    """
    for name, value in members.items():
        if name not in stub_names.names(module):
            raise AttributeError(f"{module.__name__} has no {name} to provide")
        setattr(module, name, value)
