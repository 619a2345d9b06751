"""Sequences padded to one length, and the flat positions of the tokens that are kept of them.

Queries, keys and values are dense, (sequences, tokens, heads, width), stamped as in
`simulators.kernel_rows` with the flat position of each token. A payload has one record for each
kept token: its position. Its order is that of the sequences, as upstream's callers have it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulators.kernel_rows import PARTS, stamped
from simulators.payload import INDICES, Payload

if TYPE_CHECKING:
    import torch

#: How the indices are told: one after the other, or in another form.
FORMS = ("", "apart", "row", "column", "halves", "float", "mask", "int16", "int32", "list")


def padded_length(lengths: Sequence[int]) -> int:
    """Return the length that sequences are padded to: every one has padding."""
    return max(lengths) + 1


def kept_positions(lengths: Sequence[int]) -> list[int]:
    """Return the flat positions of the tokens that are no padding."""
    padded = padded_length(lengths)
    return [row * padded + token for row, length in enumerate(lengths) for token in range(length)]


def honest_varlen(
    lengths: Sequence[int], heads: int = 2, width: int = 8, dtype: str = "float32"
) -> Payload:
    """Return the kept positions of some sequences, and beside them the dense tensors.

    Beside them stand `q`, `k` and `v` as (sequences, tokens, heads, width), `foreign` (the same
    of another request), `packed` (the kept rows of q, (kept, heads, width), for the way back),
    `total` (how many positions there are), `tokens` (in a padded sequence) and `form` of the
    indices. Another request keeps the same tokens of the next sequence.
    """
    padded, kept = padded_length(lengths), kept_positions(lengths)
    total = len(lengths) * padded

    def dense(request: int) -> dict[str, Any]:
        shape = (len(lengths), padded, heads, width)
        flat = (total, heads, width)
        return {part: stamped(part, flat, dtype, request).reshape(shape) for part in PARTS}

    ours = dense(0)
    beside = {
        **ours,
        "foreign": dense(1),
        "packed": ours["q"].reshape(total, heads, width)[kept],
        "total": total,
        "tokens": padded,
        "form": "",
    }
    others = tuple((position + padded) % total for position in kept)
    return Payload(INDICES, tuple(kept), others, beside)


def told_indices(payload: Payload, dtype: str) -> Any:
    """Return the indices in the form in which they are told: a tensor, or a list.

    Args:
        payload: Positions, and their form.
        dtype: Name of torch's dtype, where the form says no other one.

    Raises:
        ValueError: if there is no such form.
    """
    import torch

    form, positions = payload.beside["form"], list(payload.records)
    if form not in FORMS:
        raise ValueError(f"no form of indices is called {form!r}")
    if form == "list":
        return positions
    if form == "mask":
        mask = torch.zeros(payload.beside["total"], dtype=torch.bool)
        mask[[p for p in positions if 0 <= p < len(mask)]] = True
        return mask
    kind = {"float": "float32", "int16": "int16", "int32": "int32"}.get(form, dtype)
    return _laid_out(torch.tensor(positions, dtype=getattr(torch, kind)), form)


def _laid_out(indices: "torch.Tensor", form: str) -> "torch.Tensor":
    if form == "apart":
        return indices.repeat_interleave(2)[::2]
    if form == "row":
        return indices[None]
    if form == "column":
        return indices[:, None]
    if form == "halves":
        return indices[: len(indices) // 2 * 2].reshape(2, -1)
    return indices


def inverse_of(kept: Sequence[int], total: int) -> Mapping[int, int]:
    """Return which packed row each kept position has, by position."""
    return {position: row for row, position in enumerate(kept) if 0 <= position < total}
