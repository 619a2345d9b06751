"""encoder-layout: a preprocessor's batch is laid out over the requests that it was made of.

- The preprocessor can read the media, is written for them, and has no error of its own.
- The layout has a positive whole number for each request: the items that it asked for.
- Grids and token counts are as many as the layout says together, each its picture's.
- Each request gets the rows of its own items; no guard sees an order, only sums.

The payload holds `error`, `layout`, `grids`, `counts` and `features`, the request `items`, `grids`,
`counts` and `merge_size`: see `contracts.clauses.prepared_batch`.
"""

from contracts.clauses.prepared_batch import CLAUSES, walk_prepared
from contracts.contract import Contract

CONTRACT = Contract(
    "encoder-layout",
    "A preprocessor's batch is laid out over the requests that it was made of.",
    CLAUSES,
    walk_prepared,
)
check = CONTRACT.check
answers = CONTRACT.answers
