"""Faults of the scale and shift that a kernel applies, and of the states that they are for."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, Places, each, whole
from simulators.payload import MODULATIONS, Payload

#: Gets a tensor of (requests, .., columns) and the same one of another batch.
Edit = Callable[[Any, Any], Any]
_SCALE, _SHIFT = 1, 2


def tensor_becomes(edit: Edit, least_dims: int = 2) -> Change:
    """Return the fault that edits one tensor; an earlier one may have made it uneditable."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        tensor, other = payload.records[at[0]], payload.foreign[at[0]]
        if getattr(tensor, "shape", None) != other.shape or tensor.is_meta:
            return payload
        is_whole = tensor.ndim >= least_dims and tensor.numel()
        return payload.with_record(at[0], edit(tensor, other)) if is_whole else payload

    return change


def record_becomes(value: Any) -> Change:
    """Return the fault that sends no tensor in the place of one."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], value)

    return change


def both_zero(payload: Payload, at: Place, rng: Random) -> Payload:
    """Scale and shift -> one 0 each, as callers have it that modulate nothing."""
    import torch

    records = list(payload.records)
    records[_SCALE], records[_SHIFT] = torch.zeros(1), torch.zeros(1)
    return payload.with_records(records)


def constant_becomes(edit: Callable[[float], float]) -> Change:
    """Return the fault that adds another constant to the scale."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        constant = edit(payload.beside["constant"])
        return replace(payload, beside={**payload.beside, "constant": constant})

    return change


def modulations(count: int) -> Iterator[Place]:
    """Yield the scale and the shift."""
    return iter(((_SCALE,), (_SHIFT,)))


def on_card(count: int) -> Iterator[Place]:
    """Yield what upstream asks for its device: the hidden states and the scale."""
    return iter(((0,), (_SCALE,)))


def scale(count: int) -> Iterator[Place]:
    """Yield the scale."""
    return iter(((_SCALE,),))


def shift(count: int) -> Iterator[Place]:
    """Yield the shift."""
    return iter(((_SHIFT,),))


def states(count: int) -> Iterator[Place]:
    """Yield the hidden states."""
    return iter(((0,),))


def _twice(tensor: Any, dim: int) -> Any:
    """Return a tensor with the last of a dimension once more."""
    import torch

    return torch.cat([tensor, tensor.narrow(dim, tensor.shape[dim] - 1, 1)], dim)


def _apart(tensor: Any, dim: int) -> Any:
    """Return a view of the same elements, with as many others between those of a dimension."""
    doubled = tensor.repeat_interleave(2, dim)
    return doubled.unflatten(dim, (-1, 2)).select(dim if dim < 0 else dim + 1, 0)


def _first_two_swapped(tensor: Any) -> Any:
    return tensor[[*range(tensor.shape[0])[1::-1], *range(2, tensor.shape[0])]]


def _with_row(tensor: Any, index: int, row: Any) -> Any:
    changed = tensor.clone()
    changed[index] = row
    return changed


def _second_is_first(tensor: Any) -> Any:
    changed = tensor.clone()
    changed[:, 1:2] = tensor[:, :1]
    return changed


def _with_nan(tensor: Any) -> Any:
    changed = tensor.float() if not tensor.is_floating_point() else tensor.clone()
    changed[(0,) * tensor.ndim] = float("nan")
    return changed


def _other_dtype(tensor: Any) -> Any:
    return tensor.half() if tensor.element_size() == 4 else tensor.float()


def _of(
    scope: str,
    name: str,
    kind: str,
    edit: Edit,
    picture: str,
    places: Places = each,
    benign: bool = False,
    least_dims: int = 2,
) -> Fault:
    change = tensor_becomes(edit, least_dims)
    return Fault(
        f"mod-{name}", kind, change, (MODULATIONS,), places, picture, scope=scope, benign=benign
    )


def _form(name: str, kind: str, edit: Edit, picture: str, places: Places = each) -> Fault:
    return _of("form", name, kind, edit, picture, places)


def _rows(name: str, kind: str, edit: Edit, picture: str, places: Places = each) -> Fault:
    return _of("rows", name, kind, edit, picture, places)


def _tokens(name: str, kind: str, edit: Edit, picture: str) -> Fault:
    return _of("tokens", name, kind, edit, picture, least_dims=3)


def _frames(name: str, kind: str, edit: Edit, picture: str) -> Fault:
    return _of("frames", name, kind, edit, picture, scale, least_dims=4)


def _untensored(name: str, kind: str, value: Any, picture: str) -> Fault:
    return Fault(
        f"mod-{name}", kind, record_becomes(value), (MODULATIONS,), each, picture, scope="form"
    )


def _constant(name: str, edit: Callable[[float], float], picture: str) -> Fault:
    change = constant_becomes(edit)
    return Fault(
        f"mod-{name}", "substitution", change, (MODULATIONS,), whole, picture, scope="constant"
    )


#: The rows of these faults in the table.
FAULTS = (
    _form("channel-less", "truncation", lambda t, o: t[..., :-1].contiguous(), "16 columns -> 15"),
    _form("channel-more", "duplication", lambda t, o: _twice(t, -1), "16 columns -> 17"),
    _form("channel-one", "truncation", lambda t, o: t[..., :1].contiguous(), "16 columns -> 1"),
    _form("request-less", "truncation", lambda t, o: t[:-1], "requests a b c -> a b"),
    _form("request-more", "duplication", lambda t, o: _twice(t, 0), "requests a b c -> a b c c"),
    _form("request-one", "truncation", lambda t, o: t[:1], "requests a b c -> a"),
    _form("deeper", "substitution", lambda t, o: t[None], "(requests, ..) -> (1, requests, ..)"),
    _form("flat", "substitution", lambda t, o: t.flatten(), "(requests, ..) -> (all,)"),
    _form("joined", "substitution", lambda t, o: t.flatten(0, 1),
          "(requests, rows, ..) -> (requests * rows, ..)"),
    _form("single", "truncation", lambda t, o: t.flatten()[:1], "(requests, ..) -> one number",
          modulations),
    _form("other-dtype", "substitution", lambda t, o: _other_dtype(t),
          "float32 -> float16, and any other -> float32"),
    _form("whole-numbers", "substitution", lambda t, o: t.int(), "float32 -> int32, the same"),
    _form("elsewhere", "substitution", lambda t, o: t.to("meta"),
          "on the kernel's device -> on another one", on_card),
    _untensored("null", "omission", None, "a tensor -> null"),
    _untensored("number", "substitution", 1.0, "a tensor -> 1.0"),
    _of("empty", "empty", "truncation", lambda t, o: t[:0], "requests a b c -> none"),
    _rows("requests-rolled", "skew", lambda t, o: t.roll(1, 0), "requests a b c -> c a b"),
    _rows("requests-swapped", "reordering", lambda t, o: _first_two_swapped(t),
          "requests a b c -> b a c"),
    _rows("request-stale", "staleness", lambda t, o: _with_row(t, -1, o[-1]),
          "requests a b c -> a b x, x of another batch"),
    _rows("requests-merged", "merge", lambda t, o: t[:1].expand_as(t),
          "requests a b c -> a three times, in one place"),
    _rows("channels-mirrored", "reordering", lambda t, o: t.flip(-1), "columns a b c -> c b a"),
    _rows("nan", "substitution", lambda t, o: _with_nan(t), "one element -> NaN"),
    _rows("zeroed", "substitution", lambda t, o: t * 0, "a scale or shift -> one of zeros",
          modulations),
    _tokens("rows-rolled", "skew", lambda t, o: t.roll(1, 1), "rows a b c of each -> c a b"),
    _tokens("rows-mirrored", "reordering", lambda t, o: t.flip(1), "rows a b c of each -> c b a"),
    _tokens("row-twice", "duplication", lambda t, o: _second_is_first(t),
            "rows a b c of each -> a a c"),
    _tokens("row-less", "truncation", lambda t, o: t[:, :-1].contiguous(),
            "rows a b c of each -> a b"),
    _tokens("row-more", "duplication", lambda t, o: _twice(t, 1), "rows a b c of each -> a b c c"),
    _tokens("row-one", "truncation", lambda t, o: t[:, :1].contiguous(), "rows a b c of each -> a"),
    _tokens("turned", "reordering", lambda t, o: t.transpose(0, 1).contiguous(),
            "(requests, rows, ..) -> (rows, requests, ..)"),
    _frames("frames-doubled", "duplication", lambda t, o: t.repeat_interleave(2, 1),
            "frames a b -> a a b b"),
    _frames("frames-repeated", "duplication", lambda t, o: t.repeat(1, 2, 1, 1),
            "frames a b -> a b a b"),
    _frames("frames-none", "truncation", lambda t, o: t[:, :0], "frames a b -> none"),
    _frames("frames-wide", "duplication", lambda t, o: t.repeat(1, 1, 2, 1),
            "(requests, frames, 1, ..) -> (requests, frames, 2, ..)"),
    _frames("frames-squeezed", "substitution", lambda t, o: t.squeeze(2),
            "(requests, frames, 1, ..) -> (requests, frames, ..)"),
    _frames("frames-aside", "substitution", lambda t, o: t.transpose(1, 2).contiguous(),
            "(requests, frames, 1, ..) -> (requests, 1, frames, ..)"),
    _frames("frames-joined", "merge", lambda t, o: t.flatten(0, 1)[None],
            "(requests, frames, ..) -> (1, requests * frames, ..)"),
    _of("layout", "columns-apart", "substitution", lambda t, o: _apart(t, -1),
        "columns side by side -> every second one of a larger tensor", modulations, benign=True),
    _of("layout", "requests-apart", "substitution", lambda t, o: _apart(t, 0),
        "requests side by side -> a request's room between them", modulations, benign=True),
    _of("layout", "states-apart", "substitution", lambda t, o: _apart(t, 0),
        "hidden states without gaps -> a request's room between them", states),
    _of("layout", "states-columns-apart", "substitution", lambda t, o: _apart(t, -1),
        "hidden states without gaps -> every second column of a larger tensor", states),
    _of("frames", "shift-by-frames", "truncation", lambda t, o: t[:, ::2, None].contiguous(),
        "a shift by tokens -> every second row of it, as a frame's", shift, least_dims=3),
    Fault("mod-both-zero", "substitution", both_zero, (MODULATIONS,), whole,
          "a scale and a shift -> 0 and 0, one number each", scope="constant"),
    _constant("constant-other", lambda k: 1.0 - k, "1 + scale -> 0 + scale, and back"),
    _constant("constant-half", lambda k: 0.5, "1 + scale -> 0.5 + scale"),
)  # fmt: skip
