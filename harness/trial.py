"""A trial: a user's own payload on the real consumer, held against the contract."""

from dataclasses import replace
from pathlib import Path

from harness.case import Case, Step, seam_named
from harness.device import CPU, choose
from harness.errors import UsageError
from harness.given_faults import Reply
from harness.runner import Report, run_one
from harness.telling import Say, unheard
from harness.trial_kind import Kind, kind_of_seam


def trial(
    source: str,
    seam: str,
    given: Reply,
    prompts: int,
    size: str,
    device: str = CPU,
    say: Say = unheard,
) -> tuple[Report, Case]:
    """Return what upstream did with a payload from a file.

    Args:
        source: A release, a path, `git:PATH@REF` or `installed`.
        seam: A seam whose payload can come from a file: a reply, or rows of tokens.
        given: The file, and how it is sent.
        prompts: How many prompts were asked, or outputs are due.
        size: Width x height in pixels.
        device: One of `harness.device.CHOICES`.
        say: Told what is being done.

    Raises:
        UsageError: if the file is none, or the size or the number of prompts cannot be.
        SourceError: if there is no such source.
    """
    case = _case(seam, given, prompts, size)
    tree, result = run_one(source, case, device, say)
    named = f"try {seam} --prompts {prompts} --size {size} --reply {given.file.name}"
    shown = replace(result, fault="your-reply", case=named)
    return Report(tree, choose(device), (shown,)), case


def _case(name: str, given: Reply, prompts: int, size: str) -> Case:
    seam = seam_named(name)
    if kind_of_seam(seam) is not Kind.FILE:
        raise UsageError(f"seam {name!r} takes no payload from a file")
    if not given.file.is_file():
        raise UsageError(f"--reply {given.file}: there is no such file")
    if not 100 <= given.status <= 599:
        raise UsageError(f"--status {given.status}: expected a number from 100 to 599")
    width, _, height = size.partition("x")
    wanted = {"records": str(prompts), "shape": f"{height}x{width}"}
    if name == "ar-batch":
        # A group needs two requests or more.
        wanted |= {"entry": "batch" if prompts == 1 else "grouped", "outputs": "1"}
    elif "records" not in seam.dims and prompts != 1:
        raise UsageError(f"--prompts {prompts}: {name} is about one prompt; ar-batch takes several")
    dims = tuple((k, wanted.get(k, d.default or "")) for k, d in seam.dims.items())
    for key, value in dims:
        if not seam.dims[key].accepts(value):
            said = f"--size {size}" if key == "shape" else f"--prompts {value}"
            meaning = seam.dims[key].meaning.replace("height x width", "width x height")
            raise UsageError(f"{said}: expected {meaning}")
    file = Path.cwd() / given.file
    return Case(name, (Step(replace(given, file=file).name),), dims)
