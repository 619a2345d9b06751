"""Sequences with states: honest first, and no two runs are alike."""

import pytest
import torch

from contracts import kernel_gdn_states
from contracts.contract import Origin
from simulators.faults import FAULTS
from simulators.rng import stream
from simulators.state_runs import NO_STATE, Rows
from simulators.stateful_sequences import (
    Sizes,
    honest_sequences,
    owner_reader,
    runs,
    slots_told,
    starts_told,
    states_told,
)

TWO = Sizes((2, 3))
SIZES = [TWO, Sizes((1,)), Sizes((2, 0, 3)), Sizes((1, 2), 2, 6, 32, 16)]


@pytest.mark.parametrize("entry", ["recurrent", "update", "chunk"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_an_honest_payload_breaks_nothing(sizes: Sizes, entry: str) -> None:
    """At any entry."""
    payload = honest_sequences(sizes, "bfloat16")
    told = {
        "states": states_told(payload, entry == "recurrent"),
        "slots": slots_told(payload),
        "starts": starts_told(payload),
        "batch": 1,
        "dtype": "torch.bfloat16",
        **{name: payload.beside[name] for name in ("scale", "places")},
    }
    request = {
        "entry": entry,
        "starts": sizes.starts,
        "slots": payload.records,
        "shape": (sizes.value_heads, sizes.values, sizes.keys),
        "scale": sizes.keys**-0.5,
    }

    assert list(kernel_gdn_states.check(told, request, owner_reader(sizes))) == []


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_tokens_are_the_same_numbers_in_every_dtype(name: str) -> None:
    """So that one reading in float64 holds for all."""
    wide = honest_sequences(TWO).beside[name]

    for dtype in ("float16", "bfloat16"):
        assert torch.equal(honest_sequences(TWO, dtype).beside[name].float(), wide)


def apart(rows: Rows) -> float:
    """Return how near two rows are at the least that began with a state."""
    kept = [at for at, origin in enumerate(rows.origins) if NO_STATE not in str(origin.owner)]
    return Rows(rows.values[kept], tuple(rows.origins[at] for at in kept)).apart()


@pytest.mark.parametrize("is_normalised", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_runs_from_any_two_states_differ_by_more_than_rounding(
    sizes: Sizes, is_normalised: bool
) -> None:
    """Of outputs by twice what bfloat16 may be off, and of states by far more."""
    known = runs(sizes, honest_sequences(sizes), is_normalised)

    assert apart(known.outputs) > 2 * 4e-3
    assert known.states.apart() > 1e-2


def test_the_reader_knows_every_state_of_the_pool() -> None:
    """Those of the requests, and those of another batch; no other one."""
    pool = honest_sequences(TWO).beside["pool"]
    named = owner_reader(TWO)(pool)

    assert named[1] == Origin("request 0's state", 0)
    assert named[2] == Origin("another batch's state 1", 0)
    assert owner_reader(TWO)([pool[0] * 2, pool[0][:1], pool[0].half()]) == [
        None, None, Origin("another batch's state 0", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at", "starts"),
    [
        ("gdn-start-late", (1,), (0, 3, 5)),
        ("gdn-start-early", (0,), (-1, 2, 5)),
        ("gdn-start-missing", (1,), (0, 5)),
        ("gdn-start-twice", (1,), (0, 2, 2, 5)),
        ("gdn-start-stuck", (0,), (0, 0, 5)),
        ("gdn-starts-swapped", (0,), (2, 0, 5)),
        ("gdn-end-swapped", (), (0, 5, 2)),
        ("gdn-end-early", (), (0, 2, 4)),
        ("gdn-end-late", (), (0, 2, 6)),
        ("gdn-end-far", (), (0, 2, 25)),
        ("gdn-starts-shifted", (), (1, 3, 6)),
        ("gdn-starts-lengths", (), (0, 2, 3)),
    ],
)
def test_starts_are_told_as_the_picture_says(
    name: str, at: tuple[int, ...], starts: tuple[int, ...]
) -> None:
    """And nothing else changes."""
    honest = honest_sequences(TWO)
    changed = FAULTS[name].change(honest, at, stream(0))

    assert changed.beside["starts"] == starts
    assert changed.records == honest.records
    assert changed.beside["pool"] is honest.beside["pool"]


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("half", (5, 2, 16, 16)),
        ("turned", (5, 2, 16, 16)),
        ("apart", (5, 2, 16, 16)),
        ("value-less", (5, 2, 15, 16)),
        ("key-less", (5, 2, 16, 15)),
        ("flat", (5, 512)),
        ("deep", (1, 5, 2, 16, 16)),
    ],
)
def test_states_are_told_in_another_form(form: str, shape: tuple[int, ...]) -> None:
    """The pool itself stays."""
    changed = FAULTS[f"gdn-states-{form}"].change(honest_sequences(TWO), (), stream(0))
    told = states_told(changed, is_gathered=False)

    assert tuple(told.shape) == shape
    assert told.is_contiguous() == (form != "apart")


def test_a_form_that_there_is_not_is_said() -> None:
    """By its name."""
    payload = honest_sequences(TWO)
    for name in ("starts_form", "slots_form", "states_form"):
        wrong = payload.beside | {name: "round"}
        told = type(payload)(payload.form, payload.records, payload.foreign, wrong)
        with pytest.raises(ValueError, match="round"):
            _ = starts_told(told), slots_told(told), states_told(told, is_gathered=True)
