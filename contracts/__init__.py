"""Contracts of SGLang's multimodal seams, as executable specifications.

Standard library only. `CONTRACTS` is the table of all of them; each module is usable alone.
"""

from contracts import (
    ar_batch,
    ar_grid,
    ar_single,
    ar_split,
    ar_tokens,
    ar_transport,
)
from contracts.contract import (
    Answer,
    Clause,
    Contract,
    Guard,
    Origin,
    OwnerOf,
    Unchecked,
    Violation,
    ending,
)

#: Every contract, by the name of its seam.
CONTRACTS = {
    module.CONTRACT.seam: module.CONTRACT
    for module in (
        ar_batch,
        ar_single,
        ar_tokens,
        ar_transport,
        ar_grid,
        ar_split,
    )
}

__all__ = [
    "CONTRACTS",
    "Answer",
    "Clause",
    "Contract",
    "Guard",
    "Origin",
    "OwnerOf",
    "Unchecked",
    "Violation",
    "ending",
]
