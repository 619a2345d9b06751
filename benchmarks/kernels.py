"""Stamps and audits on a card, beside a plain copy and beside the same in eager torch.

    python benchmarks/kernels.py [--rounds 20] [--format json]

A ratio to the copy is one of bandwidths: `torch.Tensor.copy_` reads and writes each byte, a stamp
writes it, an audit reads it. A ratio to eager torch is one of times. All are taken in turn in one
run, on the same tensors; figures are medians. A goal is 0.9 of the copy and 3 times eager torch.

Exit codes: 0 all goals are reached, 1 one is not, 4 there is no card, and nothing was measured.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable

import torch

from harness.kernels.audit import audit_rows, audit_rows_torch
from harness.kernels.items import table_of
from harness.kernels.stamp import stamp_rows, stamp_rows_torch
from simulators.packed_rows import Item

NO_CARD = 4
#: Rows, columns, dtype: 1 to 4 GB, beyond every cache.
SIZES = (
    (1_000_000, 1024, torch.bfloat16),
    (262_144, 8192, torch.bfloat16),
    (500_000, 1000, torch.float16),
    (262_144, 2048, torch.float32),
)
ITEMS = 64
COPY_GOAL, EAGER_GOAL = 0.9, 3.0
#: Times the size that eager torch needs for what it makes on the way.
_ROOM = 8
_EAGER_ROUNDS = 3


def seconds(call: Callable[[], object], rounds: int) -> float:
    """Return the seconds that the card takes, median of many after two for warmth."""
    taken = []
    for round_ in range(rounds + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        if round_ >= 2:
            taken.append(begin.elapsed_time(end) / 1000)
    return statistics.median(taken)


def measured(count: int, width: int, dtype: torch.dtype, rounds: int) -> dict[str, float]:
    """Return the figures of one size, by name."""
    shares = [count // ITEMS + (slot < count % ITEMS) for slot in range(ITEMS)]
    table = table_of([Item(slot, 0, share) for slot, share in enumerate(shares)], device="cuda")
    rows = torch.empty(count, width, dtype=dtype, device="cuda")
    other = torch.empty_like(rows)
    size = rows.numel() * rows.element_size()
    stamp_rows(table, rows)
    copy = 2 * size / seconds(lambda: other.copy_(rows), rounds)
    stamp_s = seconds(lambda: stamp_rows(table, rows), rounds)
    audit_s = seconds(lambda: audit_rows(rows, table), rounds)
    eager_stamp_s = seconds(lambda: stamp_rows_torch(table, other), _EAGER_ROUNDS)
    eager_audit_s = seconds(lambda: audit_rows_torch(rows, table), _EAGER_ROUNDS)
    return {
        "copy, GB/s": round(copy / 1e9, 1),
        "stamp / copy": round(size / stamp_s / copy, 3),
        "audit / copy": round(size / audit_s / copy, 3),
        "stamp, times eager": round(eager_stamp_s / stamp_s, 2),
        "audit, times eager": round(eager_audit_s / audit_s, 2),
    }


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no card: torch sees no CUDA device here, and nothing was measured")
        return NO_CARD
    sizes: dict[str, dict[str, float]] = {}
    unfit, left_out = [], []
    for count, width, dtype in SIZES:
        name = f"{count} rows of {width} {str(dtype).removeprefix('torch.')}"
        if torch.cuda.mem_get_info()[0] < _ROOM * count * width * dtype.itemsize:
            left_out.append(name)
            continue
        sizes[name] = measured(count, width, dtype, options.rounds)
        torch.cuda.empty_cache()
        for figure, value in sizes[name].items():
            goal = COPY_GOAL if "/ copy" in figure else EAGER_GOAL if "eager" in figure else 0
            unfit += [f"{name}: {figure} is {value}, not {goal}"] if value < goal else []
    if options.format == "json":
        print(json.dumps({"sizes": sizes, "left_out": left_out, "unfit": unfit}))
    else:
        for name, figures in sizes.items():
            print(name)
            for figure, value in figures.items():
                print(f"    {figure:<20} {value:10.3f}")
        for said in left_out:
            print(f"no room for {said}")
        for said in unfit:
            print(f"unfit: {said}")
    # A card that has room for nothing has shown nothing.
    return int(bool(unfit) or not sizes)


if __name__ == "__main__":
    sys.exit(main())
