"""ar-split: the prior tokens of several outputs are split into one request for each output.

What holds of the rows is in `contracts.clauses.token_rows`. The payload is what the request
holds: `prior_token_id` and `usage_by_output`. The request says `outputs` (how many) and
`row_width` (tokens in a row, 4 * height * width of the large grid). The split is done only where
the platform is an NPU; on every other one the rows pass on as they are.
"""

from contracts.clauses.ar_item import STAGE_FILE
from contracts.clauses.token_rows import rows_count, split_clauses, split_walk
from contracts.contract import Contract, Guard
from contracts.releases import Span
from contracts.source import Source

ROWS_COUNT = rows_count(
    Guard(
        "RuntimeError",
        "Cannot split GLM-Image AR output for sequential inference: "
        "expected {expected} token rows, got {got}.",
        Span("0.5.18"),
        Source("0.5.23", STAGE_FILE, "GlmImageAR.iter_sequential_requests"),
        platforms=("npu",),
    )
)

CONTRACT = Contract(
    "ar-split",
    "The prior tokens of several outputs are split into one request for each output.",
    split_clauses(ROWS_COUNT),
    split_walk(ROWS_COUNT),
)
check = CONTRACT.check
answers = CONTRACT.answers
