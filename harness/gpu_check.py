"""What has to be seen on a card, in one command: the kernels, their speed, and the seams.

    python -m harness.gpu_check OUT [--source TREE] [--device cuda|interpreter] [--small]
        [--sanitizer]

Each part runs in a process of its own, so that an illegal access or a hang ends that part alone,
and writes OUT/PART.json; OUT/gpu_check.json has them all. `--device interpreter` runs the same on
a machine without a card, as far as it goes. Nothing is imported that a bare machine with torch
and triton lacks, unless a part needs it, which then says so.

Exit codes: 0 all is as it should be, 1 something is not, 2 bad usage, 3 a part could not be run
to its end, 4 there is no card, and nothing was run.
"""

import argparse
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from harness.gpu_part import Asked, Part

NO_CARD = 4
_BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "kernels.py"
#: Sentences of one part that are kept; one is enough to fail.
_MOST_SAID = 20


def _compared(name: str, count: int, small: int) -> Callable[[Asked], Part]:
    def run(asked: Asked) -> Part:
        from harness.kernels import comparison

        function: Callable[[comparison.Cases], Iterator[str]] = getattr(comparison, name)
        cases = comparison.Cases(asked.torch_device, small if asked.small else count)
        said = list(islice(function(cases), _MOST_SAID))
        return Part(name, "unfit" if said else "fit", cases.done, said)

    return run


def _far_rows(asked: Asked) -> Part:
    if asked.device != "cuda":
        return Part("far_rows", "unavailable", said=["it takes over 4 GB of a card"])
    return _compared("far_rows", 1, 1)(asked)


def _benchmark(asked: Asked) -> Part:
    if asked.device != "cuda":
        return Part("benchmark", "unavailable", said=["only a card's speed is measured"])
    if not _BENCHMARK.is_file():
        return Part("benchmark", "unavailable", said=["benchmarks/kernels.py is not installed"])
    done = subprocess.run(
        [sys.executable, str(_BENCHMARK), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        return Part("benchmark", "inconclusive", said=[done.stderr[-2000:]])
    figures = json.loads(done.stdout)
    return Part(
        "benchmark",
        "unfit" if figures["unfit"] else "fit",
        len(figures["sizes"]),
        figures["unfit"],
        figures,
    )


def _kernel_seams(asked: Asked) -> Part:
    from harness.gpu_seams import kernel_seams

    return kernel_seams(asked)


def _other_seams(asked: Asked) -> Part:
    from harness.gpu_seams import other_seams

    return other_seams(asked)


def _large_batches(asked: Asked) -> Part:
    from harness.gpu_batches import large_batches

    return large_batches(asked)


def _sanitizer(asked: Asked) -> Part:
    if not asked.sanitizer:
        return Part("sanitizer", "unavailable", said=["only --sanitizer asks for it"])
    from harness.sanitizer import sanitizer

    return sanitizer(asked)


#: Each part, and the seconds that it may take.
PARTS: dict[str, tuple[Callable[[Asked], Part], float]] = {
    "stamps": (_compared("stamps", 200, 6), 100),
    "audits": (_compared("audits", 200, 6), 100),
    "provenances": (_compared("provenances", 200, 6), 60),
    "plantings": (_compared("plantings", 1000, 6), 80),
    "far_rows": (_far_rows, 60),
    "kernel_seams": (_kernel_seams, 150),
    "other_seams": (_other_seams, 150),
    "large_batches": (_large_batches, 80),
    "sanitizer": (_sanitizer, 150),
    "benchmark": (_benchmark, 80),
}
#: What has the card for itself, when all else is done; the others take their time side by side.
ALONE = ("benchmark",)
#: How many parts share a card: most of what they wait for is a compiler.
AT_ONCE = 4


def _run_here(name: str, asked: Asked) -> Part:
    started = time.perf_counter()
    part = PARTS[name][0](asked)
    part.seconds = round(time.perf_counter() - started, 1)
    return part


def _run_apart(name: str, asked: Asked) -> Part:
    file = asked.out / f"{name}.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "harness.gpu_check", str(asked.out), "--part", name]
    command += ["--device", asked.device, *(["--small"] if asked.small else [])]
    command += ["--source", asked.source] if asked.source else []
    command += ["--sanitizer"] if asked.sanitizer else []
    interpret = {"TRITON_INTERPRET": "1"} if asked.device == "interpreter" else {}
    limit_s = PARTS[name][1]
    # A session of its own: what a part has started ends with it, and holds no card.
    with subprocess.Popen(
        command,
        env={**os.environ, **interpret},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _, stderr = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = f"not done in {limit_s:.0f} s"
            return Part(name, "inconclusive", said=[said], seconds=limit_s)
    if not file.is_file():
        said = f"ended with {process.returncode}: {stderr[-2000:]}"
        return Part(name, "inconclusive", said=[said])
    return Part(**json.loads(file.read_text()))


def _run_all(asked: Asked) -> Iterator[Part]:
    together = [name for name in PARTS if name not in ALONE]
    # Without a card all parts want the few cores that there are.
    with ThreadPoolExecutor(AT_ONCE if asked.device == "cuda" else 1) as pool:
        yield from pool.map(lambda name: _run_apart(name, asked), together)
    for name in ALONE:
        yield _run_apart(name, asked)


def _table(part: Part) -> Iterator[str]:
    yield f"{part.name:<13} {part.state:<13} {part.cases:>6} cases {part.seconds:>7.1f} s"
    for said in part.said[:3]:
        yield f"    {said.strip().splitlines()[-1] if said.strip() else ''}"
    for name, figure in part.figures.items():
        if isinstance(figure, float):
            yield f"    {name}: {figure:g}"


def _exit_code(parts: list[Part]) -> int:
    states = {part.state for part in parts}
    return 1 if "unfit" in states else 3 if "inconclusive" in states else 0


def _asked(arguments: list[str] | None) -> tuple[Asked, str | None]:
    parser = argparse.ArgumentParser(prog="harness.gpu_check", description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--source", help="a tree of SGLang; without it no seam is driven")
    parser.add_argument("--device", choices=("cuda", "interpreter"), default="cuda")
    parser.add_argument("--small", action="store_true", help="few cases of each part")
    parser.add_argument(
        "--sanitizer",
        action="store_true",
        help="golden runs of the kernels under compute-sanitizer too, which is slow",
    )
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    out, source = given.out.resolve(), given.source
    return Asked(out, given.device, given.small, source, given.sanitizer), given.part


def main(arguments: list[str] | None = None) -> int:
    """Run the parts, print a table, and return the exit code."""
    asked, name = _asked(arguments)
    if name:
        (asked.out / f"{name}.json").write_text(json.dumps(asdict(_run_here(name, asked))))
        return 0
    import torch

    if asked.device == "cuda" and not torch.cuda.is_available():
        print("no card: torch sees no CUDA device here, and nothing was run")
        return NO_CARD
    asked.out.mkdir(parents=True, exist_ok=True)
    parts = []
    for part in _run_all(asked):
        parts.append(part)
        print(*_table(part), sep="\n", flush=True)
    whole = {
        "device": torch.cuda.get_device_name() if asked.device == "cuda" else asked.device,
        "torch": torch.__version__,
        "triton": importlib.metadata.version("triton"),
        "parts": [asdict(part) for part in parts],
    }
    (asked.out / "gpu_check.json").write_text(json.dumps(whole, indent=1))
    return _exit_code(parts)


if __name__ == "__main__":
    sys.exit(main())
