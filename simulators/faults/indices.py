"""Faults of the positions of kept tokens, of the dense tensors that they point into, and back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import INDICES, Payload

_PARTS = ("q", "k", "v")
#: Rows past the end, so far that margins still tell a read from one of other memory.
_FAR = 500
#: No memory is there.
_NOWHERE = 2**40


def index_becomes(edit: Callable[[int, Payload], int]) -> Change:
    """Return the fault that tells another position of one kept token."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        (place,) = at
        return payload.with_record(place, edit(payload.records[place], payload))

    return change


def indices_become(edit: Callable[[int, int, Payload], int]) -> Change:
    """Return the fault that tells other positions of all; each has its number and its position."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        told = enumerate(payload.records)
        return payload.with_records([edit(number, index, payload) for number, index in told])

    return change


def beside_becomes(edit: Callable[[Payload], dict[str, Any]]) -> Change:
    """Return the fault that changes what stands beside the positions."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **edit(payload)})

    return change


def _dense(part: str, edit: Callable[[Any, Any], Any]) -> Change:
    """Return the fault that edits one dense tensor; an earlier one may have made it uneditable."""

    def edited(payload: Payload) -> dict[str, Any]:
        tensor, other = payload.beside[part], payload.beside["foreign"][part]
        return {part: edit(tensor, other)} if tensor.shape == other.shape else {}

    return beside_becomes(edited)


def _each_dense(edit: Callable[[Any], Any]) -> Change:
    def edited(payload: Payload) -> dict[str, Any]:
        tensors = {part: payload.beside[part] for part in _PARTS}
        return {part: edit(one) for part, one in tensors.items() if one.ndim == 4}

    return beside_becomes(edited)


def _packed(edit: Callable[[Any], Any]) -> Change:
    def edited(payload: Payload) -> dict[str, Any]:
        packed = payload.beside["packed"]
        return {"packed": edit(packed)} if packed.ndim == 3 else {}

    return beside_becomes(edited)


def _other_dtype(tensor: Any) -> Any:
    return tensor.half() if tensor.element_size() == 4 else tensor.float()


def _heads_apart(tensor: Any) -> Any:
    return tensor.repeat_interleave(2, dim=2)[:, :, ::2]


def first(count: int) -> Iterator[Place]:
    """Yield the first record, for what is alike wherever it stands."""
    return iter([(0,)] if count else [])


def _index(name: str, kind: str, edit: Callable[[int, Payload], int], picture: str) -> Fault:
    return Fault(name, kind, index_becomes(edit), (INDICES,), each, picture, scope="index")


def _all(name: str, edit: Callable[[int, int, Payload], int], picture: str) -> Fault:
    change = indices_become(edit)
    return Fault(name, "skew", change, (INDICES,), whole, picture, scope="indices")


def _form(name: str, form: str, picture: str, benign: bool = False) -> Fault:
    change = beside_becomes(lambda payload: {"form": form})
    return Fault(
        name, "substitution", change, (INDICES,), whole, picture, scope="told", benign=benign
    )


def _of_part(part: str) -> tuple[Fault, ...]:
    """Return the faults of one dense tensor."""

    def row(name: str, kind: str, edit: Callable[[Any, Any], Any], picture: str) -> Fault:
        named, change = f"dense-{part}-{name}", _dense(part, edit)
        benign = name == "heads-apart"
        return Fault(named, kind, change, (INDICES,), whole, picture, scope="dense", benign=benign)

    return (
        row("token-less", "truncation", lambda t, o: t[:, :-1].contiguous(),
            f"{part} of 5 tokens -> of 4 tokens"),
        row("head-less", "truncation", lambda t, o: t[:, :, :-1].contiguous(),
            f"{part} of 2 heads -> of 1 head"),
        row("other-dtype", "substitution", lambda t, o: _other_dtype(t),
            f"{part} of float32 -> of float16, and of any other -> of float32"),
        row("flat", "substitution", lambda t, o: t.flatten(0, 1),
            f"{part} of (sequences, tokens, ..) -> of (sequences * tokens, ..)"),
        row("heads-apart", "substitution", lambda t, o: _heads_apart(t),
            f"heads of {part} side by side -> a head's room between them"),
        row("sequences-swapped", "reordering", lambda t, o: t.flip(0),
            f"sequences a b of {part} -> sequences b a"),
        row("stale", "staleness", lambda t, o: o, f"{part} -> another request's"),
    )  # fmt: skip


#: The rows of these faults in the table.
FAULTS = (
    _index("index-past-end", "skew", lambda i, p: p.beside["total"],
           "position 1 of 8 -> position 8"),
    _index("index-far-past", "skew", lambda i, p: p.beside["total"] + _FAR,
           "position 1 of 8 -> position 508"),
    _index("index-negative", "skew", lambda i, p: -1, "position 1 -> position -1"),
    _index("index-from-end", "substitution", lambda i, p: i - p.beside["total"],
           "position 1 of 8 -> position -7, the same counted from the end"),
    _index("index-next", "skew", lambda i, p: i + 1, "position 1 -> position 2"),
    Fault("index-nowhere", "skew", index_becomes(lambda i, p: _NOWHERE), (INDICES,), first,
          "position 0 -> position 2**40", scope="nowhere"),
    _all("indices-shifted", lambda n, i, p: i + 1, "0 1 2 4 5 -> 1 2 3 5 6"),
    _all("indices-local", lambda n, i, p: i % p.beside["tokens"],
         "0 1 2 4 5 -> 0 1 2 0 1, counted in each sequence"),
    _all("indices-unpadded", lambda n, i, p: n, "0 1 2 4 5 -> 0 1 2 3 4, padding forgotten"),
    _all("indices-past-end", lambda n, i, p: i + p.beside["total"],
         "0 1 2 4 5 of 8 -> 8 9 10 12 13"),
    _form("indices-apart", "apart", "side by side -> every second place of a larger tensor"),
    _form("indices-row", "row", "(kept,) -> (1, kept)"),
    _form("indices-column", "column", "(kept,) -> (kept, 1)"),
    _form("indices-halves", "halves", "(kept,) -> (2, kept / 2)"),
    _form("indices-float", "float", "int64 -> float32"),
    _form("indices-mask", "mask", "positions -> one bool for each position"),
    _form("indices-int16", "int16", "int64 -> int16"),
    _form("indices-int32", "int32", "int64 -> int32", benign=True),
    _form("indices-list", "list", "a tensor -> a list of numbers"),
    *(fault for part in _PARTS for fault in _of_part(part)),
    Fault("dense-flat", "substitution", _each_dense(lambda t: t.flatten(0, 1)), (INDICES,), whole,
          "(sequences, tokens, ..) each -> (sequences * tokens, ..)", scope="dense"),
    Fault("dense-token-less", "truncation", _each_dense(lambda t: t[:, :-1].contiguous()),
          (INDICES,), whole, "5 tokens of each -> 4 tokens", scope="dense"),
    Fault("dense-keys-values", "reordering",
          beside_becomes(lambda p: {"k": p.beside["v"], "v": p.beside["k"]}), (INDICES,), whole,
          "q k v -> q v k", scope="dense"),
    Fault("packed-flat", "substitution", _packed(lambda t: t.flatten(1)), (INDICES,), whole,
          "(kept, heads, columns) -> (kept, heads * columns)", scope="packed"),
    Fault("packed-deep", "substitution", _packed(lambda t: t[None]), (INDICES,), whole,
          "(kept, heads, columns) -> (1, kept, heads, columns)", scope="packed"),
)  # fmt: skip
