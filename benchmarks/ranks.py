"""What groups of ranks cost: those that die, those that hang, and those that do neither.

    python benchmarks/ranks.py [--release 0.5.23] [--rounds 3] [--format json]

The release must be in the cache. A group that dies or hangs may cost 0.15 s beyond what it takes
to see that it does (nothing for a death, the time of stillness for a hang). Each such case has
another sequence or another number of heads, one worker runs them all, and their golden runs are
known to it. Rounds take the kinds in turn; figures are medians over cases. The benchmark fails
where a case gets another verdict than it should, or where a limit is passed.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from harness.bench import Bench
from harness.case import Case, parse
from harness.outcome import Ending, Outcome
from harness.pool import Pool
from harness.ranks import Rank, Ranks
from harness.result import CaseResult
from harness.stillness import QUIET_S
from harness.upstream.source import Tree, find
from harness.verdict import Verdict

#: Seconds beyond what a death or a hang itself takes.
LIMIT_S = 0.15
ROWS = ("5,3", "6,2", "7,1", "5,4")
HEADS = (2, 4, 6, 12)
#: An honest case of two ranks: a list for a tuple changes nothing.
HONEST = "shard-splits splits-list rows=5,3"
COUNTS = (2, 3, 4)


@dataclass(frozen=True)
class Kind:
    """Cases that all end alike, and what such an end takes by itself."""

    name: str
    fault: str
    verdict: Verdict
    own_s: float
    places: tuple[str, ...] = ("",)

    def cases(self) -> list[Case]:
        """Return the cases, each with a golden run of its own."""
        return [
            parse(f"shard-splits {self.fault} rows={rows} heads={heads} {place}".strip())
            for rows, heads, place in product(ROWS, HEADS, self.places)
        ]


KINDS = (
    Kind("death", "splits-floor", Verdict.CRASHED, 0.0),
    Kind("hang", "rank-away", Verdict.HUNG, QUIET_S, ("at=0", "at=1")),
)


def beyond(tree: Tree, rounds: int) -> Iterator[tuple[Kind, list[float], list[CaseResult]]]:
    """Yield, for each kind, the seconds of each case beyond its own, and the results."""
    dims = [f"rows={rows} heads={heads}" for rows, heads in product(ROWS, HEADS)]
    goldens = [parse(f"shard-splits noop {said}") for said in dims]
    taken: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    results: dict[str, list[CaseResult]] = {kind.name: [] for kind in KINDS}
    with Pool(tree, workers=1) as pool:
        pool.run(goldens)
        for _ in range(rounds):
            for kind in KINDS:
                for case in kind.cases():
                    started = time.perf_counter()
                    results[kind.name] += pool.run([case])
                    taken[kind.name].append(time.perf_counter() - started - kind.own_s)
    for kind in KINDS:
        yield kind, taken[kind.name], results[kind.name]


def formed(tree: Tree, count: int, rounds: int) -> float:
    """Return the milliseconds that a group takes which does nothing, median of many."""

    def drive(rank: Rank) -> Outcome:
        return Outcome(Ending.ACCEPTED)

    taken = []
    for _ in range(10 * rounds):
        started = time.perf_counter()
        ends = Ranks(count, tree).run(drive)
        taken.append(1000 * (time.perf_counter() - started))
        if any(end.outcome is None or end.outcome.ending is not Ending.ACCEPTED for end in ends):
            raise SystemExit(f"a group of {count} that does nothing ended otherwise: {ends}")
    return statistics.median(taken)


def honest(bench: Bench, rounds: int) -> float:
    """Return the milliseconds of an honest case whose golden run is known, median of many."""
    case = parse(HONEST)
    bench.run(case)
    results = [bench.run(case) for _ in range(10 * rounds)]
    unfit = [result.verdict for result in results if result.verdict is not Verdict.TOLERATED]
    if unfit:
        raise SystemExit(f"{HONEST}: {unfit[0]}")
    return 1000 * statistics.median(result.seconds for result in results)


def main() -> None:
    """Measure and print; exit 1 if a verdict or a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="0.5.23")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    tree = find(options.release)
    found: dict[str, float] = {}
    unfit: list[str] = []
    for kind, taken, results in beyond(tree, options.rounds):
        seconds = statistics.median(taken)
        found[f"a {kind.name}, s beyond its own"] = round(seconds, 3)
        found[f"a {kind.name}, over the limit of {LIMIT_S} s"] = round(seconds / LIMIT_S, 2)
        found[f"a {kind.name}, the least of all"] = round(min(taken), 3)
        found[f"cases of a {kind.name}"] = len(results)
        unfit += [f"{r.case}: {r.verdict}" for r in results if r.verdict is not kind.verdict]
        unfit += [f"a {kind.name} takes {seconds:.3f} s"] if seconds > LIMIT_S else []
    import torch

    torch.set_num_threads(1)
    bench = Bench(tree, "cpu")
    bench.prepare(parse(HONEST))
    for count in COUNTS:
        found[f"a group of {count}, ms"] = round(formed(tree, count, options.rounds), 1)
    found["an honest case of 2 ranks, ms"] = round(honest(bench, options.rounds), 1)
    bench.close()
    if options.format == "json":
        print(json.dumps({**found, "unfit": unfit}))
    else:
        for name, figure in found.items():
            print(f"{name:<38} {figure:8.3f}")
        for said in unfit:
            print(f"unfit: {said}")
    raise SystemExit(bool(unfit))


if __name__ == "__main__":
    main()
