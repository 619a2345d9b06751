"""What this machine can run, and what is missing."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys

from contracts.releases import NEWEST, RELEASES
from harness import __version__
from harness.cache import trees
from harness.device import AUTO, choose
from harness.kernels.trust import trust

_PACKAGES = ("torch", "triton", "requests", "numpy", "pillow", "pytest", "sglang")


def findings() -> dict[str, str]:
    """Return what was found, by name."""
    found = trust()
    cached = [r for r in RELEASES if (trees() / f"sglang-{r}").is_dir()]
    return {
        "seamproof": __version__,
        "python": f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores",
        **{name: _version(name) for name in _PACKAGES},
        "pip": "there" if _has_pip() else "missing: a release cannot be fetched",
        "git": "there" if shutil.which("git") else "missing: git:PATH@REF cannot be read",
        "gpu": _gpu(),
        "device": str(choose(AUTO)),
        "interpreter": found.broken or f"of Triton {found.triton}, can be trusted with:",
        **{f"  {operation}": said for operation, said in found.rows().items()},
        "cache": str(trees()),
        "releases": f"cached: {', '.join(cached) or 'none'}; newest known: {NEWEST}",
        "workers": "fork server" if os.name == "posix" else "missing: this needs Linux or macOS",
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if name == "sglang":
            return "not installed: source 'installed' cannot be checked, releases can"
        return "missing"


def _has_pip() -> bool:
    said = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
    )
    return said.returncode == 0


def _gpu() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    if shutil.which(query[0]) is None:
        return "none: cases run on the cpu"
    said = subprocess.run(query, capture_output=True, text=True, check=False)
    return said.stdout.strip().replace("\n", ", ") or "none: the driver names no card"
