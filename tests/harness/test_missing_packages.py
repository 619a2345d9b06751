"""A package that is not installed makes seams unavailable, by name; nothing else is changed by it.

As on a machine that has torch, triton and numpy and little else, with a card.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.bench import lacking_package
from harness.case import cases
from harness.seams import SEAMS
from harness.upstream.hermetic import REAL_PACKAGES
from harness.upstream.source import Tree

REPOSITORY = Path(__file__).parents[2]
#: What such a machine has none of.
ABSENT = (
    "fastapi httptools httpx hypothesis msgspec PIL platformdirs pytest requests respx rich "
    "starlette syrupy typer uvicorn zmq"
).split()
#: Where a distribution has another name than its module.
MODULES = {"pillow": "PIL", "pyzmq": "zmq"}
#: What nothing of upstream's is given.
OWN = frozenset("filelock hypothesis platformdirs rich torch triton typer".split())

HIDING = """
import sys
from importlib.machinery import PathFinder
class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {absent}
        return None if hidden else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
"""
PROGRAM = """
import json, sys
from harness.case import parse
from harness.runner import run_cases
from harness.upstream.source import find

if __name__ == "__main__":
    results = run_cases(find(sys.argv[1]), [parse(line) for line in sys.argv[2:]], workers=1)
    print(json.dumps({one.case: [one.verdict, one.promise, one.detail] for one in results}))
"""


def verdicts(tree: Tree, tmp_path: Path, *lines: str) -> dict[str, list[str | None]]:
    """Return verdict, promise and detail of each case on a machine without the packages."""
    # Found by every process: the fork server starts one of its own.
    (tmp_path / "sitecustomize.py").write_text(HIDING.format(absent=set(ABSENT)))
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(tree.root), *lines],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str | None]] = json.loads(done.stdout)
    return found


def test_a_seam_that_lacks_a_package_is_unavailable(newest: Tree, tmp_path: Path) -> None:
    """Ours or upstream's; what needs none is judged."""
    lacking = {"ar-single": "httptools", "ar-grouped-shapes": "PIL", "encoder-zmq-frame": "zmq"}
    lines = {_golden(seam): package for seam, package in {**lacking, "krea2-ragged": ""}.items()}
    found = verdicts(newest, tmp_path, *lines)

    for line, package in lines.items():
        said = f"the package {package} is not installed here"
        wanted = ["unavailable", None, said] if package else ["upheld", "kept"]
        assert found[line][: len(wanted)] == wanted


def _golden(seam: str) -> str:
    return next(case.line for case in cases(SEAMS[seam]) if case.is_golden)


def test_real_packages_are_those_that_the_project_requires() -> None:
    """A requirement that is new stands in one of the two lists."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    named = [re.split(r"[^\w-]", one)[0] for one in project["dependencies"]]

    assert {MODULES.get(name, name) for name in named} - OWN == REAL_PACKAGES


@pytest.mark.parametrize(
    ("error", "package"),
    [
        (ModuleNotFoundError("no", name="not_here_at_all.deep"), "not_here_at_all"),
        (ModuleNotFoundError("no", name="torch.not_here"), ""),
        (ModuleNotFoundError("no"), ""),
        (ImportError("no", name="not_here_at_all"), ""),
        (ValueError("no"), ""),
    ],
)
def test_only_a_package_that_is_not_there_is_missing(error: Exception, package: str) -> None:
    """A module that a package does not have may be upstream's mistake."""
    assert lacking_package(error) == package
