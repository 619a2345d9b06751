"""ar-tokens: the ids of one reply item become the prior tokens of one picture.

What holds of the ids, of their number, kind and place, is in `contracts.clauses.ar_item`. This
seam is the item itself, in a reply that is otherwise right: `ar-single` is about the reply.

The payload is the parsed JSON body of the reply; the request is the JSON body that was sent.
"""

from contracts.clauses.ar_item import ITEM_CLAUSES, walk_single
from contracts.contract import Contract

CONTRACT = Contract(
    "ar-tokens",
    "The ids of one reply item become the prior tokens of one picture.",
    ITEM_CLAUSES,
    walk_single,
)
check = CONTRACT.check
answers = CONTRACT.answers
