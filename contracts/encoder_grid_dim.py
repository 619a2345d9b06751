"""encoder-grid-dim: the grids of a processor's output become the token counts of its items.

- The output has grids under a name that is read; under several names they are the same.
- There is one for each item: its picture's frames, rows and columns.
- The processor says by which size patches are merged.

What else the output must hold, and what payload and request hold:
`contracts.clauses.processed_media`.
"""

from contracts.clauses.processed_media import CLAUSES, walk_output
from contracts.contract import Contract

CONTRACT = Contract(
    "encoder-grid-dim",
    "The grids of a processor's output become the token counts of its items.",
    CLAUSES,
    walk_output,
)
check = CONTRACT.check
answers = CONTRACT.answers
