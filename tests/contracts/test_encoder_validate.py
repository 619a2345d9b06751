"""The contract of encoder-validate, alone: where one request differs from a batch."""

from typing import Any

import torch

from contracts import encoder_stage, encoder_validate, ending
from simulators.encoder import WIDTH, owner_of, stamped_rows

ROWS = torch.cat([stamped_rows(0, 6), stamped_rows(1, 12)])
REQUEST = {
    "counts": [6, 12],
    "items": [2],
    "names": ["request 0"],
    "width": WIDTH,
    "dtype": "torch.float32",
}


def ends(contract: Any, rows: Any, counts: list[int], release: str) -> str:
    """Return the clause at which a release stops, empty if it goes through."""
    found = list(contract.check({"rows": rows, "counts": counts}, REQUEST, owner_of))
    violation = ending(found, release)
    return violation.clause.name if violation is not None else ""


def test_an_item_too_few_is_refused_in_a_batch_before_it_is_in_one_request() -> None:
    """Before 0.5.19 nothing looks at the layout of one request."""
    for contract, older in ((encoder_validate, ""), (encoder_stage, "item-count")):
        assert ends(contract, ROWS[:6], [6], "0.5.18") == older
        assert ends(contract, ROWS[:6], [6], "0.5.19") == "item-count"


def test_the_rows_of_one_request_are_counted_as_those_of_a_batch() -> None:
    """From 0.5.19 on."""
    assert ends(encoder_validate, ROWS, [6, 12], "0.5.23") == ""
    assert ends(encoder_validate, ROWS[:-1], [6, 12], "0.5.23") == "rows-count"
    assert ends(encoder_validate, ROWS[:-1], [6, 12], "0.5.18") == ""
    assert ends(encoder_validate, ROWS[:, :4], [6, 12], "0.5.23") == "as-announced"
