"""The gated delta rule in float64, one token at a time, as its definition has it.

A state is, for each head, a matrix from keys to values. A token makes it fade, then takes out a
share beta of what it holds for the token's key, and puts the same share of the token's value in:

    S' = S diag(decay) (1 - beta k k^T) + beta v k^T,   output = S' (scale q)

The decay is one number for a head, or one for each key. Nothing here is upstream's code.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Token:
    """One token, in float64."""

    #: (heads, keys).
    query: "torch.Tensor"
    #: (heads, keys).
    key: "torch.Tensor"
    #: (value heads, values).
    value: "torch.Tensor"
    #: (value heads,) or (value heads, keys), from 0 to 1.
    decay: "torch.Tensor"
    #: (value heads,), from 0 to 1.
    beta: "torch.Tensor"


def after(
    states: "torch.Tensor", token: Token, scale: float
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return what a token reads from some states, and what it makes of them.

    Args:
        states: (..., value heads, values, keys), float64.
        token: The token; each of its heads serves as many value heads as there are for one.
        scale: Of the query.

    Returns:
        The outputs, (..., value heads, values), and the states after it.
    """
    import torch

    shared = token.value.shape[0] // token.key.shape[0]
    key, query = (part.repeat_interleave(shared, 0) for part in (token.key, token.query))
    decay = token.decay if token.decay.ndim == 2 else token.decay[:, None]
    keeps = torch.eye(key.shape[1], dtype=torch.float64) - (
        token.beta[:, None, None] * key[:, :, None] * key[:, None, :]
    )
    added = token.beta[:, None, None] * token.value[:, :, None] * key[:, None, :]
    made = (states * decay[:, None, :]) @ keeps + added
    return (made @ (scale * query)[:, :, None]).squeeze(-1), made


def normalised(rows: "torch.Tensor") -> "torch.Tensor":
    """Return rows of length 1, as the kernels make them: 1e-6 is added to a square length."""
    return rows / (rows.square().sum(-1, keepdim=True) + 1e-6).sqrt()
