"""Faults of the angles that turn queries and keys, of what is told with them, and of the rows."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import ANGLES, Payload

_PARTS = ("q", "k")
#: Gets rows of (batch, tokens, heads, columns) and the same of another request.
Edit = Callable[[Any, Any], Any]
#: Gets the cosines and the sines of one position.
Turn = Callable[[Any, Any], tuple[Any, Any]]


def angle_becomes(edit: Turn) -> Change:
    """Return the fault that tells another angle of one position."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        (place,) = at
        return payload.with_record(place, edit(*payload.records[place]))

    return change


def angles_become(edit: Turn) -> Change:
    """Return the fault that tells other angles of all positions."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records([edit(*record) for record in payload.records])

    return change


def beside_becomes(edit: Callable[[Payload], dict[str, Any]]) -> Change:
    """Return the fault that changes what stands beside the angles."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, **edit(payload)})

    return change


def rows_become(parts: tuple[str, ...], edit: Edit) -> Change:
    """Return the fault that edits queries, keys or both; an earlier one may have changed them."""

    def edited(payload: Payload) -> dict[str, Any]:
        told = {part: (payload.beside[part], payload.beside["foreign"][part]) for part in parts}
        return {part: edit(*pair) for part, pair in told.items() if pair[0].shape == pair[1].shape}

    return beside_becomes(edited)


def _shifted(payload: Payload, at: Place, rng: Random) -> Payload:
    return payload.with_records([*payload.records[1:], payload.beside["later"]])


def _positions(edit: Callable[[tuple[int, ...], Payload], Any]) -> Change:
    def edited(payload: Payload) -> dict[str, Any]:
        told = payload.beside["positions"]
        # An earlier fault may have put them in another form.
        is_plain = isinstance(told, tuple) and len(told) > 1
        return {"positions": edit(told, payload)} if is_plain else {}

    return beside_becomes(edited)


def _none(cos: Any, sin: Any) -> tuple[Any, Any]:
    return (1,) * len(cos), (0,) * len(sin)


def _nan(cos: Any, sin: Any) -> tuple[Any, Any]:
    return (*cos[:-1], float("nan")), sin


def _halved(rows: Any) -> Any:
    """Return the columns in the other style: all first ones of the pairs, then all second ones."""
    return rows.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


def _columns_apart(rows: Any) -> Any:
    return rows.repeat_interleave(2, dim=-1)[..., ::2]


def _tokens_apart(rows: Any) -> Any:
    return rows.repeat_interleave(2, dim=1)[:, ::2]


def _heads_first(rows: Any) -> Any:
    return rows.transpose(1, 2).contiguous().transpose(1, 2)


def _other_dtype(rows: Any) -> Any:
    return rows.half() if rows.element_size() == 4 else rows.float()


def _one(name: str, kind: str, edit: Turn, picture: str) -> Fault:
    change = angle_becomes(edit)
    return Fault(name, kind, change, (ANGLES,), each, picture, scope="angle")


def _all(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (ANGLES,), whole, picture, scope="angles")


def _form(form: str, picture: str, benign: bool = False) -> Fault:
    change = beside_becomes(lambda payload: {"form": form})
    return Fault(
        f"rope-{form}", "substitution", change, (ANGLES,), whole, picture, scope="told",
        benign=benign,
    )  # fmt: skip


def _told(name: str, kind: str, change: Change, picture: str) -> Fault:
    return Fault(name, kind, change, (ANGLES,), whole, picture, scope="positions")


def _of_rows(
    said: str, parts: tuple[str, ...], rows: tuple[tuple[str, str, Edit, str], ...]
) -> tuple[Fault, ...]:
    """Return faults of queries, of keys, or of both alike."""
    return tuple(
        Fault(f"rope-{said}-{name}", kind, rows_become(parts, edit), (ANGLES,), whole,
              f"{' and '.join(parts)}: {picture}", scope=said, benign=name == "tokens-apart")
        for name, kind, edit, picture in rows
    )  # fmt: skip


_FORMS = (
    ("token-less", "truncation", lambda t, o: t[:, :-1].contiguous(), "4 tokens -> 3 tokens"),
    ("head-less", "truncation", lambda t, o: t[:, :, :-1].contiguous(), "2 heads -> 1 head"),
    ("narrower", "truncation", lambda t, o: t[..., :-1].contiguous(), "8 columns -> 7 columns"),
    ("pair-less", "truncation", lambda t, o: t[..., :-2].contiguous(), "8 columns -> 6 columns"),
    ("flat", "substitution", lambda t, o: t.flatten(0, 1),
     "(batch, tokens, ..) -> (batch * tokens, ..)"),
    ("other-dtype", "substitution", lambda t, o: _other_dtype(t),
     "float32 -> float16, and any other -> float32"),
)  # fmt: skip
_ALONE = (
    *_FORMS,
    ("token-more", "duplication", lambda t, o: t[:, [*range(t.shape[1]), -1]],
     "tokens a b -> tokens a b b"),
    ("no-tokens", "truncation", lambda t, o: t[:, :0], "4 tokens -> no tokens"),
    ("headless", "substitution", lambda t, o: t[0, :, 0].contiguous(),
     "(batch, tokens, heads, ..) -> (tokens, ..)"),
    ("deep", "substitution", lambda t, o: t[None], "(batch, ..) -> (1, batch, ..)"),
    ("columns-apart", "substitution", lambda t, o: _columns_apart(t),
     "columns side by side -> a column's room between them"),
    ("tokens-apart", "substitution", lambda t, o: _tokens_apart(t),
     "tokens side by side -> a token's room between them"),
    ("heads-first", "substitution", lambda t, o: _heads_first(t),
     "heads of a token side by side -> tokens of a head side by side, the same elements"),
    ("tokens-rolled", "skew", lambda t, o: t.roll(1, 1), "tokens a b c -> tokens c a b"),
    ("tokens-mirrored", "reordering", lambda t, o: t.flip(1), "tokens a b c -> tokens c b a"),
    ("heads-mirrored", "reordering", lambda t, o: t.flip(2), "heads a b -> heads b a"),
    ("halved", "reordering", lambda t, o: _halved(t), "columns a A b B -> columns a b A B"),
    ("stale", "staleness", lambda t, o: o, "its own -> another request's"),
)  # fmt: skip
_KEYS = (
    *_FORMS,
    ("elsewhere", "substitution", lambda t, o: t.to("meta"),
     "on the device of the others -> on another one"),
    ("tokens-rolled", "skew", lambda t, o: t.roll(1, 1), "tokens a b c -> tokens c a b"),
    ("stale", "staleness", lambda t, o: o, "its own -> another request's"),
)  # fmt: skip
_BOTH = (
    *_FORMS,
    ("columns-apart", "substitution", lambda t, o: _columns_apart(t),
     "columns side by side -> a column's room between them"),
    ("heads-first", "substitution", lambda t, o: _heads_first(t),
     "heads of a token side by side -> tokens of a head side by side, the same elements"),
)  # fmt: skip

#: The rows of these faults in the table.
FAULTS = (
    _one("rope-angle-swapped", "reordering", lambda c, s: (s, c), "cos sin of a -> sin cos of a"),
    _one("rope-angle-backwards", "skew", lambda c, s: (c, tuple(-n for n in s)),
         "cos sin of a -> cos -sin of a"),
    _one("rope-angle-none", "omission", _none, "cos sin of a -> 1 0"),
    _one("rope-angle-nan", "substitution", _nan, "a number of a -> NaN"),
    _all("rope-swapped", "reordering", angles_become(lambda c, s: (s, c)), "cos sin -> sin cos"),
    _all("rope-backwards", "skew", angles_become(lambda c, s: (c, tuple(-n for n in s))),
         "cos sin -> cos -sin"),
    _all("rope-none", "omission", angles_become(_none), "cos sin -> 1 0 of all"),
    _all("rope-shifted", "skew", _shifted, "angles 0 1 2 3 -> angles 1 2 3 4"),
    _all("rope-stale", "staleness", lambda p, at, rng: p.with_records(p.foreign),
         "angles -> another request's"),
    _form("full", "(tokens, size / 2) -> (tokens, size), each number twice: a b -> a a b b"),
    _form("doubled", "(tokens, size / 2) -> (tokens, size), all twice: a b -> a b a b"),
    _form("deep", "(tokens, size / 2) -> (1, tokens, size / 2)"),
    _form("stacked", "(tokens, size / 2) -> (2, tokens, size / 2), all twice"),
    _form("flat", "(tokens, size / 2) -> (tokens * size / 2,)"),
    _form("across", "(tokens, size / 2) -> (size / 2, tokens)"),
    _form("expanded", "angles a b c -> angle a three times, in one place"),
    _form("narrower", "4 columns each -> 3 columns"),
    _form("wider", "4 columns each -> 5 columns"),
    _form("sine-row-less", "4 cosines, 4 sines -> 4 cosines, 3 sines"),
    _form("cosine-row-less", "4 cosines, 4 sines -> 3 cosines, 4 sines"),
    _form("sine-narrower", "4 columns of sines -> 3 columns"),
    _form("sine-full", "a b of sines -> a a b b"),
    _form("list", "tensors -> lists of numbers"),
    _form("elsewhere", "on the device of the rows -> on another one"),
    _form("apart", "rows side by side -> a row's room between them", benign=True),
    _form("float16", "float32 -> float16, the same numbers", benign=True),
    _form("float64", "float32 -> float64, the same numbers", benign=True),
    _form("int32", "float32 -> int32, the same numbers", benign=True),
    *_of_rows("q", ("q",), _ALONE),
    *_of_rows("k", ("k",), _KEYS),
    *_of_rows("both", _PARTS, _BOTH),
    _told("rope-head-size-other", "skew",
          beside_becomes(lambda p: {"head_size": 2 * len(p.beside["later"][0]) + 2}),
          "no head size told -> one that is two larger"),
    _told("rope-head-size-true", "substitution",
          beside_becomes(lambda p: {"head_size": 2 * len(p.beside["later"][0])}),
          "no head size told -> the true one"),
    _told("rope-positions-less", "truncation", _positions(lambda t, p: t[:-1]), "0 1 2 3 -> 0 1 2"),
    _told("rope-positions-more", "duplication", _positions(lambda t, p: (*t, t[-1])),
          "0 1 2 3 -> 0 1 2 3 3"),
    _told("rope-positions-first", "truncation", _positions(lambda t, p: t[:1]), "0 1 2 3 -> 0"),
    _told("rope-positions-rolled", "reordering", _positions(lambda t, p: (*t[1:], t[0])),
          "0 1 2 3 -> 1 2 3 0"),
    _told("rope-positions-past-end", "skew", _positions(lambda t, p: tuple(n + 1 for n in t)),
          "0 1 2 3 -> 1 2 3 4"),
    _told("rope-positions-negative", "skew", _positions(lambda t, p: tuple(n - 1 for n in t)),
          "0 1 2 3 -> -1 0 1 2"),
    _told("rope-positions-alike", "merge", _positions(lambda t, p: (0,) * len(t)),
          "0 1 2 3 -> 0 0 0 0"),
    _told("rope-positions-row", "substitution", _positions(lambda t, p: (t,)),
          "(rows,) -> (1, rows)"),
    _told("rope-positions-list", "substitution", _positions(lambda t, p: list(t)),
          "a tensor -> a list of numbers"),
    _told("rope-positions-null", "omission", _positions(lambda t, p: None), "0 1 2 3 -> null"),
)  # fmt: skip
