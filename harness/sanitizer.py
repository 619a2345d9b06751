"""compute-sanitizer around kernels: what reads or writes memory that is none of its tensors'.

A part of the check of a card, for who asks for it. Golden runs alone are driven, each seam in a
process of its own (`harness.kernels.sanitized`), with every tensor in an allocation of its own and
without margins, which would be memory too. Last of all a read outside is planted: a tool that has
not seen it has seen nothing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.gpu_part import Asked, Part
from harness.seams import SEAMS

PROGRAM = "compute-sanitizer"
#: The kernel that a read outside is planted in.
PLANTED = "_planted_kernel"
#: Stands for the kernels of our own, beside the seams.
OURS = "ours"
_OPTIONS = ("--tool", "memcheck", "--report-api-errors", "no", "--log-file")
#: A line of the tool's own; what belongs to a finding is set in further.
_LINE = re.compile(r"=========( +)(\S.*)")
_FINDING = re.compile(r"(?:Invalid|Misaligned|Out-of-range|Malloc|Free|Barrier|Program hit)\b")
_WHERE = re.compile(r"at (?:0x[0-9a-f]+ in )?(.*)")
_OFFSET = re.compile(r"\+?:?0x[0-9a-f]+")


@dataclass(frozen=True)
class Findings:
    """What the tool wrote."""

    #: A sentence for each kind and place, with how often it was seen.
    said: tuple[str, ...]
    #: Whether it saw what was planted.
    saw_planted: bool
    #: Whether it came to its end.
    is_whole: bool


def findings(text: str) -> Findings:
    """Return what a log of compute-sanitizer says, as of memcheck.

    Args:
        text: The log: lines that begin with nine equals signs; a finding is one of them followed
            by lines that are set in, the first of which says where, the second which thread.
    """
    found = Counter(_found(text))
    said = [
        what + (f", {count} times" if count > 1 else "")
        for what, count in found.items()
        if PLANTED not in what
    ]
    planted = any(PLANTED in what for what in found)
    return Findings(tuple(said), planted, "========= ERROR SUMMARY:" in text)


def _found(text: str) -> Iterator[str]:
    what = ""
    for line in text.splitlines():
        match = _LINE.match(line)
        indent, said = (len(match[1]), match[2].strip()) if match else (0, "")
        if what and indent > 1 and (where := _WHERE.match(said)):
            # An address within the code is another one with every compilation.
            yield f"{what} at {_OFFSET.sub('', where[1])}"
            what = ""
        elif indent <= 1:
            if what:
                yield what
            what = said if _FINDING.match(said) else ""
    if what:
        yield what


def sanitizer(asked: Asked) -> Part:
    """Run what launches kernels under compute-sanitizer."""
    program = shutil.which(PROGRAM)
    if program is None:
        return Part("sanitizer", "unavailable", said=[f"there is no {PROGRAM} on the path"])
    subjects = [OURS]
    if asked.source is not None:
        subjects += [name for name, seam in SEAMS.items() if seam.kernel]
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda subject: _sanitized(program, subject, asked), subjects))
    states = {part.state for part in parts}
    state = next((one for one in ("unfit", "inconclusive") if one in states), "fit")
    said = [f"{part.name}: {one}" for part in parts for one in part.said]
    figures: dict[str, object] = {"subjects": {part.name: part.state for part in parts}}
    return Part("sanitizer", state, sum(part.cases for part in parts), said, figures)


def _sanitized(program: str, subject: str, asked: Asked) -> Part:
    log = asked.out / f"sanitizer-{subject}.log"
    log.unlink(missing_ok=True)
    inner = [sys.executable, "-m", "harness.kernels.sanitized", subject, asked.torch_device]
    inner += ["small"] if asked.small else ["all"]
    inner += [asked.source] if asked.source else []
    done = subprocess.run(
        [program, *_OPTIONS, str(log), *inner],
        # Torch keeps memory that it has freed: what lies there would be no tensor's, and no error.
        env={**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return Part(
            subject, "inconclusive", said=[f"ended with {done.returncode}: {done.stderr[-1000:]}"]
        )
    found = findings(log.read_text(errors="replace") if log.is_file() else "")
    said = [*found.said, *told["wrong"]]
    lacking = _lacking(found, told["planted"])
    state = "unfit" if said else "inconclusive" if lacking else "fit"
    return Part(subject, state, told["cases"], [*said, *lacking])


def _lacking(found: Findings, planted: bool) -> list[str]:
    if not found.is_whole:
        return [f"{PROGRAM} did not come to its end"]
    if planted and not found.saw_planted:
        return [f"{PROGRAM} did not see the read outside that was planted"]
    return []
