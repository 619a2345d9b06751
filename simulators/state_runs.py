"""Whose state an output was computed with: every run of tokens from every state, by the rule.

A reader has the outputs and the states that each run of tokens makes of each known state, and
finds the one that a row of a real output is. Runs begin at any token, so that tokens that were
given to another sequence are known too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contracts.contract import Origin
from simulators.delta_rule import Token, after

if TYPE_CHECKING:
    import torch

#: The name of a state of zeros.
NO_STATE = "no state"


@dataclass(frozen=True)
class Rows:
    """Known rows, and what each is."""

    #: (rows, ...), float64.
    values: "torch.Tensor"
    origins: tuple[Origin, ...]

    def origin(self, row: "torch.Tensor", near: float) -> Origin | None:
        """Return which known row a row is; None if it is near none.

        Args:
            row: Of any float dtype and device.
            near: How far each number may be off.
        """
        row = row.double().cpu()
        if row.shape != self.values.shape[1:] or not len(self.origins):
            return None
        far = (self.values - row).abs().flatten(1).amax(1).nan_to_num(float("inf"))
        nearest = int(far.argmin())
        return self.origins[nearest] if float(far[nearest]) <= near else None

    def apart(self) -> float:
        """Return how near to each other two rows of different origins are, at the least."""
        import torch

        flat = self.values.flatten(1)
        far = (flat[:, None] - flat[None]).abs().amax(2)
        return float((far + torch.eye(len(flat), dtype=far.dtype) * 1e9).min())


@dataclass(frozen=True)
class Runs:
    """What every run of tokens makes of every state."""

    #: (value heads, values) each: what a token reads.
    outputs: Rows
    #: (value heads, values, keys) each: what is left after a token, and the states untouched.
    states: Rows


def runs_of(
    tokens: Sequence[Token],
    begins: Mapping[int, str],
    states: Mapping[str, "torch.Tensor"],
    scale: float,
    longest: int | None = None,
) -> Runs:
    """Return what every run of tokens makes of every state.

    Args:
        tokens: In the order in which they stand.
        begins: What a run is called that begins at a token; others are named by the token.
        states: (value heads, values, keys) each, by name; one of zeros is tried too.
        scale: Of the queries.
        longest: How many tokens a run has at most.
    """
    import torch

    named = {name: state.double() for name, state in states.items()}
    first = next(iter(named.values()))
    named = {**named, NO_STATE: torch.zeros_like(first)}
    outputs: list[torch.Tensor] = []
    left = [torch.stack(list(named.values()))]
    origins: list[Origin] = []
    untouched = [Origin(f"{name}, untouched", 0) for name in named]
    for begin in range(len(tokens)):
        who = begins.get(begin, f"tokens from {begin} on")
        made = left[0]
        for place, token in list(enumerate(tokens))[begin:][:longest]:
            read, made = after(made, token, scale)
            outputs.append(read)
            left.append(made)
            origins += [Origin(run_name(who, name), place) for name in named]
    return Runs(
        Rows(torch.cat(outputs), tuple(origins)),
        Rows(torch.cat(left), (*untouched, *origins)),
    )


def run_name(who: str, state: str) -> str:
    """Return what a run is called that began with a state."""
    return f"{who} with {state}"
