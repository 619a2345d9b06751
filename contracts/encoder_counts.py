"""encoder-counts: what a preprocessor tells of media becomes token counts, by each model's rule.

- Grids, or lengths, are there under a name that is read, one for each medium, and have their sides.
- They are the medium's own, as are the model's type and the sizes by which patches are merged.
- The model makes as many rows of each medium as its rule says, and as are counted for it.

A sum that fits hides a medium that has too many rows and one that has too few.

What payload and request hold: `contracts.clauses.told_media`. Kimi-VL's own processor tells rows
and columns, which 0.5.16 cannot count: the honest one here tells frames too, which every release
can.
Before 0.5.19 the service batches pictures and sounds alone; clips are encoded in a batch here, too.
A sound of a float length is counted by the whole part of it.
"""

from contracts.clauses.told_media import CLAUSES, walk_told
from contracts.contract import Contract

CONTRACT = Contract(
    "encoder-counts",
    "What a preprocessor tells of media becomes token counts, by the rule of each model.",
    CLAUSES,
    walk_told,
)
check = CONTRACT.check
answers = CONTRACT.answers
