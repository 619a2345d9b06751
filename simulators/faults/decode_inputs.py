"""Faults of what a kernel gets that decodes one token of each request of a packed batch."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import DECODE, Payload

#: No memory is there.
_NOWHERE = 2**40
#: Gets a tensor.
Edit = Callable[[Any], Any]


def tensor_becomes(name: str, edit: Edit, ndim: int) -> Change:
    """Return the fault that edits one tensor; an earlier one may have made it uneditable."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        tensor = payload.beside[name]
        if tensor.ndim != ndim or tensor.is_meta or not tensor.numel():
            return payload
        return replace(payload, beside={**payload.beside, name: edit(tensor)})

    return change


def index_becomes(edit: Callable[[int, Payload], int]) -> Change:
    """Return the fault that tells another slot of one request."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], edit(payload.records[at[0]], payload))

    return change


def beside_becomes(edit: Callable[[Payload], dict[str, Any]]) -> Change:
    """Return the fault that changes what stands beside the slots."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **edit(payload)})

    return change


def row_stale(payload: Payload, at: Place, rng: Random) -> Payload:
    """Rows a b c of the packed batch -> rows a x c, x of another batch."""
    rows, others = payload.beside["mixed_qkv"], payload.beside["others"]
    if rows.shape != others.shape or rows.is_meta:
        return payload
    changed = rows.clone()
    changed[at[0]] = others[at[0]]
    return replace(payload, beside={**payload.beside, "mixed_qkv": changed})


def first(count: int) -> Iterator[Place]:
    """Yield the first record, for what is alike wherever it stands."""
    return iter([(0,)] if count else [])


def _last_twice(tensor: Any, dim: int) -> Any:
    import torch

    return torch.cat([tensor, tensor.narrow(dim, tensor.shape[dim] - 1, 1)], dim)


def _apart(tensor: Any, dim: int) -> Any:
    doubled = tensor.repeat_interleave(2, dim)
    return doubled.unflatten(dim, (-1, 2)).select(dim if dim < 0 else dim + 1, 0)


def _wider(columns: int) -> Edit:
    """Return the edit that adds columns: those of the front again."""

    def edit(tensor: Any) -> Any:
        import torch

        return torch.cat([tensor, tensor[:, :columns]], 1)

    return edit


def _by_heads(count: int) -> Callable[[Payload], dict[str, Any]]:
    """Return the edit that adds queries and keys of so many heads to the packed rows."""

    def edit(payload: Payload) -> dict[str, Any]:
        rows, pool = payload.beside["mixed_qkv"], payload.beside["initial_state"]
        if rows.ndim != 2 or pool.ndim != 4:
            return {}
        columns = 2 * count * pool.shape[-1]
        return {"mixed_qkv": rows.repeat(1, 4)[:, : rows.shape[1] + columns].contiguous()}

    return edit


def _no_queries(payload: Payload) -> dict[str, Any]:
    rows, pool = payload.beside["mixed_qkv"], payload.beside["initial_state"]
    if rows.ndim != 2 or pool.ndim != 4:
        return {}
    return {"mixed_qkv": rows[:, : pool.shape[1] * pool.shape[2]].contiguous()}


def _of(
    tensor: str, ndim: int, name: str, kind: str, edit: Edit, picture: str, benign: bool = False
) -> Fault:
    change = tensor_becomes(tensor, edit, ndim)
    return Fault(
        f"gdn-{name}", kind, change, (DECODE,), whole, picture, scope="inputs", benign=benign
    )


def _gate(letter: str) -> tuple[Fault, ...]:
    """Return the faults of one of the two gates of a request."""

    def row(name: str, kind: str, edit: Edit, picture: str, benign: bool = False) -> Fault:
        return _of(letter, 2, f"{letter}-{name}", kind, edit, f"{letter} of {picture}", benign)

    return (
        row("row-less", "truncation", lambda t: t[:-1], "3 requests -> of 2"),
        row("row-more", "duplication", lambda t: _last_twice(t, 0), "3 requests -> of 4"),
        row("flat", "substitution", lambda t: t.flatten(), "(requests, heads) -> of (all,)"),
        row("apart", "substitution", lambda t: _apart(t, 1),
            "columns side by side -> of every second column of a larger tensor"),
        row("wider", "duplication", lambda t: _last_twice(t, 1), "2 columns -> of 3"),
        row("elsewhere", "substitution", lambda t: t.to("meta"),
            "the kernel's device -> of another one"),
        row("rows-apart", "substitution", lambda t: _apart(t, 0),
            "rows side by side -> of every second row of a larger tensor", benign=True),
    )  # fmt: skip


def _decay(tensor: str, name: str) -> tuple[Fault, ...]:
    """Return the faults of one of the two vectors that say how fast states fade."""
    return (
        _of(tensor, 1, f"{name}-deep", "substitution", lambda t: t[None],
            f"{tensor} of (heads,) -> of (1, heads)"),
        _of(tensor, 1, f"{name}-apart", "substitution", lambda t: _apart(t, 0),
            f"{tensor} side by side -> every second place of a larger tensor"),
        _of(tensor, 1, f"{name}-longer", "duplication", lambda t: _last_twice(t, 0),
            f"{tensor} of 2 heads -> of 3"),
        _of(tensor, 1, f"{name}-shorter", "truncation", lambda t: t[:-1],
            f"{tensor} of 2 heads -> of 1"),
    )  # fmt: skip


def _index(name: str, edit: Callable[[int, Payload], int], picture: str) -> Fault:
    return Fault(name, "skew", index_becomes(edit), (DECODE,), each, picture, scope="index")


def _told(name: str, form: str, picture: str, benign: bool = False) -> Fault:
    change = beside_becomes(lambda payload: {"index_form": form})
    return Fault(
        name, "substitution", change, (DECODE,), whole, picture, scope="index", benign=benign
    )


def _beside(name: str, kind: str, edit: Callable[[Payload], dict[str, Any]], picture: str) -> Fault:
    return Fault(name, kind, beside_becomes(edit), (DECODE,), whole, picture, scope="inputs")


#: The rows of these faults in the table.
FAULTS = (
    _of("mixed_qkv", 2, "qkv-row-less", "truncation", lambda t: t[:-1],
        "packed rows a b c -> a b"),
    _of("mixed_qkv", 2, "qkv-row-more", "duplication", lambda t: _last_twice(t, 0),
        "packed rows a b c -> a b c c"),
    _of("mixed_qkv", 2, "qkv-rows-swapped", "reordering", lambda t: t.flip(0),
        "packed rows a b c -> c b a"),
    _of("mixed_qkv", 2, "qkv-deep", "substitution", lambda t: t[:, None],
        "(requests, columns) -> (requests, 1, columns)"),
    _of("mixed_qkv", 2, "qkv-apart", "substitution", lambda t: _apart(t, 1),
        "columns side by side -> every second column of a larger tensor"),
    _of("mixed_qkv", 2, "qkv-rows-apart", "substitution", lambda t: _apart(t, 0),
        "rows side by side -> every second row of a larger tensor", benign=True),
    _of("mixed_qkv", 2, "qkv-column-more", "duplication", _wider(1), "64 columns -> 65"),
    _of("mixed_qkv", 2, "qkv-two-columns-more", "duplication", _wider(2), "64 columns -> 66"),
    _beside("gdn-qkv-head-more", "duplication", _by_heads(1),
            "queries and keys of 1 head -> of 2"),
    _beside("gdn-qkv-two-heads-more", "duplication", _by_heads(2),
            "queries and keys of 1 head -> of 3"),
    _beside("gdn-qkv-no-queries", "truncation", _no_queries,
            "queries, keys, values -> as many columns as values"),
    Fault("gdn-qkv-row-stale", "staleness", row_stale, (DECODE,), each,
          "packed rows a b c -> a x c, x of another batch", scope="index"),
    *_gate("a"),
    *_gate("b"),
    *_decay("A_log", "rate"),
    *_decay("dt_bias", "bias"),
    _index("gdn-index-past-end", lambda s, p: 2 * len(p.foreign) + 1, "slot 1 of 7 -> slot 7"),
    _index("gdn-index-negative", lambda s, p: -1, "slot 1 -> slot -1"),
    _index("gdn-index-next", lambda s, p: s + 1, "slot 1 -> slot 2, of another batch"),
    Fault("gdn-index-nowhere", "skew", index_becomes(lambda s, p: _NOWHERE), (DECODE,), first,
          "slot 1 -> slot 2**40", scope="nowhere"),
    _told("gdn-index-column", "column", "(requests,) -> (requests, 1)"),
    _told("gdn-index-apart", "apart", "side by side -> every second place of a larger tensor",
          benign=True),
    _told("gdn-index-int32", "int32", "int64 -> int32", benign=True),
    _told("gdn-index-elsewhere", "meta", "on the kernel's device -> on another one"),
    _of("out", 4, "out-row-less", "truncation", lambda t: t[:-1],
        "room for 3 requests -> for 2"),
    _of("out", 4, "out-flat", "substitution", lambda t: t.squeeze(1),
        "(requests, 1, ..) -> (requests, ..)"),
    _of("out", 4, "out-apart", "substitution", lambda t: _apart(t, 0),
        "requests side by side -> every second place of a larger tensor"),
    _of("out", 4, "out-half", "substitution", lambda t: t.half(), "float32 -> float16"),
    _of("initial_state", 4, "pool-flat", "substitution", lambda t: t.flatten(1, 2),
        "(slots, heads, values, keys) -> (slots, heads * values, keys)"),
    _of("initial_state", 4, "pool-keys-apart", "substitution", lambda t: _apart(t, 3),
        "keys side by side -> every second place of a larger tensor"),
    _of("initial_state", 4, "pool-heads-apart", "substitution", lambda t: _apart(t, 1),
        "heads side by side -> a head's room between them"),
    _of("initial_state", 4, "pool-slots-apart", "substitution", lambda t: _apart(t, 0),
        "slots side by side -> a slot's room between them", benign=True),
    _of("initial_state", 4, "pool-head-less", "truncation", lambda t: t[:, :-1].contiguous(),
        "states of 2 heads -> of 1 head"),
    _of("initial_state", 4, "pool-value-less", "truncation", lambda t: t[:, :, :-1].contiguous(),
        "states of 16 values -> of 15"),
    _of("initial_state", 4, "pool-key-less", "truncation", lambda t: t[..., :-1].contiguous(),
        "states of 16 keys -> of 15"),
    _of("initial_state", 4, "pool-turned", "reordering",
        lambda t: t.transpose(-1, -2).contiguous(), "(.., values, keys) -> (.., keys, values)"),
    _of("initial_state", 4, "pool-rolled", "staleness", lambda t: t.roll(1, 0),
        "states in slots a b c -> c a b"),
    _of("initial_state", 4, "pool-half", "substitution", lambda t: t.half(),
        "states of float32 -> of float16"),
    _beside("gdn-decode-scale-zero", "substitution", lambda p: {"scale": 0.0}, "1/4 -> 0"),
    _beside("gdn-decode-scale-negative", "substitution",
            lambda p: {"scale": -p.beside["scale"]}, "1/4 -> -1/4"),
)  # fmt: skip
