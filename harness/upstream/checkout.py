"""Reads a checkout of SGLang: which release it is, and one commit of it without the work tree."""

import io
import re
import subprocess
import tarfile
from pathlib import Path

from harness.cache import placed, trees
from harness.errors import SourceError
from harness.telling import Say

_VERSION = re.compile(r"__version__\s*=.*?['\"](\d+\.\d+\.\d+[^'\"]*)['\"]")
_TAG = re.compile(r"v?(\d+\.\d+\.\d+)")


def release_of(root: Path) -> str | None:
    """Return the release of a tree, or None if it does not say.

    A wheel's tree says it in its metadata, a built one in `_version.py`, a checkout in its tags.
    """
    for metadata in sorted(root.glob("sglang-*.dist-info/METADATA")):
        for line in metadata.read_text(encoding="utf-8").splitlines():
            if line.startswith("Version: "):
                return line.removeprefix("Version: ").strip()
    for name in ("_version.py", "version.py"):
        file = root / "sglang" / name
        match = _VERSION.search(file.read_text(encoding="utf-8")) if file.is_file() else None
        if match:
            return match[1]
    return _tagged(root)


def _tagged(root: Path) -> str | None:
    if not any((folder / ".git").exists() for folder in (root, *root.parents[:2])):
        return None
    return _described(root, "HEAD")


def _described(folder: Path, commit: str) -> str | None:
    said = _git(folder, "describe", "--tags", "--match", "v[0-9]*", commit)
    match = _TAG.match(said.stdout.decode()) if said.returncode == 0 else None
    return match[1] if match else None


def extract(source: str, say: Say) -> tuple[Path, str | None]:
    """Return a folder with one commit's `sglang`, and the release that the commit's tags say.

    The source is `git:PATH@REF`. The commit is read from git's store into the user's cache; the
    work tree is not touched.

    Raises:
        SourceError: if the path is no repository, the ref no commit, or the commit no SGLang.
    """
    path_text, at, ref = source.removeprefix("git:").rpartition("@")
    if not at or not path_text or not ref:
        raise SourceError(f"source {source!r}: expected git:PATH@REF, as in git:~/sglang@main")
    path = Path(path_text).expanduser()
    if not path.is_dir():
        raise SourceError(f"source {source!r}: there is no folder {path_text!r}")
    said = _git(path, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if said.returncode != 0:
        told = said.stderr.decode(errors="replace").strip()
        why = "no git repository" if "not a git" in told else f"no commit {ref!r}"
        if "dubious ownership" in told:
            why = f"git reads no other user's repository ({told.splitlines()[0]})"
        raise SourceError(f"source {source!r}: {why} in {path_text!r}")
    commit = said.stdout.decode().strip()
    target = trees() / f"git-{commit}"

    def fill(folder: Path) -> None:
        say(f"reading commit {commit[:12]}")
        archive = _git(path, "archive", "--format=tar", commit, _package(path, commit, source))
        if archive.returncode != 0:
            raise SourceError(f"source {source!r}: {archive.stderr.decode().strip()}")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")

    return placed(target, fill), _described(path, commit)


def _package(path: Path, commit: str, source: str) -> str:
    for folder in ("python/sglang", "sglang"):
        said = _git(path, "cat-file", "-e", f"{commit}:{folder}/__init__.py")
        if said.returncode == 0:
            return folder
    raise SourceError(f"source {source!r} is no SGLang tree: it has no python/sglang/__init__.py")


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError("source git:...: there is no git on this machine") from error
