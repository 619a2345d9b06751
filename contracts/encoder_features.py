"""encoder-features: the pixel features of a processor's output are cut for each item.

- The output has pixel features, one tensor, with as many patches as the grids have.
- Patches stand in the order of the pictures.

What else the output must hold, and what payload and request hold:
`contracts.clauses.processed_media`.
"""

from contracts.clauses.processed_media import CLAUSES, walk_output
from contracts.contract import Contract

CONTRACT = Contract(
    "encoder-features",
    "The pixel features of a processor's output are cut for each item.",
    CLAUSES,
    walk_output,
)
check = CONTRACT.check
answers = CONTRACT.answers
