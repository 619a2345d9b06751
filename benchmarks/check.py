"""A whole check beside a bare `import torch`, and one case over real HTTP; in one run.

    python benchmarks/check.py [--release 0.5.23] [--rounds 5] [--format json]

The release must be in the cache. Ratios are medians over rounds, taken in turn, so that they hold
when the machine's speed drifts.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

from harness.bench import Bench
from harness.case import parse
from harness.upstream.source import find

CASE = "ar-batch reordering records=3 shape=64x96 at=0,2"


def seconds(*command: str) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def one_case(release: str, count: int) -> float:
    """Return the milliseconds of one case whose golden run is known, median of many."""
    import torch

    torch.set_num_threads(1)
    bench, case = Bench(find(release), "cpu"), parse(CASE)
    bench.run(case)
    taken = [bench.run(case).seconds for _ in range(count)]
    bench.close()
    return 1000 * statistics.median(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="0.5.23")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    python = sys.executable
    bare, whole = [], []
    for _ in range(options.rounds):
        bare.append(seconds(python, "-c", "import torch"))
        whole.append(seconds(python, "-m", "harness.cli", "check", options.release))
    help_s = [seconds(python, "-m", "harness.cli", "--help") for _ in range(options.rounds)]
    found = {
        "import torch, s": statistics.median(bare),
        "seamproof check, s": statistics.median(whole),
        "check over import torch": statistics.median(
            w / b for w, b in zip(whole, bare, strict=True)
        ),
        "one case over HTTP, ms": one_case(options.release, 300),
        "seamproof --help, s": statistics.median(help_s),
    }
    if options.format == "json":
        print(json.dumps(found))
    else:
        for name, figure in found.items():
            print(f"{name:<26} {figure:8.3f}")


if __name__ == "__main__":
    main()
