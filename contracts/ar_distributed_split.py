"""ar-distributed-split: a denoiser worker splits prior tokens into one request for each output.

The twin of `contracts.ar_split`, in the GLM-Image topology of one head and several denoisers:
the same clauses (`contracts.clauses.token_rows`), another text. The worker splits only where its
pipeline runs outputs one after the other, which is upstream's answer on an NPU.
"""

from contracts.clauses.token_rows import rows_count, split_clauses, split_walk
from contracts.contract import Contract, Guard
from contracts.releases import Span
from contracts.source import Source

WORKER_FILE = "multimodal_gen/runtime/disaggregation/scheduler_mixin.py"

ROWS_COUNT = rows_count(
    Guard(
        "RuntimeError",
        "Cannot split GLM-Image AR output for distributed inference: "
        "expected {expected} token rows, got {got}.",
        Span("0.5.19"),
        Source("0.5.23", WORKER_FILE, "_expand_glm_distributed_outputs"),
        platforms=("npu",),
    )
)

CONTRACT = Contract(
    "ar-distributed-split",
    "A denoiser worker splits the prior tokens of several outputs into one request for each.",
    split_clauses(ROWS_COUNT),
    split_walk(ROWS_COUNT),
)
check = CONTRACT.check
answers = CONTRACT.answers
