"""Batches as large as a server's, on a card: each ends as the same lie does in a small batch.

The rows are 8,192 columns wide, 10,240 of them, and the ids of 64 pictures of 1024x1024. Which
verdict is due is read from the committed snapshot of the small case, which is of the CPU.
"""

from harness.case import parse
from harness.gpu_part import Asked, Part
from harness.runner import run_cases
from harness.seams import SEAMS
from harness.snapshot import read
from harness.upstream.source import find

_EIGHT = "pictures=" + ",".join(["1280"] * 8) + " width=8192"
_UNLIKE = "pictures=1280,1024,1280,960,1280,1280,512,1280 width=8192"
#: Each large case, and the small one that says what is due.
PAIRS = (
    (f"encoder-slice noop records=8 {_EIGHT}", "encoder-slice noop records=8"),
    (
        f"encoder-slice embedding-middle-lost records=8 {_EIGHT} at=5",
        "encoder-slice embedding-middle-lost records=8 at=0",
    ),
    (
        f"encoder-slice counts-moved records=8 {_UNLIKE} at=0,1",
        "encoder-slice counts-moved records=8 at=0,1",
    ),
    (
        f"encoder-stage noop requests=4 each=2 {_UNLIKE}",
        "encoder-stage noop requests=2 each=2",
    ),
    (
        f"encoder-stage embeddings-swapped requests=4 each=2 {_EIGHT} at=0,2",
        "encoder-stage embeddings-swapped requests=2 each=2 pictures=alike at=0,2",
    ),
    (
        "ar-batch noop records=64 shape=1024x1024",
        "ar-batch noop records=16 shape=64x64",
    ),
    (
        "ar-batch reordering records=64 shape=1024x1024 at=14,15",
        "ar-batch reordering records=16 shape=64x64 at=14,15",
    ),
)
#: With `--small`.
_FEW = 2


def large_batches(asked: Asked) -> Part:
    """Run the large cases, and hold each against its small one."""
    name = "large_batches"
    if asked.source is None:
        return Part(name, "unavailable", said=["no tree of SGLang was given"])
    tree = find(asked.source)
    pairs = PAIRS[:_FEW] if asked.small else PAIRS
    due = {}
    for large, small in pairs:
        case = parse(small)
        due[parse(large).line] = str(
            read(tree.release, SEAMS[case.seam]).cases[case.line]["verdict"]
        )
    results = run_cases(tree, [parse(line) for line in due], asked.torch_device, workers=1)
    wrong = [
        f"{one.case}: {one.verdict} {one.detail}, and {due[one.case]} is due"
        for one in results
        if one.case in due and str(one.verdict) not in (due[one.case], "unavailable")
    ]
    lacking = [f"{one.case}: {one.detail}" for one in results if str(one.verdict) == "unavailable"]
    figures: dict[str, object] = {"on_card": sorted({one.seam for one in results if one.on_card})}
    state = "unfit" if wrong else "unavailable" if len(lacking) == len(results) else "fit"
    return Part(name, state, len(results) - len(lacking), [*wrong, *lacking], figures)
