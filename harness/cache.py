"""The user's cache: folders that are either whole or not there.

A folder is filled beside its place and then renamed into it, under a lock, so that a kill half
way, a full disk or a second process never leaves a half-written one.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from harness.errors import CacheError


def trees() -> Path:
    """Return the folder of unpacked trees; `SEAMPROOF_CACHE` moves the whole cache."""
    named = os.environ.get("SEAMPROOF_CACHE")
    if named:
        return Path(named).expanduser() / "trees"
    # A tree that is named by its path needs no cache, and a bare machine may lack this package.
    from platformdirs import user_cache_path

    return user_cache_path("seamproof") / "trees"


def placed(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, filled once.

    Args:
        target: Where the folder stands when it is whole.
        fill: Fills an empty folder, given its path.

    Raises:
        CacheError: if the cache cannot be written; nothing half-written stays.
    """
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / f".{target.name}.lock"):
            if not target.is_dir():
                _sweep(target)
                _fill(target, fill)
    except OSError as error:
        raise CacheError(
            f"cannot write the cache {target.parent}: {error.strerror or error}; free some space "
            "or name another folder in SEAMPROOF_CACHE"
        ) from error
    return target


def _fill(target: Path, fill: Callable[[Path], None]) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        fill(folder)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(target: Path) -> None:
    # What a killed process left; the lock says that no living one is at it.
    for left in target.parent.glob(f".{target.name}.*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
