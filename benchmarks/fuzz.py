"""Many fuzzed replies, and as many honest ones: nothing may be inconclusive, and nothing cry.

    python benchmarks/fuzz.py [--replies 100000] [--honest 100000] [--sample 1000]

Cases are drawn at random over the AR seams: any size, one to three faults at any place, any seed,
an arbitrary change somewhere in the reply among them. A sample is run again by its line alone,
and must be judged the same. Faults that only wait are left out.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from harness.case import Case, Step, parse
from harness.pool import Pool
from harness.result import CaseResult
from harness.runner import absence
from harness.seams import SEAMS
from harness.upstream.source import Tree, find
from harness.verdict import Promise, Verdict
from simulators.faults import FAULTS
from simulators.payload import ANSWER, REPLY

_CHUNK = 2000


def drawn(tree: Tree, rng: random.Random, honest: bool) -> Iterator[Case]:
    """Yield random cases of the seams that a tree has and whose payload is a reply."""
    replies = {REPLY, ANSWER}
    seams = [s for s in SEAMS.values() if set(s.forms) & replies and not absence(tree, s)]
    sizes = {
        seam.name: [
            dims
            for space in seam.spaces
            for values in product(*space.dims.values())
            if not seam.misfit(
                dims := {k: d.default or "" for k, d in seam.dims.items()}
                | dict(zip(space.dims, values, strict=True))
            )
        ]
        for seam in seams
    }
    while True:
        seam = rng.choice(seams)
        dims = rng.choice(sizes[seam.name])
        steps = () if honest else tuple(_steps(rng, seam.forms, seam.count(dims)))
        named = tuple((key, dims[key]) for key in seam.dims)
        yield Case(seam.name, steps or (Step("noop"),), named, rng.randrange(2**32))


def _steps(rng: random.Random, forms: tuple[str, ...], count: int) -> Iterator[Step]:
    fitting = [
        fault
        for fault in FAULTS.values()
        if set(fault.forms) & set(forms) and fault.kind not in ("noop", "delay")
    ]
    for _ in range(rng.randint(1, 3)):
        fault = rng.choice(fitting) if rng.random() < 0.5 else FAULTS["scramble"]
        places = list(fault.places(count)) if set(fault.forms) & set(forms) else []
        if places:
            yield Step(fault.name, rng.choice(places))


def memory_mib(pids: list[int]) -> float:
    """Return the resident memory of the largest process."""
    page = 4096
    sizes = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in pids]
    return max(sizes) / 2**20


def run(pool: Pool, cases: Iterator[Case], count: int) -> tuple[list[CaseResult], list[float]]:
    """Return the results of so many cases, and the memory after each chunk."""
    results: list[CaseResult] = []
    memory = []
    while len(results) < count:
        results += pool.run(list(islice(cases, min(_CHUNK, count - len(results)))))
        memory.append(memory_mib(pool.pids))
        print(f"{len(results)} of {count}, {memory[-1]:.0f} MiB", flush=True)
    return results, memory


def main() -> None:
    """Run, and print the figures as one JSON object; exit 1 if anything is unfit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="0.5.23")
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--honest", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    started = time.perf_counter()
    tree = find(options.release)
    with Pool(tree) as pool:
        fuzzed, memory = run(pool, drawn(tree, rng, honest=False), options.replies)
        honest, _ = run(pool, drawn(tree, rng, honest=True), options.honest)
        sample = rng.sample(fuzzed, min(options.sample, len(fuzzed)))
        again = pool.run([parse(result.case) for result in sample])
    unlike = [a.case for a, b in zip(sample, again, strict=True) if _told(a) != _told(b)]
    unfit = [
        result.case
        for result in fuzzed
        if result.verdict is Verdict.INCONCLUSIVE or result.promise is Promise.BROKEN
    ]
    cries = [result.case for result in honest if result.verdict is not Verdict.UPHELD]
    quarter = len(memory) // 4
    found = {
        "fuzzed": len(fuzzed),
        "verdicts": Counter(str(result.verdict) for result in fuzzed),
        "inconclusive or broken": unfit[:20],
        "honest": len(honest),
        "honest and not upheld": cries[:20],
        "replayed": len(sample),
        "replayed otherwise": unlike[:20],
        "memory after a quarter, MiB": round(memory[quarter], 1),
        "memory at the end, MiB": round(memory[-1], 1),
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(found, indent=1))
    raise SystemExit(bool(unfit or cries or unlike))


def _told(result: CaseResult) -> tuple[object, ...]:
    return result.verdict, result.promise, result.detail, result.clauses, result.exception


if __name__ == "__main__":
    main()
