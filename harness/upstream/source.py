"""Finds the SGLang tree that a source names.

A source is one of: a release number (`0.5.23`), a path to a checkout or an unpacked tree,
`git:PATH@REF`, or `installed`. Nothing under test is ever written to.
"""

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from contracts.releases import NEWEST, RELEASE, RELEASES
from harness.errors import SourceError
from harness.telling import Say, unheard
from harness.upstream import checkout, releases

INSTALLED = "installed"


@dataclass(frozen=True)
class Tree:
    """A tree of SGLang's source."""

    #: The source as it was named.
    name: str
    #: The folder that holds the package `sglang`.
    root: Path
    #: The release that the tree is, or the newest known one if it does not say.
    release: str
    #: `hermetic` or `installed`: how code is loaded from it.
    mode: str = "hermetic"
    #: True where the tree does not say its release.
    release_assumed: bool = False

    def file_of(self, module: str) -> Path | None:
        """Return the file of a module, or None if the tree has none."""
        path = self.root.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
        return None


def find(source: str, say: Say = unheard) -> Tree:
    """Return the tree that a source names, fetching a release if it must.

    Args:
        source: A release, a path, `git:PATH@REF` or `installed`.
        say: Called with what is being done whenever it may take over a second.

    Raises:
        SourceError: if there is no such tree; the text says why and how to mend it.
        CacheError: if the user's cache cannot be written.
    """
    if source == INSTALLED:
        return _installed()
    if source.startswith("git:"):
        return _checkout(source, *checkout.extract(source, say))
    if RELEASE.fullmatch(source):
        return Tree(source, releases.fetch(source, say), source)
    path = Path(source).expanduser()
    if path.exists():
        return _checkout(source, path.resolve())
    raise SourceError(
        f"source {source!r} is no release, no path and not 'installed': expected a release such "
        f"as {NEWEST}, a folder that holds sglang/ or python/sglang/, or git:PATH@REF"
    )


def _installed() -> Tree:
    spec = importlib.util.find_spec("sglang")
    if spec is None or spec.origin is None:
        raise SourceError(
            "source 'installed': this environment has no sglang; install it, as in "
            "pip install 'sglang[diffusion]', or name a release"
        )
    release = importlib.metadata.version("sglang")
    return Tree(INSTALLED, Path(spec.origin).parent.parent, release, mode=INSTALLED)


def _checkout(name: str, path: Path, tagged: str | None = None) -> Tree:
    candidates = (path, path / "python", path.parent if path.name == "sglang" else path)
    root = next((c for c in candidates if (c / "sglang" / "__init__.py").is_file()), None)
    if root is None:
        raise SourceError(
            f"source {name!r} is no SGLang tree: neither {path.name}/sglang/__init__.py nor "
            f"{path.name}/python/sglang/__init__.py is there"
        )
    release = checkout.release_of(root) or tagged
    if release is None:
        return Tree(name, root, NEWEST, release_assumed=True)
    return Tree(name, root, release)


def default_source() -> str:
    """Return the source that is meant when none is named."""
    return RELEASES[-1]
