"""The contract of ar-batch, alone: no torch, no simulator, replies written by hand."""

import subprocess
import sys
from typing import Any

import pytest

from contracts import CONTRACTS, Answer, Origin, ar_batch, ending

GRIDS = [[1, 1, 2], [1, 1, 1]]  # one preview id, then two ids of the large grid, then the end


def request(count: int) -> dict[str, Any]:
    """Return a batch request of so many prompts; prompt i has i + 1 tokens."""
    return {
        "input_ids": [[5] * (index + 1) for index in range(count)],
        "image_data": [[{"image_grid_thw": GRIDS}] for _ in range(count)],
        "sampling_params": [{"max_new_tokens": 4} for _ in range(count)],
    }


def item(index: int, **changed: Any) -> dict[str, Any]:
    """Return an honest item; its ids say their owner in tens and their position in ones."""
    ids = [10 * index + position for position in range(3)] + [16385]
    usage = {"prompt_tokens": index + 1, "completion_tokens": 4, "finish_reason": None}
    return {"text": "", "output_ids": ids, "meta_info": usage} | changed


def owner_of(ids: list[Any]) -> list[Origin | None]:
    """Read the origins that `item` wrote."""
    return [Origin(i // 10, i % 10) if type(i) is int and i < 16384 else None for i in ids]


def names(reply: Any, count: int = 2, reader: Any = owner_of) -> list[str]:
    """Return the clauses that a reply breaks, in order."""
    return [v.clause.name for v in ar_batch.check(reply, request(count), reader)]


def test_an_honest_reply_breaks_nothing() -> None:
    """Every clause is held, identity too."""
    assert names([item(0), item(1)]) == []
    assert set(ar_batch.answers([item(0), item(1)], request(2), owner_of).values()) == {Answer.HELD}


@pytest.mark.parametrize(
    ("reply", "got"),
    [
        ([item(0)], 1),
        ([item(0), item(1), item(1)], 3),
        ([], 0),
        ({"error": "x"}, "dict"),
        (None, "NoneType"),
        ("ok", "str"),
        (7, "int"),
        (True, "bool"),
    ],
)
def test_a_wrong_count_or_type_is_told_as_upstream_words_it(reply: Any, got: Any) -> None:
    """The documented text with its fields filled from the payload and the request."""
    violation = next(ar_batch.check(reply, request(2), owner_of))
    guard = violation.clause.guard("0.5.23")

    assert violation.clause is ar_batch.REPLY_COUNT
    assert guard is not None
    assert violation.refusal(guard) == (
        f"GLM-Image AR batch returned an unexpected response: expected 2 outputs, got {got}."
    )


def test_swapped_items_break_identity_and_usage_only() -> None:
    """A count cannot see it; a stamp reader can."""
    swapped = [item(1), item(0)]

    assert names(swapped) == ["item-identity", "usage-counts"] * 2
    assert "item-identity" not in names(swapped, reader=None)


def test_without_a_stamp_reader_identity_is_unchecked_and_said_so() -> None:
    """Nobody is told that identity was held."""
    answers = ar_batch.answers([item(0), item(1)], request(2))

    assert answers["item-identity"] is Answer.UNCHECKED
    assert answers["token-position"] is Answer.UNCHECKED
    assert answers["reply-count"] is Answer.HELD


def test_the_first_record_decides_how_the_call_ends() -> None:
    """[null, short] ends by accident, [short, null] by the guard."""
    short = item(1, output_ids=[10])
    null_first = list(ar_batch.check([None, short], request(2)))
    short_first = list(ar_batch.check([item(0, output_ids=[0]), None], request(2)))

    first, second = ending(null_first, "0.5.23"), ending(short_first, "0.5.23")

    assert first is not None
    assert (first.clause.name, first.accident("0.5.23")) == ("item-object", ("AttributeError",))
    assert second is not None
    assert second.clause.name == "ids-enough"


def test_a_release_without_the_guard_does_not_end_there() -> None:
    """In 0.5.17 nothing counts the items."""
    violations = list(ar_batch.check([item(0)], request(2), owner_of))

    assert ending(violations, "0.5.17") is None
    assert ending(violations, "0.5.18") is violations[0]


_KINDS = ("ValueError", "RuntimeError", "TypeError")
_WIDE = ("ValueError", "RuntimeError", "OverflowError")


@pytest.mark.parametrize(
    ("changed", "clause", "accident"),
    [
        ({"output_ids": 7}, "ids-list", ("TypeError",)),
        ({"output_ids": "abcd"}, "ids-list", ("TypeError",)),
        ({"output_ids": dict.fromkeys("abcd", 0)}, "ids-list", ("TypeError", "KeyError")),
        ({"output_ids": [0, None, 2, 3]}, "ids-integers", _KINDS),
        ({"output_ids": [0, "1", 2, 3]}, "ids-integers", _KINDS),
        ({"output_ids": [0, [1], [2, 2], 3]}, "ids-integers", _KINDS),
        ({"output_ids": [0, [1], [2], 3]}, "ids-integers", ()),
        ({"output_ids": [0, 2**63, 2, 3]}, "ids-codebook", _WIDE),
        ({"output_ids": [0, 1.5, 2, 3]}, "ids-integers", ()),
        ({"output_ids": [0, True, 2, 3]}, "ids-integers", ()),
        ({"output_ids": [0, 1, 16384, 3]}, "ids-codebook", ()),
        ({"output_ids": [0, -1, 2, 3]}, "ids-codebook", ()),
        ({"output_ids": [0, 1, 2]}, "ids-exact", ()),
        ({"output_ids": [0, 1, 2, 3, 4]}, "ids-exact", ()),
        ({"output_ids": [9, 0, 1, 2]}, "token-position", ()),
        ({"meta_info": {"finish_reason": {"type": "abort"}}}, "item-finished", ()),
        ({"meta_info": {"prompt_tokens": "seven"}}, "usage-numbers", ("ValueError",)),
        ({"meta_info": {"prompt_tokens": [1]}}, "usage-numbers", ("TypeError",)),
        ({"meta_info": None}, "usage-counts", ()),
    ],
)
def test_each_clause_of_an_item_is_broken_by_its_own_lie(
    changed: dict[str, Any], clause: str, accident: tuple[str, ...]
) -> None:
    """The clause is named, with the error that it causes by accident."""
    violations = list(ar_batch.check([item(0, **changed)], request(1), owner_of))
    named = {violation.clause.name: violation for violation in violations}

    assert clause in named
    assert named[clause].accident("0.5.23") == accident


def test_an_id_that_nothing_reads_may_be_anything() -> None:
    """Preview ids and the closing one are outside the large grid."""
    assert names([item(0, output_ids=[99999, 1, 2, -5])], 1) == []


def test_the_contract_needs_nothing_but_the_standard_library() -> None:
    """It can be imported by a consumer that has nothing else installed."""
    code = "import contracts, sys; print(sorted({m.split('.')[0] for m in sys.modules}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "torch" not in said.stdout
    assert "msgspec" not in said.stdout


def test_every_contract_is_in_the_table() -> None:
    """The table is keyed by the seam's name."""
    assert CONTRACTS["ar-batch"] is ar_batch.CONTRACT
