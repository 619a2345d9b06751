"""What has to be seen on a card, in one command: the kernels, their speed, and the kernel seams.

    python -m harness.gpu_check OUT [--source TREE] [--device cuda|interpreter] [--small]

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
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

NO_CARD = 4
_BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "kernels.py"
#: Sentences of one part that are kept; one is enough to fail.
_MOST_SAID = 20


@dataclass
class Part:
    """What became of one part."""

    name: str
    #: `fit`, `unfit`, `inconclusive` (it did not come to its end) or `unavailable` (known before).
    state: str
    cases: int = 0
    said: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    out: Path
    device: str
    small: bool
    source: str | None

    @property
    def torch_device(self) -> str:
        """Where tensors lie: the interpreter reads those of the CPU."""
        return "cuda" if self.device == "cuda" else "cpu"


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


def _seams(asked: Asked) -> Part:
    if asked.source is None:
        return Part("seams", "unavailable", said=["no tree of SGLang was given"])
    from harness.runner import Selection, check
    from harness.seams import SEAMS

    names = [name for name in SEAMS if name.startswith("kernel-")]
    if not names:
        return Part("seams", "unavailable", said=["no seam of kernels is in the table"])
    report = check(asked.source, Selection(names), device=asked.device, workers=1)
    said = [
        f"{result.case}: {result.verdict} {result.promise}"
        for result in report.results
        if str(result.promise) == "broken"
    ]
    unjudged = report.verdicts["inconclusive"]
    state = "unfit" if said else "inconclusive" if unjudged else "fit"
    figures: dict[str, object] = {"verdicts": dict(report.verdicts), "release": report.release}
    return Part("seams", state, len(report.results), said[:_MOST_SAID], figures)


#: Each part, and the seconds that it may take; together they stay below eight minutes.
PARTS: dict[str, tuple[Callable[[Asked], Part], float]] = {
    "stamps": (_compared("stamps", 200, 6), 70),
    "audits": (_compared("audits", 200, 6), 70),
    "provenances": (_compared("provenances", 200, 6), 40),
    "plantings": (_compared("plantings", 1000, 6), 60),
    "far_rows": (_far_rows, 40),
    "benchmark": (_benchmark, 80),
    "seams": (_seams, 110),
}


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
    interpret = {"TRITON_INTERPRET": "1"} if asked.device == "interpreter" else {}
    limit_s = PARTS[name][1]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **interpret},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Part(name, "inconclusive", said=[f"not done in {limit_s:.0f} s"], seconds=limit_s)
    if not file.is_file():
        said = f"ended with {done.returncode}: {done.stderr[-2000:]}"
        return Part(name, "inconclusive", said=[said])
    return Part(**json.loads(file.read_text()))


def _table(parts: list[Part]) -> Iterator[str]:
    for part in parts:
        yield f"{part.name:<11} {part.state:<13} {part.cases:>6} cases {part.seconds:>7.1f} s"
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
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    return Asked(given.out.resolve(), given.device, given.small, given.source), given.part


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
    for name in PARTS:
        parts.append(_run_apart(name, asked))
        print(*_table(parts[-1:]), sep="\n", flush=True)
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
