"""What is made of upstream's source before it runs: its code, and what a stub cannot notice in it.

Both follow from the text alone, and take longer than all else that a worker does to begin. The
workers of one run share them, by files named for the text; the run's end removes them.
"""

import hashlib
import marshal
import os
from importlib.util import decode_source
from pathlib import Path
from types import CodeType

from harness.confinement import kept
from harness.upstream.blind_spots import Spots, spots_of


def made_of(path: str, data: bytes) -> tuple[CodeType, Spots]:
    """Return the code of a source file, and its blind spots.

    Args:
        path: The file's, which its frames name.
        data: What stands in it.

    Raises:
        SyntaxError: if it is no Python.
    """
    name = hashlib.sha256(b"\0".join((os.fsencode(path), data))).hexdigest()
    file = kept.folder / name if kept.folder is not None else None
    if file is not None:
        try:
            code, asked, caught, tested = marshal.loads(file.read_bytes())
            return code, Spots(asked, caught, tested)
        except FileNotFoundError:
            pass
    text = decode_source(data)
    code, spots = compile(text, path, "exec", dont_inherit=True), spots_of(text)
    if file is not None:
        _keep(file, marshal.dumps((code, *spots)))
    return code, spots


def _keep(file: Path, data: bytes) -> None:
    with kept.writing():
        beside = file.with_suffix(f".{os.getpid()}")
        beside.write_bytes(data)
        # Another worker may have done the same meanwhile: it is alike.
        beside.replace(file)
