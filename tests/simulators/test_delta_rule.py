"""The gated delta rule by hand, and the runs that are told apart by it."""

import pytest
import torch

from contracts.contract import Origin
from simulators.delta_rule import Token, after, normalised
from simulators.state_runs import NO_STATE, Runs, run_name, runs_of


def token(key: list[float], value: list[float], decay: float = 1.0, beta: float = 1.0) -> Token:
    """Return a token of one head that reads with its own key."""
    row = torch.tensor([key], dtype=torch.float64)
    values = torch.tensor([value], dtype=torch.float64)
    gates = [torch.tensor([number], dtype=torch.float64) for number in (decay, beta)]
    return Token(row, row, values, gates[0], gates[1])


def state(*rows: list[float]) -> torch.Tensor:
    """Return a state of one head, with a row for each value."""
    return torch.tensor([list(rows)], dtype=torch.float64)


def test_a_whole_share_puts_the_value_in_the_place_of_what_was_there() -> None:
    """The other key is left alone."""
    read, made = after(state([5, 1], [6, 2]), token([1, 0], [7, 8]), scale=1.0)

    assert made.tolist() == state([7, 1], [8, 2]).tolist()
    assert read.tolist() == [[7, 8]]


def test_no_share_changes_nothing_and_half_a_share_half_of_it() -> None:
    """The output is scaled."""
    old = state([4, 1], [8, 2])

    none, left = after(old, token([1, 0], [0, 0], beta=0.0), scale=0.5)
    _, half = after(old, token([1, 0], [0, 0], beta=0.5), scale=0.5)

    assert (none.tolist(), left.tolist()) == ([[2, 4]], old.tolist())
    assert half.tolist() == state([2, 1], [4, 2]).tolist()


def test_a_state_fades_before_it_is_read() -> None:
    """As a whole, or each key on its own."""
    old = state([4, 1], [8, 2])
    faded = token([0, 1], [0, 0], decay=0.5, beta=0.0)
    of_keys = torch.tensor([[0.5, 1.0]], dtype=torch.float64)
    by_key = Token(faded.query, faded.key, faded.value, of_keys, faded.beta)

    assert after(old, faded, 1.0)[1].tolist() == (old / 2).tolist()
    assert after(old, by_key, 1.0)[1].tolist() == state([2, 1], [4, 2]).tolist()


def test_a_head_serves_the_value_heads_beside_each_other() -> None:
    """Two heads, four value heads: a a b b."""
    keys = torch.eye(2, dtype=torch.float64)
    ones = torch.ones(4, dtype=torch.float64)
    made = Token(keys, keys, torch.ones(4, 1, dtype=torch.float64), ones, ones)

    read, left = after(torch.zeros(4, 1, 2, dtype=torch.float64), made, 1.0)

    assert left[:, 0].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert read.tolist() == [[1]] * 4


def test_rows_are_made_of_length_one() -> None:
    """Nearly: zeros stay zeros."""
    made = normalised(torch.tensor([[3.0, 4.0], [0.0, 0.0]], dtype=torch.float64))

    assert made[0].tolist() == pytest.approx([0.6, 0.8], abs=1e-6)
    assert made[1].tolist() == [0, 0]


def two() -> Runs:
    """Return the runs of two tokens from two states."""
    tokens = [token([1, 0], [7, 8], beta=0.5), token([0.6, 0.8], [1, 2], beta=0.5)]
    states = {"a": state([1, 2], [3, 4]), "b": state([5, 6], [7, 9])}
    return runs_of(tokens, {0: "first"}, states, 1.0)


def test_a_row_is_found_by_its_run_and_its_state() -> None:
    """Runs that begin later have the token's name; a state of zeros is known too."""
    known = two()
    tokens = [token([1, 0], [7, 8], beta=0.5), token([0.6, 0.8], [1, 2], beta=0.5)]
    _, made = after(state([5, 6], [7, 9]), tokens[0], 1.0)
    read, made = after(made, tokens[1], 1.0)
    late, _ = after(state([0, 0], [0, 0]), tokens[1], 1.0)

    assert known.outputs.origin(read.float(), 1e-5) == Origin(run_name("first", "b"), 1)
    assert known.states.origin(made.float(), 1e-5) == Origin(run_name("first", "b"), 1)
    name = run_name("tokens from 1 on", NO_STATE)
    assert known.outputs.origin(late, 1e-9) == Origin(name, 1)
    assert known.states.origin(state([1, 2], [3, 4]), 1e-9) == Origin("a, untouched", 0)


def test_what_is_near_no_row_is_nobodys() -> None:
    """Nor is NaN, or a row of another shape."""
    known = two().outputs
    row = known.values[0]

    assert known.origin(row + 1e-3, 1e-2) == known.origins[0]
    assert known.origin(row + 1e-3, 1e-4) is None
    assert known.origin(row * float("nan"), 1e9) is None
    assert known.origin(row[:, :1], 1e9) is None
