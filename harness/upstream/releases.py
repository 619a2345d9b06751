"""Fetches a release of SGLang: its wheel, once, through pip, to be read and not installed."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from contracts.releases import RELEASES
from harness.cache import placed, trees
from harness.errors import SourceError
from harness.telling import Say

# The tree is read, not installed, so one platform's wheel serves every machine.
_ANY_MACHINE = (
    "--only-binary", ":all:",
    "--platform", "manylinux_2_34_x86_64",
    "--python-version", "311",
    "--implementation", "cp",
)  # fmt: skip


def fetch(release: str, say: Say) -> Path:
    """Return the folder of an unpacked release, fetching it the first time.

    Raises:
        SourceError: if pip knows no such release, or cannot reach a registry.
        CacheError: if the cache cannot be written.
    """

    def fill(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".wheel.") as download:
            say(f"fetching the wheel of sglang {release}")
            wheel = _download(release, Path(download))
            say(f"unpacking sglang {release}")
            try:
                _unpack(wheel, folder)
            except zipfile.BadZipFile as error:
                raise SourceError(
                    f"release {release}: its wheel cannot be read: {error}"
                ) from error

    return placed(trees() / f"sglang-{release}", fill)


def _download(release: str, folder: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
        "--disable-pip-version-check", *_ANY_MACHINE, "--dest", str(folder), f"sglang=={release}",
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("sglang-*.whl"), None)
    if said.returncode == 0 and wheel is not None:
        return wheel
    raise SourceError(_why(release, said.stderr))


def _why(release: str, told: str) -> str:
    if "No module named pip" in told:
        return f"release {release}: fetching it needs pip in this environment"
    if "No space left" in told:
        raise OSError(28, "No space left on device")
    # Without retries pip does not say that nobody answered, but that there are no versions at all.
    unreachable = ("Failed to establish", "Max retries", "ConnectTimeout", "(from versions: none)")
    if any(sign in told for sign in unreachable) or "Cannot connect" in told:
        return (
            f"release {release} is not in the cache, and no package registry can be reached; "
            "connect, or name a checkout or a cached release"
        )
    if "No matching distribution" in told or "Could not find a version" in told:
        return f"release {release} is not to be had; read so far: {', '.join(RELEASES)}"
    last = told.strip().splitlines()[-1:] or ["pip said nothing"]
    return f"release {release} could not be fetched: {last[0]}"


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            # Nothing compiled is ever loaded: it would be another machine's.
            if PurePosixPath(member.filename).suffix != ".so":
                archive.extract(member, folder)
