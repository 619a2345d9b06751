"""ar-single: an external AR server answers one prompt with one object.

- The reply is a JSON object.
- It holds what `contracts.clauses.ar_item` says of one item.

The payload is the parsed JSON body of the reply; the request is the JSON body that was sent.
"""

from contracts.clauses.ar_item import ITEM_CLAUSES, walk_single
from contracts.contract import Contract

CONTRACT = Contract(
    "ar-single",
    "An external AR server answers one prompt with one object of token ids.",
    ITEM_CLAUSES,
    walk_single,
)
check = CONTRACT.check
answers = CONTRACT.answers
