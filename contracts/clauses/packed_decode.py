"""What upstream checks of a packed batch that decodes one token of each request, in its order.

The three entries word it nearly alike, each in a function of its own: a clause of each has the
entry's name behind its own. `walk_checks` yields what is broken in the order in which they look.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.contract import Clause, Guard, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

GDN, KDA, HELION = "gdn", "kda", "helion"
ENTRIES = (GDN, KDA, HELION)
_OPS = "kernels/ops/attention"
_SOURCES = {
    GDN: (f"{_OPS}/fla/fused_recurrent.py", "fused_recurrent_gated_delta_rule_packed_decode"),
    KDA: (f"{_OPS}/fla/fused_recurrent.py", "fused_recurrent_kda_packed_decode"),
    HELION: (f"{_OPS}/helion/kda_decode.py", "validate_packed_decode_inputs"),
}
_SINCE = {GDN: EVER, KDA: EVER, HELION: Span("0.5.18")}
_SIZES = 4
#: Tensors, in the order in which upstream looks for one on another device.
_TENSORS = ("a", "b", "A_log", "dt_bias", "initial_state", "out", "ssm_state_indices")


def _each(
    name: str,
    sentence: str,
    text: str,
    entries: Sequence[str] = ENTRIES,
    spans: Mapping[str, Span] = _SINCE,
) -> dict[str, Clause]:
    """Return one clause for each entry, guarded in its own function."""
    return {
        entry: Clause(
            f"{name}-{entry}",
            f"{sentence} ({entry}.)",
            guards=(Guard("ValueError", text, spans[entry], Source("0.5.23", *_SOURCES[entry])),),
        )
        for entry in entries
    }


ROWS_FLAT = _each(
    "rows-flat",
    "The packed rows are (requests, columns).",
    "`mixed_qkv` must be a 2D tensor (got ndim={ndim}).",
)
ROWS_TOGETHER = _each(
    "rows-together",
    "The columns of a packed row lie side by side.",
    "`mixed_qkv` must be contiguous in the last dim.",
)
GATES_FLAT = _each(
    "gates-flat",
    "The gates are (requests, columns).",
    "`a` and `b` must be 2D tensors (got a.ndim={a}, b.ndim={b}).",
)
GATES_TOGETHER = _each(
    "gates-together",
    "The columns of a gate lie side by side.",
    "`a`/`b` must be contiguous in the last dim.",
)
DECAYS_FLAT = _each(
    "decays-flat", "Rates and biases are one-dimensional.", "`A_log`/`dt_bias` must be 1D tensors."
)
DECAYS_TOGETHER = _each(
    "decays-together",
    "Rates and biases lie side by side.",
    "`A_log`/`dt_bias` must be contiguous.",
)
SLOTS_FLAT = _each(
    "slots-flat",
    "The slots are one-dimensional.",
    "`ssm_state_indices` must be 1D for packed decode (got ndim={ndim}).",
)
OUT_TOGETHER = _each("out-together", "The output has no gaps.", "`out` must be contiguous.")
ONE_DEVICE = _each("one-device", "All is on one device.", "All inputs must be on the same device.")
BATCH_SIZES = _each(
    "batch-sizes",
    "Rows and gates are of as many requests.",
    "Mismatched batch sizes: mixed_qkv.shape[0]={batch}, a.shape[0]={a}, b.shape[0]={b}.",
)
SLOT_COUNT = _each(
    "slot-count",
    "Each request has one slot.",
    "`ssm_state_indices` must have shape [B] (got {got}; expected ({batch},)).",
)
POOL_DEEP = _each(
    "pool-deep",
    "The pool is (slots, value heads, values, keys).",
    "`initial_state` must be a 4D tensor (got ndim={ndim}).",
)
POOL_TOGETHER = _each(
    "pool-together",
    "The keys of a state lie side by side.",
    "`initial_state` must be contiguous in the last dim.",
)
POWERS_OF_TWO = _each(
    "powers-of-two",
    "The sizes of a head are powers of two.",
    "Helion KDA decode requires power-of-two key and value head dimensions (got K={K}, V={V}).",
    (HELION,),
    {HELION: Span("0.5.19")},
)
GATES_FIT = _each(
    "gates-fit",
    "The gates have a column for each value head.",
    "`a`/`b` must have shape [B, HV] with HV={HV} (got a.shape={a}, b.shape={b}).",
    (GDN,),
)
GATE_FITS = _each(
    "gate-fits",
    "The first gate has a column for each key of each value head.",
    "`a` must have shape [B, HV*K] with HV={HV}, K={K} (got a.shape={a}).",
    (KDA, HELION),
)
SHARE_FITS = _each(
    "share-fits",
    "The second gate has a column for each value head.",
    "`b` must have shape [B, HV] with HV={HV} (got b.shape={b}).",
    (KDA, HELION),
)
DECAYS_FIT = _each(
    "decays-fit",
    "Each value head has a rate and a bias.",
    "`A_log` and `dt_bias` must have {HV} elements "
    "(got A_log.numel()={rates}, dt_bias.numel()={biases}).",
    (GDN,),
)
RATES_FIT = _each(
    "rates-fit",
    "Each value head has a rate.",
    "`A_log` must have {HV} elements (got {rates}).",
    (KDA, HELION),
)
BIASES_FIT = _each(
    "biases-fit",
    "Each key of each value head has a bias.",
    "`dt_bias` must have {wanted} elements (got {biases}).",
    (KDA, HELION),
)
OUT_FITS = _each(
    "out-fits",
    "The output is (requests, 1, value heads, values).",
    "`out` must have shape {wanted} (got out.shape={got}).",
)
ROWS_HOLD_QUERIES = _each(
    "rows-hold-queries",
    "A packed row holds as many queries as keys beside its values.",
    "Invalid packed `mixed_qkv` last dim={columns} for HV={HV}, V={V}.",
)
QUERIES_WHOLE = _each(
    "queries-whole",
    "A packed row holds queries of whole heads.",
    "Invalid packed Q size {queries}: must be divisible by K={K}.",
)
HEADS_SHARED = _each(
    "heads-shared",
    "Each head serves as many value heads.",
    "Invalid head config inferred from mixed_qkv: H={H}, HV={HV}.",
)
_CHECKS = (
    ROWS_FLAT, ROWS_TOGETHER, GATES_FLAT, GATES_TOGETHER, DECAYS_FLAT, DECAYS_TOGETHER,
    SLOTS_FLAT, OUT_TOGETHER, ONE_DEVICE, BATCH_SIZES, SLOT_COUNT, POOL_DEEP, POOL_TOGETHER,
    POWERS_OF_TWO, GATES_FIT, GATE_FITS, SHARE_FITS, DECAYS_FIT, RATES_FIT, BIASES_FIT, OUT_FITS,
    ROWS_HOLD_QUERIES, QUERIES_WHOLE, HEADS_SHARED,
)  # fmt: skip
#: Every check of every entry, those of one entry in its order.
CHECKED = tuple(each[entry] for entry in ENTRIES for each in _CHECKS if entry in each)


def walk_checks(payload: Mapping[str, Any], entry: str) -> Iterator[Violation]:
    """Yield what an entry's checks refuse, in their order.

    What a check takes apart must have the form that earlier ones see to: where it has not, the
    later ones are not walked.

    Args:
        payload: See `contracts.kernel_gdn_packed`.
        entry: One of `ENTRIES`.
    """
    forms = list(_walk_forms(payload, entry))
    yield from forms
    if any(v.clause.name.split("-")[1] in ("flat", "deep") for v in forms):
        return
    yield from _walk_sizes(payload, entry)


def _broken(each: Mapping[str, Clause], entry: str, where: str, **fields: Any) -> Violation:
    clause = each[entry]
    said = ", ".join(f"{name} {value}" for name, value in fields.items())
    return Violation(clause, where, clause.sentence, said or "another form", fields)


def _walk_forms(payload: Mapping[str, Any], entry: str) -> Iterator[Violation]:
    rows, a, b = payload["mixed_qkv"], payload["a"], payload["b"]
    rates, biases, slots = payload["A_log"], payload["dt_bias"], payload["ssm_state_indices"]
    pool, out = payload["initial_state"], payload["out"]
    if rows.ndim != 2:
        yield _broken(ROWS_FLAT, entry, "mixed_qkv", ndim=rows.ndim)
    if rows.stride(-1) != 1:
        yield _broken(ROWS_TOGETHER, entry, "mixed_qkv")
    if (a.ndim, b.ndim) != (2, 2):
        yield _broken(GATES_FLAT, entry, "a, b", a=a.ndim, b=b.ndim)
    if a.stride(-1) != 1 or b.stride(-1) != 1:
        yield _broken(GATES_TOGETHER, entry, "a, b")
    if (rates.ndim, biases.ndim) != (1, 1):
        yield _broken(DECAYS_FLAT, entry, "A_log, dt_bias")
    elif rates.stride(0) != 1 or biases.stride(0) != 1:
        yield _broken(DECAYS_TOGETHER, entry, "A_log, dt_bias")
    if slots.ndim != 1:
        yield _broken(SLOTS_FLAT, entry, "ssm_state_indices", ndim=slots.ndim)
    if not out.is_contiguous():
        yield _broken(OUT_TOGETHER, entry, "out")
    if any(payload[name].device != rows.device for name in _TENSORS):
        yield _broken(ONE_DEVICE, entry, "$")
    batch = rows.shape[0]
    if {a.shape[0], b.shape[0]} != {batch}:
        fields = {"batch": batch, "a": a.shape[0], "b": b.shape[0]}
        yield _broken(BATCH_SIZES, entry, "a, b", **fields)
    if slots.shape[0] != batch:
        got = tuple(slots.shape)
        yield _broken(SLOT_COUNT, entry, "ssm_state_indices", got=got, batch=batch)
    if pool.ndim != _SIZES:
        yield _broken(POOL_DEEP, entry, "initial_state", ndim=pool.ndim)
    if pool.stride(-1) != 1:
        yield _broken(POOL_TOGETHER, entry, "initial_state")


def _walk_sizes(payload: Mapping[str, Any], entry: str) -> Iterator[Violation]:
    batch = payload["mixed_qkv"].shape[0]
    heads, values, keys = payload["initial_state"].shape[-3:]
    a, b = tuple(payload["a"].shape), tuple(payload["b"].shape)
    rates, biases = payload["A_log"].numel(), payload["dt_bias"].numel()
    if entry in POWERS_OF_TWO and (keys & (keys - 1) or values & (values - 1)):
        yield _broken(POWERS_OF_TWO, entry, "initial_state", K=keys, V=values)
    if entry == GDN:
        if (a[1], b[1]) != (heads, heads):
            yield _broken(GATES_FIT, entry, "a, b", HV=heads, a=a, b=b)
        if (rates, biases) != (heads, heads):
            fields = {"HV": heads, "rates": rates, "biases": biases}
            yield _broken(DECAYS_FIT, entry, "A_log, dt_bias", **fields)
    else:
        if a[1] != heads * keys:
            yield _broken(GATE_FITS, entry, "a", HV=heads, K=keys, a=a)
        if b[1] != heads:
            yield _broken(SHARE_FITS, entry, "b", HV=heads, b=b)
        if rates != heads:
            yield _broken(RATES_FIT, entry, "A_log", HV=heads, rates=rates)
        if biases != heads * keys:
            yield _broken(BIASES_FIT, entry, "dt_bias", wanted=heads * keys, biases=biases)
    wanted, got = (batch, 1, heads, values), tuple(payload["out"].shape)
    if got != wanted:
        yield _broken(OUT_FITS, entry, "out", wanted=wanted, got=got)
    yield from _walk_columns(payload["mixed_qkv"].shape[1], (heads, values, keys), entry)


def _walk_columns(columns: int, sizes: tuple[int, int, int], entry: str) -> Iterator[Violation]:
    """Walk what the width of a packed row says of its heads; each check needs the one before."""
    heads, values, keys = sizes
    both = columns - heads * values
    if both <= 0 or both % 2:
        yield _broken(ROWS_HOLD_QUERIES, entry, "mixed_qkv", columns=columns, HV=heads, V=values)
    elif both // 2 % keys:
        yield _broken(QUERIES_WHOLE, entry, "mixed_qkv", queries=both // 2, K=keys)
    elif heads % (both // 2 // keys):
        yield _broken(HEADS_SHARED, entry, "mixed_qkv", H=both // 2 // keys, HV=heads)
