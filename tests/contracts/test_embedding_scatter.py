"""The contract of embedding-scatter, alone: what each release counts, by hand."""

from typing import Any

import pytest

from contracts import embedding_scatter, ending
from contracts.clauses.placeholder_runs import taken, within
from contracts.contract import Answer, Violation
from contracts.releases import RELEASES
from simulators.placeholder_rows import (
    VOCABULARY,
    WIDTH,
    Layout,
    PlaceholderReader,
    honest_placeholders,
    owner_name,
)

HONEST = honest_placeholders(Layout(2, alike=True))
(PROMPT,) = HONEST.beside["prompts"]
#: text at 0 and 1, the first item at 2 to 4, text, the second at 7 to 9, text at 10 and 11.
FIRST, SECOND = HONEST.records


def check(
    *items: dict[str, Any], prompt: Any = PROMPT, window: tuple[int, int] | None = None
) -> list[Violation]:
    """Return the violations of the items of one request."""
    request = {
        "width": WIDTH,
        "vocabulary": VOCABULARY,
        "windows": [window or (0, len(PROMPT))],
        "owners": [owner_name(0, 0), owner_name(0, 1)],
    }
    payload = {"items": list(items), "prompts": [prompt]}
    return list(embedding_scatter.check(payload, request, PlaceholderReader()))


def stops(found: list[Violation]) -> dict[str, str]:
    """Return the clause that ends the call, for each release."""
    ends = {release: ending(found, release) for release in RELEASES}
    return {release[-2:]: end.clause.name if end else "" for release, end in ends.items()}


def with_token(place: int, token: int) -> tuple[int, ...]:
    """Return the prompt with one other token."""
    return (*PROMPT[:place], token, *PROMPT[place + 1 :])


def test_a_run_is_counted_in_a_window() -> None:
    """Whole, in part, not at all; and one that ends before it begins."""
    assert [within([(2, 4)], window) for window in ((0, 9), (3, 4), (5, 9))] == [3, 1, 0]
    assert within([(4, 2)], (0, 9)) == 0
    assert [taken(3, [(2, 4)], window) for window in ((0, 9), (3, 9), (5, 9), (0, 2))] == [
        3, 2, 0, 0
    ]  # fmt: skip
    assert taken(5, [(2, 4)], (0, 9)) == 3
    assert taken(3, [(5, 2)], (0, 9)) == 1


def test_honest_items_break_nothing() -> None:
    """In the whole prompt, and in a part of it."""
    assert check(FIRST, SECOND) == []
    assert check(FIRST, SECOND, window=(3, 9)) == []


def test_a_row_too_few_is_refused_by_what_a_release_counts() -> None:
    """The text is the same in all of them."""
    found = check({**FIRST, "rows": FIRST["rows"][1:]}, SECOND)
    ends = stops(found)

    assert [ends[one] for one in ("16", "17", "18", "21", "22", "23")] == [
        "placeholder-rows", "placeholder-rows", "request-rows", "request-rows", "item-rows",
        "item-rows",
    ]  # fmt: skip
    end = ending(found, "0.5.23")
    assert end is not None
    assert end.refusal(end.clause.guards[0]) == (
        "Insufficient multimodal embedding length: num_mm_tokens_in_input_ids=6 vs "
        "num_mm_tokens_in_embedding=5. This is an internal error"
    )


def test_a_moved_row_is_refused_only_where_each_item_has_its_own() -> None:
    """The sum still fits."""
    import torch

    last = torch.cat((FIRST["rows"][2:], SECOND["rows"]))
    ends = stops(check({**FIRST, "rows": FIRST["rows"][:2]}, {**SECOND, "rows": last}))

    assert (ends["16"], ends["21"], ends["22"]) == ("", "", "item-rows")


def test_a_placeholder_too_many_ends_otherwise_in_each_scatter() -> None:
    """One falls into the spare slot since 0.5.19; two do not."""
    one = with_token(5, FIRST["pad"])
    two = (*one[:6], FIRST["pad"], *one[7:])

    ends = stops(check(FIRST, SECOND, prompt=one))
    assert (ends["17"], ends["18"], ends["19"]) == ("placeholder-rows", "placeholders-more", "")
    assert stops(check(FIRST, SECOND, prompt=two))["19"] == "placeholders-two-more"


def test_a_placeholder_too_few_ends_a_call_only_since_0_5_19() -> None:
    """Before, a row was left over, in silence."""
    ends = stops(check(FIRST, SECOND, prompt=with_token(4, 1)))

    assert (ends["16"], ends["18"], ends["19"]) == ("", "", "placeholders-fewer")


@pytest.mark.parametrize(
    ("item", "ends"),
    [
        ({"rows": FIRST["rows"].tolist()}, ("rows-tensor", "rows-tensor", "rows-tensor")),
        ({"rows": FIRST["rows"][None]}, ("forms-alike", "forms-alike", "")),
        ({"rows": FIRST["rows"][:, 1:]}, ("forms-alike", "forms-alike", "widths-alike")),
        ({"offsets": None}, ("offsets-pairs", "offsets-pairs", "offsets-pairs")),
        ({"offsets": [[2, 4]]}, ("offsets-pairs", "offsets-pairs", "offsets-pairs")),
        ({"offsets": [(3, 5)]}, ("", "", "")),
        ({"rows": SECOND["rows"]}, ("", "", "")),
        ({"rows": FIRST["rows"].half()}, ("", "", "")),
    ],
)
def test_each_form_ends_as_it_was_read(item: Any, ends: tuple[str, str, str]) -> None:
    """In 0.5.16, 0.5.21 and 0.5.23."""
    found = check({**FIRST, **item}, SECOND)
    said = stops(found)

    assert found
    assert (said["16"], said["21"], said["23"]) == ends


def test_wide_rows_are_dealt_out_until_0_5_19() -> None:
    """Where all are as wide."""
    wide = [{**item, "rows": item["rows"].repeat(1, 2)} for item in (FIRST, SECOND)]
    ends = stops(check(*wide))

    assert (ends["18"], ends["19"]) == ("", "width-wide")


def test_what_cannot_be_seen_by_counting_is_said() -> None:
    """Order, place and owner; whose rows they are needs a reader."""
    names = {violation.clause.name for violation in check(SECOND, FIRST)}
    lost = {violation.clause.name for violation in check(FIRST)}
    request = {
        "width": WIDTH,
        "vocabulary": VOCABULARY,
        "windows": [(0, len(PROMPT))],
        "owners": [],
    }
    payload = {"items": [FIRST, SECOND], "prompts": [PROMPT]}

    assert {"items-order", "row-identity"} <= names
    assert lost == {"run-item"}
    assert embedding_scatter.answers(payload, request)["row-identity"] is Answer.UNCHECKED
