"""shard-degrees: the launcher tells LingBot's parts how many ranks share what.

- Where ranks share a sequence, the flag says so.
- The group's size is the number of its ranks, and the Ulysses degree times the ring degree.
- The ring degree is 1; the Ulysses degree is 2 or more; all of them are whole numbers.
- The heads are the model's, as many for each rank.

The payload holds `sp` (the size of the group that shares the sequence), `ulysses`, `ring`, `heads`
and, unless it was lost, `shard`, the flag. The request says `entry`, `ranks` and `heads`.

The entries are `model` (a forward on each rank), `stage` (how many heads the cache of a request
gets), `cache` (the same, told straight whether the sequence is shared) and `attention` (the
layer, as it is built). Each reads some of the degrees, and stops at its own checks.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER
from contracts.source import Source

_RUNTIME = "multimodal_gen/runtime"
_DIT = f"{_RUNTIME}/models/dits/lingbot_world.py"
_STAGE = (
    f"{_RUNTIME}/pipelines_core/stages/model_specific_stages/lingbot_world/"
    "lingbot_world_causal_denoising.py"
)
_FORWARD = Source("0.5.23", _DIT, "CausalLingBotWorldTransformer3DModel.forward")
_INIT = Source("0.5.23", _DIT, "LingBotWorldCausalSelfAttention.__init__")
_HEADS = Source(
    "0.5.23",
    _STAGE,
    "LingBotWorldCausalDMDDenoisingStage._num_causal_cache_attention_heads",
)
_ONE_RING = (
    "LingBot causal sequence sharding currently supports ulysses_degree > 1 "
    "with ring_degree = 1 only."
)

FLAG_TOLD = Clause("flag-told", "Where ranks share a sequence, the flag says so.")
FLAG_BOOLEAN = Clause("flag-boolean", "The flag is true or false.")
GROUP_NUMBER = Clause("group-number", "The group's size is a number.", incidental=("TypeError",))
RING_NUMBER = Clause("ring-number", "The ring degree is a number.", incidental=("TypeError",))
MODEL_RING_ONE = Clause(
    "model-ring-one",
    "Where the model shares a sequence, the ring degree is not above 1.",
    guards=(Guard("NotImplementedError", _ONE_RING, EVER, _FORWARD),),
)
STAGE_RING_ONE = Clause(
    "stage-ring-one",
    "Where the stage's cache is shared, the ring degree is not above 1.",
    guards=(Guard("NotImplementedError", _ONE_RING, EVER, _HEADS),),
)
ULYSSES_NUMBER = Clause(
    "ulysses-number", "The Ulysses degree is a number.", incidental=("TypeError",)
)
MODEL_ULYSSES_SHARED = Clause(
    "model-ulysses-shared",
    "Where the model shares a sequence, the Ulysses degree is above 1.",
    guards=(
        Guard(
            "NotImplementedError",
            "LingBot causal sequence sharding currently requires ulysses_degree > 1.",
            EVER,
            _FORWARD,
        ),
    ),
)
STAGE_ULYSSES_SHARED = Clause(
    "stage-ulysses-shared",
    "Where the stage's cache is said to be shared, the Ulysses degree is above 1.",
    guards=(
        # In service the stage says so only where the degree is above 1 already.
        Guard(
            "ValueError",
            "LingBot causal sequence sharding requires ulysses_degree > 1.",
            EVER,
            _HEADS,
            direct=True,
        ),
    ),
)
GROUP_WHOLE = Clause(
    "group-whole", "The group's size is a whole number.", incidental=("TypeError",)
)
GROUP_RANKS = Clause(
    "group-ranks", "The group's size is the number of its ranks.", incidental=("IndexError",)
)
HEADS_NUMBER = Clause("heads-number", "The number of heads is a number.", incidental=("TypeError",))
STAGE_HEADS_DIVIDE = Clause(
    "stage-heads-divide",
    "The Ulysses degree divides the heads of the stage's cache.",
    guards=(
        Guard(
            "ValueError",
            "num_attention_heads ({heads}) must be divisible by ulysses_degree ({ulysses}).",
            EVER,
            _HEADS,
        ),
    ),
)
ATTENTION_HEADS_DIVIDE = Clause(
    "attention-heads-divide",
    "The Ulysses degree divides the attention's heads.",
    guards=(
        Guard(
            "ValueError",
            "num_heads ({heads}) must be divisible by ulysses_degree ({ulysses}).",
            EVER,
            _INIT,
        ),
    ),
)
RING_ONE = Clause("ring-one", "The ring degree is 1, where nobody looks at it too.")
ULYSSES_WHOLE = Clause("ulysses-whole", "The Ulysses degree is a whole number.")
DEGREES_AGREE = Clause(
    "degrees-agree", "The group's size is the Ulysses degree times the ring degree."
)
HEADS_WHOLE = Clause("heads-whole", "The number of heads is a whole number.")
HEADS_ASKED = Clause("heads-asked", "The heads are the model's.")

_CLAUSES = (
    FLAG_TOLD,
    FLAG_BOOLEAN,
    GROUP_NUMBER,
    RING_NUMBER,
    MODEL_RING_ONE,
    STAGE_RING_ONE,
    ULYSSES_NUMBER,
    MODEL_ULYSSES_SHARED,
    STAGE_ULYSSES_SHARED,
    GROUP_WHOLE,
    GROUP_RANKS,
    HEADS_NUMBER,
    STAGE_HEADS_DIVIDE,
    ATTENTION_HEADS_DIVIDE,
    RING_ONE,
    ULYSSES_WHOLE,
    DEGREES_AGREE,
    HEADS_WHOLE,
    HEADS_ASKED,
)
_OF_MODEL = (RING_NUMBER, MODEL_RING_ONE, ULYSSES_NUMBER, MODEL_ULYSSES_SHARED)
_OF_STAGE = (RING_NUMBER, STAGE_RING_ONE, STAGE_HEADS_DIVIDE)
_Degrees = Mapping[str, Any]
_Found = Iterator[Violation | Unchecked]
#: Findings, and then whether one of them ends the call.
_Stops = Generator[Violation | Unchecked, None, bool]


def _walk(payload: _Degrees, request: _Degrees, owner_of: OwnerOf | None) -> _Found:
    walks = {
        "model": _walk_model,
        "stage": _walk_stage,
        "cache": _walk_cache,
        "attention": _walk_attention,
    }
    yield from walks[request["entry"]](payload, request)


def _walk_model(payload: _Degrees, request: _Degrees) -> _Found:
    size = payload["sp"]
    if not payload.get("shard"):
        yield from _flag_lost(payload, request)
        yield from _unread(_OF_MODEL)
        return
    if not _is_number(size):
        yield _no_number(GROUP_NUMBER, payload, "sp")
        return
    if size > 1:
        stopped = yield from _ring(payload, MODEL_RING_ONE)
        if not stopped:
            stopped = yield from _ulysses(payload, MODEL_ULYSSES_SHARED)
        if stopped:
            return
    else:
        yield from _unread(_OF_MODEL)
    if type(size) is not int:
        yield Violation(GROUP_WHOLE, "sp", "an int", repr(size))
    if size != request["ranks"]:
        ranks = request["ranks"]
        accident = _of_group(size, ranks)
        yield Violation(GROUP_RANKS, "sp", f"{ranks}", repr(size), incidental=accident)
    yield from _quiet(payload)


def _of_group(size: float, ranks: int) -> tuple[str, ...]:
    # A group of none has no positions. One of two or more, but too few, has no share for the last
    # of the ranks. One of more has too many shares, and one of one shares nothing.
    if size <= 0:
        return ("RuntimeError",)
    return ("IndexError",) if 1 < size < ranks else ()


def _walk_stage(payload: _Degrees, request: _Degrees) -> _Found:
    if not payload.get("shard"):
        yield from _flag_lost(payload, request)
        yield from _unread(_OF_STAGE)
        yield from _heads_told(payload, request)
        return
    ulysses = payload["ulysses"]
    if not _is_number(ulysses):
        yield _no_number(ULYSSES_NUMBER, payload, "ulysses")
        return
    if ulysses > 1:
        stopped = yield from _ring(payload, STAGE_RING_ONE)
        if not stopped:
            stopped = yield from _heads(payload, STAGE_HEADS_DIVIDE, ulysses)
        if stopped:
            return
    else:
        yield from _unread(_OF_STAGE)
    yield from _quiet(payload)
    yield from _heads_told(payload, request)


def _walk_cache(payload: _Degrees, request: _Degrees) -> _Found:
    if not payload.get("shard"):
        yield from _flag_lost(payload, request)
        yield from _unread((*_OF_STAGE, ULYSSES_NUMBER, STAGE_ULYSSES_SHARED))
        yield from _heads_told(payload, request)
        return
    stopped = yield from _ring(payload, STAGE_RING_ONE)
    if not stopped:
        stopped = yield from _ulysses(payload, STAGE_ULYSSES_SHARED)
    if not stopped:
        stopped = yield from _heads(payload, STAGE_HEADS_DIVIDE, payload["ulysses"])
    if not stopped:
        yield from _quiet(payload)
        yield from _heads_told(payload, request)


def _walk_attention(payload: _Degrees, request: _Degrees) -> _Found:
    ulysses = payload["ulysses"]
    if not _is_number(ulysses):
        yield _no_number(ULYSSES_NUMBER, payload, "ulysses")
        return
    # The layer takes a degree below 1 for 1.
    stopped = yield from _heads(payload, ATTENTION_HEADS_DIVIDE, max(ulysses, 1))
    if not stopped:
        yield from _quiet(payload)
        yield from _heads_told(payload, request)


def _flag_lost(payload: _Degrees, request: _Degrees) -> _Found:
    if request["ranks"] > 1:
        said = repr(payload["shard"]) if "shard" in payload else "nothing"
        yield Violation(FLAG_TOLD, "shard", "True", said)


def _unread(clauses: tuple[Clause, ...]) -> _Found:
    yield from (Unchecked(clause, "nothing is shared, so it is not read") for clause in clauses)


def _ring(payload: _Degrees, guarded: Clause) -> _Stops:
    ring = payload["ring"]
    if not _is_number(ring):
        yield _no_number(RING_NUMBER, payload, "ring")
        return True
    if ring > 1:
        yield Violation(guarded, "ring", "1", repr(ring))
    return bool(ring > 1)


def _ulysses(payload: _Degrees, guarded: Clause) -> _Stops:
    ulysses = payload["ulysses"]
    if not _is_number(ulysses):
        yield _no_number(ULYSSES_NUMBER, payload, "ulysses")
        return True
    if ulysses <= 1:
        yield Violation(guarded, "ulysses", "2 or more", repr(ulysses))
    return bool(ulysses <= 1)


def _heads(payload: _Degrees, guarded: Clause, ulysses: Any) -> _Stops:
    heads = payload["heads"]
    if not _is_number(heads):
        yield _no_number(HEADS_NUMBER, payload, "heads")
        return True
    if heads % ulysses:
        fields = {"heads": heads, "ulysses": ulysses}
        yield Violation(guarded, "heads", f"a multiple of {ulysses}", repr(heads), fields)
    return bool(heads % ulysses)


def _quiet(payload: _Degrees) -> _Found:
    size, ulysses, ring = payload["sp"], payload["ulysses"], payload["ring"]
    if type(payload.get("shard", False)) is not bool:
        yield Violation(FLAG_BOOLEAN, "shard", "a bool", repr(payload["shard"]))
    if _is_number(ring) and ring != 1:
        yield Violation(RING_ONE, "ring", "1", repr(ring))
    if _is_number(ulysses) and type(ulysses) is not int:
        yield Violation(ULYSSES_WHOLE, "ulysses", "an int", repr(ulysses))
    if not all(map(_is_number, (size, ulysses, ring))):
        yield Unchecked(DEGREES_AGREE, "a degree is no number")
    elif size != ulysses * ring:
        told = f"{ulysses!r} x {ring!r}"
        yield Violation(DEGREES_AGREE, "$", f"sp = {told}", f"{size!r}")


def _heads_told(payload: _Degrees, request: _Degrees) -> _Found:
    heads = payload["heads"]
    if not _is_number(heads):
        # Where nothing is shared, nobody counts with it.
        yield Violation(HEADS_NUMBER, "heads", "a number", repr(heads), incidental=())
        return
    if type(heads) is not int:
        yield Violation(HEADS_WHOLE, "heads", "an int", repr(heads))
    if heads != request["heads"]:
        yield Violation(HEADS_ASKED, "heads", f"{request['heads']}", repr(heads))


def _no_number(clause: Clause, payload: _Degrees, name: str) -> Violation:
    return Violation(clause, name, "a number", repr(payload[name]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


CONTRACT = Contract(
    "shard-degrees",
    "The launcher tells LingBot's parts how many ranks share what.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
