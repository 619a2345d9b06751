"""Honest replies satisfy the contract of ar-batch, and each fault breaks what it should."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import ar_batch
from contracts.clauses.prior_tokens import END_OF_IMAGE
from simulators.ar_server import ArSimulator, Dose, Exchange, Injection, Plan
from simulators.ar_server.asking import batch_request, single_request
from simulators.ar_server.items import foreign_label
from simulators.faults import FAULTS
from simulators.stamp import StampReader

# Of equal length, so that only the tokens tell whose an item is.
FOUR = batch_request([[number, 7, 9] for number in range(4)], 64, 96)

prompts = st.lists(st.sampled_from([[1], [1, 2], [3, 4, 5], [151643, 0]]), min_size=1, max_size=8)
pixels = st.integers(1, 12).map(lambda tokens: tokens * 32)


def asked(request: Any, plan: Plan = Plan(), release: str = "0.5.23") -> Exchange:
    """Return the exchange of one request."""
    simulator = ArSimulator(release, plan)
    simulator.answer("POST", "/generate", json.dumps(request).encode())
    return simulator.exchanges[0]


def broken(exchange: Exchange) -> set[str]:
    """Return the names of the clauses that the reply breaks."""
    reader = StampReader(exchange.sequences)
    return {v.clause.name for v in ar_batch.check(exchange.reply, exchange.request, reader)}


@given(prompts, pixels, pixels)
def test_an_honest_simulator_satisfies_the_contract(
    prompts: list[list[int]], height: int, width: int
) -> None:
    """Any number of prompts, equal ones among them, and any size: every clause is held."""
    exchange = asked(batch_request(prompts, height, width))

    answers = ar_batch.answers(exchange.reply, exchange.request, StampReader(exchange.sequences))

    assert {"held"} == set(answers.values())


def test_equal_prompts_get_different_samples() -> None:
    """Occurrence tells equal prompts apart, so that a lost and doubled sample is seen."""
    exchange = asked(batch_request([[1, 2], [1, 2]], 64, 64))

    first, second = (item["output_ids"] for item in exchange.reply)

    assert first != second
    assert END_OF_IMAGE == first[-1] == second[-1]


def test_samples_come_prompt_by_prompt() -> None:
    """With n samples, prompt 0's n samples come first, each different, then prompt 1's."""
    params = {"n": 2, "max_new_tokens": 5}
    exchange = asked({"input_ids": [[1], [2]], "sampling_params": params})
    alone = asked({"input_ids": [[1], [1]], "sampling_params": {"max_new_tokens": 5}})

    ids = [item["output_ids"] for item in exchange.reply]

    assert 4 == len(ids) == len({tuple(row) for row in ids})
    assert [item["output_ids"] for item in alone.reply] == ids[:2]


def test_a_reply_does_not_depend_on_what_was_asked_before() -> None:
    """The same request gets the same bytes, from any simulator at any time."""
    simulator = ArSimulator()
    body = json.dumps(FOUR).encode()

    first = simulator.answer("POST", "/generate", body)
    simulator.answer("POST", "/generate", json.dumps(single_request([0, 7, 9], 64, 96)).encode())

    assert first == simulator.answer("POST", "/generate", body)
    assert first == ArSimulator().answer("POST", "/generate", body)


def test_a_single_request_gets_one_object() -> None:
    """A single request's reply is the item itself; a batch of one is a list."""
    single = asked(single_request([1], 32, 32)).reply
    batch = asked(batch_request([[1]], 32, 32)).reply

    assert [single] == batch


def test_the_item_has_the_fields_of_the_real_reply() -> None:
    """Keys and their order are those of the real server."""
    item = asked(single_request([1, 2], 32, 32)).reply

    count = len(item["output_ids"])
    assert list(item) == ["text", "output_ids", "meta_info"]
    assert {
        "id": item["meta_info"]["id"],
        "finish_reason": {"type": "length", "length": count},
        "prompt_tokens": 2,
        "weight_version": "default",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "completion_tokens": count,
        "cached_tokens": 0,
        "e2e_latency": 0.25,
    } == item["meta_info"]
    assert len(item["meta_info"]["id"]) == 32


def test_the_client_may_name_its_items() -> None:
    """A given request id is the item's id; a string names a batch's items by their index."""
    single = asked({**single_request([1], 32, 32), "rid": "mine"}).reply
    batch = asked({**batch_request([[1], [2]], 32, 32), "rid": "mine"}).reply

    assert single["meta_info"]["id"] == "mine"
    assert [item["meta_info"]["id"] for item in batch] == ["mine_0", "mine_1"]


def test_a_stream_grows_to_the_whole_item() -> None:
    """Events are cumulative, unfinished until the last one, which is the single reply."""
    request = single_request([1], 64, 64)
    whole = asked(request).reply
    body = asked({**request, "stream": True}).answer.body

    *events, done, rest = body.decode().split("\n\n")
    items = [json.loads(event.removeprefix("data: ")) for event in events]

    assert (done, rest) == ("data: [DONE]", "")
    assert whole == items[-1]
    assert len(items) == 4
    for earlier, later in pairwise(items):
        ids = earlier["output_ids"]
        assert ids == later["output_ids"][: len(ids)] != later["output_ids"]
        assert earlier["meta_info"]["finish_reason"] is None


def test_a_streamed_batch_says_which_item_an_event_belongs_to() -> None:
    """Each event of a batch carries the index of its item."""
    body = asked({**FOUR, "stream": True}).answer.body

    events = [json.loads(event[6:]) for event in body.decode().split("\n\n")[:-2]]

    assert [event["index"] for event in events] == [0, 1, 2, 3] * 4


LIST_FAULTS = [
    ("noop", (), set()),
    ("omission", (3,), {"reply-count"}),
    ("omission", (0,), {"reply-count", "item-identity"}),
    ("truncation", (2,), {"reply-count"}),
    ("collapse", (2,), {"reply-count", "item-identity"}),
    ("duplication", (0, 3), {"item-identity"}),
    ("duplication-extra", (1,), {"reply-count"}),
    ("duplication-all", (1,), {"item-identity"}),
    ("reordering", (0, 3), {"item-identity"}),
    ("reordering-reverse", (), {"item-identity"}),
    ("reordering-rotate", (), {"item-identity"}),
    ("substitution", (2,), {"item-identity"}),
    ("substitution-extra", (), {"reply-count"}),
    ("item-null", (1,), {"item-object"}),
    ("item-aborted", (1,), {"item-finished"}),
    ("item-extra-field", (1,), set()),
    ("body-error", (), {"reply-count"}),
    ("body-wrapped", (), {"reply-count"}),
    ("body-null", (), {"reply-count"}),
]


@pytest.mark.parametrize(
    ("name", "at", "clauses"), LIST_FAULTS, ids=[f"{n}{list(at)}" for n, at, _ in LIST_FAULTS]
)
def test_a_fault_breaks_what_it_should(name: str, at: tuple[int, ...], clauses: set[str]) -> None:
    """A fault of the list breaks its own clauses and leaves the others held."""
    exchange = asked(FOUR, Plan((Injection(FAULTS[name], at),)))

    assert exchange.injected
    assert clauses == broken(exchange)


def test_a_foreign_item_is_known_by_name() -> None:
    """A substituted item's tokens are read as another request's, prompt and all."""
    exchange = asked(FOUR, Plan((Injection(FAULTS["substitution"], (2,)),)))

    origins = StampReader(exchange.sequences)(exchange.reply[2]["output_ids"])

    assert {foreign_label(2)} == {origin.owner for origin in origins if origin}


def test_faults_are_applied_one_after_the_other() -> None:
    """Two injections compose in their order."""
    swap, drop = (Injection(FAULTS["reordering"], (0, 1)), Injection(FAULTS["omission"], (0,)))
    honest = asked(FOUR).reply

    assert [honest[0], *honest[2:]] == asked(FOUR, Plan((swap, drop))).reply
    assert [honest[2], honest[1], honest[3]] == asked(FOUR, Plan((drop, swap))).reply


def test_a_reply_that_lacks_the_place_stays_honest() -> None:
    """A plan for bigger batches does nothing to a smaller one, and the exchange says so."""
    exchange = asked(
        batch_request([[1], [2]], 32, 32), Plan((Injection(FAULTS["reordering"], (0, 3)),))
    )

    assert not exchange.injected
    assert set() == broken(exchange)


def test_a_fault_of_another_form_is_refused() -> None:
    """A fault of tensors cannot be put into a reply."""
    with pytest.raises(ValueError, match="rows-narrow changes rows, not a reply"):
        Injection(FAULTS["rows-narrow"])


def test_only_hit_requests_are_changed() -> None:
    """The dose decides per request; the plan's count starts anew with each plan."""
    simulator = ArSimulator()
    body = json.dumps(FOUR).encode()
    for _ in range(2):
        simulator.plan = Plan(
            (Injection(FAULTS["omission"], (0,)),), dose=Dose.parse("nth:2"), seed=3
        )
        for _ in range(3):
            simulator.answer("POST", "/generate", body)

    injected = [exchange.injected for exchange in simulator.exchanges]

    assert injected == [False, True, False] * 2


def test_healing_ends_the_fault() -> None:
    """After `heal` an until-healed plan is honest, until a plan is set again."""
    plan = Plan((Injection(FAULTS["body-null"]),), dose=Dose.parse("until-healed"))
    simulator = ArSimulator(plan=plan)
    body = json.dumps(FOUR).encode()

    simulator.answer("POST", "/generate", body)
    simulator.heal()
    simulator.answer("POST", "/generate", body)
    simulator.plan = plan
    simulator.answer("POST", "/generate", body)

    assert [exchange.injected for exchange in simulator.exchanges] == [True, False, True]


def test_exchanges_are_bounded() -> None:
    """Only the newest exchanges are kept; their indices go on counting."""
    simulator = ArSimulator(kept_exchanges=3)
    for _ in range(5):
        simulator.answer("GET", "/health", b"")

    assert [exchange.index for exchange in simulator.exchanges] == [2, 3, 4]


def test_a_reply_that_is_no_json_says_so() -> None:
    """`Exchange.reply` raises ValueError for a stream and for an empty body."""
    simulator = ArSimulator()
    simulator.answer("GET", "/health", b"")
    simulator.answer("POST", "/generate", b'{"input_ids":[1],"stream":true}')

    for exchange in simulator.exchanges:
        with pytest.raises(ValueError, match=r"Expecting value|stream of events"):
            _ = exchange.reply
