"""What is made of a source once is what every worker gets; nothing else may be written there."""

import marshal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.confinement import kept
from harness.upstream.blind_spots import Spots
from harness.upstream.compiled import made_of

SOURCE = b"""
import other

class Ours(other.Base):
    def run(self):
        try:
            return super().run() if other.Flag is None else getattr(super(), "more", None)
        except Missing:
            return self is Nothing
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Keep things in a folder, and forget it again."""
    kept.folder = tmp_path
    yield tmp_path
    kept.folder = None


def test_a_source_says_what_a_stub_cannot_notice() -> None:
    """Names asked of `super()`, caught, and tested by identity, with their lines."""
    _, spots = made_of("ours.py", SOURCE)

    assert spots == Spots(("more", "run"), ("Missing",), (("self", 9), ("Nothing", 9)))


def test_the_second_worker_gets_what_the_first_one_made(folder: Path) -> None:
    """Alike, and under one name for one text of one file."""
    first = made_of("ours.py", SOURCE)
    assert len(list(folder.iterdir())) == 1

    assert made_of("ours.py", SOURCE) == first
    assert len(list(folder.iterdir())) == 1
    assert made_of("theirs.py", SOURCE)[0].co_filename == "theirs.py"
    assert made_of("ours.py", SOURCE + b"\n")[1] == first[1]
    assert len(list(folder.iterdir())) == 3


def test_what_is_kept_is_what_is_given(folder: Path) -> None:
    """Not made anew."""
    made_of("ours.py", SOURCE)
    (file,) = folder.iterdir()
    code = compile("answer = 42", "ours.py", "exec")
    file.write_bytes(marshal.dumps((code, (), (), ())))

    assert made_of("ours.py", SOURCE) == (code, Spots((), (), ()))


def test_upstream_cannot_write_there(tmp_path: Path) -> None:
    """The harness can, in a process that is confined to another folder."""
    (tmp_path / "own").mkdir()
    (tmp_path / "shared").mkdir()
    program = f"""
from pathlib import Path
from harness.confinement import Refused, confine, kept
from harness.upstream.compiled import made_of
kept.folder = Path({str(tmp_path / "shared")!r})
confine(Path({str(tmp_path / "own")!r}))
made_of("ours.py", b"1")
try:
    (kept.folder / "theirs").write_text("")
except Refused as refused:
    print(str(refused).partition(" write ")[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.stdout == "the confinement refused to\n", done.stderr
    assert len(list((tmp_path / "shared").iterdir())) == 1
