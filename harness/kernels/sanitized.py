"""What compute-sanitizer is put around: golden runs of one seam, or the kernels of our own.

    python -m harness.kernels.sanitized ours|SEAM cuda|cpu all|small [TREE]

Prints one JSON object: how many `cases` ran, what went `wrong`, and whether a read outside was
`planted` at the end. It runs alone, unconfined: no process of another's lies between it and the
tool.
"""

import json
import sys
from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from harness.bench import Bench
from harness.case import cases
from harness.device import CUDA, NATIVE, Device
from harness.kernels import comparison, margins
from harness.kernels.trust import tell, trust
from harness.seams import SEAMS
from harness.upstream.source import find
from harness.verdict import Verdict

#: Cases of each kind; kernels run ten to a hundred times slower under the tool.
_CASES, _FEW = 20, 2
#: Elements behind the only one of a tensor; its allocation ends long before.
_FAR = 1 << 16


@triton.jit
def _planted_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, far: tl.tensor) -> None:
    tl.store(out_ptr, tl.load(x_ptr + far))


def _ours(device: str, count: int) -> Iterator[str | None]:
    for compared in (comparison.stamps, comparison.audits, comparison.plantings):
        kind = comparison.Cases(device, count)
        yield from compared(kind)
        yield from [None] * kind.done


def _of_seam(name: str, device: str, count: int, source: str) -> Iterator[str | None]:
    bench = Bench(find(source), device)
    where = Device(CUDA, NATIVE) if device == CUDA else Device()
    for case in [case for case in cases(SEAMS[name]) if case.is_golden][:count]:
        if SEAMS[name].lacks(dict(case.dims), where):
            continue
        result = bench.run(case)
        yield None
        if result.verdict not in (Verdict.UPHELD, Verdict.UNAVAILABLE):
            yield f"{case.line}: {result.verdict} {result.detail}"
    bench.close()


def _plant() -> None:
    x, out = torch.zeros(1, device=CUDA), torch.zeros(1, device=CUDA)
    try:
        _planted_kernel[(1,)](x, out, _FAR)
        torch.cuda.synchronize()
    except (RuntimeError, torch.AcceleratorError):
        # The tool ends the launch: that is what it was planted for.
        return


def main(subject: str, device: str, which: str, source: str = "") -> None:
    """Run one subject and print what became of it."""
    count = _FEW if which == "small" else _CASES
    margins.leave_out()
    if device != CUDA:
        tell(trust())
    ran = _ours(device, count) if subject == "ours" else _of_seam(subject, device, count, source)
    told = list(ran)
    if device == CUDA:
        _plant()
    wrong = [one for one in told if one is not None]
    print(json.dumps({"cases": told.count(None), "wrong": wrong, "planted": device == CUDA}))


if __name__ == "__main__":
    main(*sys.argv[1:])
