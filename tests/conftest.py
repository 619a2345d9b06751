"""What the tests share: releases in the user's cache, and small trees that can be sabotaged."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.releases import NEWEST
from harness.upstream.source import Tree, find

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).parent.parent
STAGE = Path(
    "sglang/multimodal_gen/runtime/pipelines_core/stages/model_specific_stages/glm_image.py"
)


@pytest.fixture(scope="session")
def newest() -> Tree:
    """The newest release's tree; fetched the first time."""
    return find(NEWEST)


@pytest.fixture
def sabotaged(newest: Tree, tmp_path: Path) -> Callable[[Callable[[str], str]], Path]:
    """Return a function that makes a small copy of the newest tree with its AR stage edited.

    The edit gets the stage's source and returns another one; an edit that changes nothing fails.
    """

    def make(edit: Callable[[str], str]) -> Path:
        from harness.consumers.glm_image_stage import STANDS_ON

        root = tmp_path / "tree"
        needed = [newest.root / STAGE, *filter(None, map(newest.file_of, STANDS_ON))]
        for file in needed:
            copied = root / file.relative_to(newest.root)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copied)
        (root / "sglang" / "__init__.py").write_text("")
        (root / "sglang" / "_version.py").write_text(f'__version__ = "{newest.release}"\n')
        before = (root / STAGE).read_text()
        after = edit(before)
        assert after != before
        (root / STAGE).write_text(after)
        return root

    return make
