"""lingbot-cam: a camera's embedding, or the scale and shift made of it before, turn hidden states.

- There is an embedding: a tensor, alike in shape and kind of numbers to the hidden states.
- Its rows are this request's camera's, each at its own token.
- Where scale and shift come computed, they are two tensors of the hidden states' shape and kind,
  and were made of this camera, row by row.

The payload holds `camera` and `scale_shift`. The request says `shape` (of the hidden states:
batch, tokens, width), `dtype`, and `ready` (whether scale and shift come computed).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER
from contracts.source import Source

CAMERA_THERE = Clause("camera-there", "There is an embedding of the camera.")
CAMERA_TENSOR = Clause(
    "camera-tensor", "The embedding is a tensor.", incidental=("AttributeError",)
)
CAMERA_SHAPE = Clause(
    "camera-shape",
    "The embedding has the shape of the hidden states.",
    guards=(
        Guard(
            "ValueError",
            "c2ws_plucker_emb shape must match hidden_states shape, got {camera} vs {hidden}",
            EVER,
            Source(
                "0.5.23",
                "multimodal_gen/runtime/models/dits/lingbot_world.py",
                "LingBotWorldCamConditioner.forward",
            ),
        ),
    ),
)
CAMERA_DTYPE = Clause(
    "camera-dtype",
    "The embedding has the kind of numbers of the hidden states.",
    incidental=("RuntimeError",),
)
PAIR_THERE = Clause("pair-there", "Scale and shift come where they were computed before.")
PAIR_TWO = Clause("pair-two", "Scale and shift are two.", incidental=("ValueError",))
PAIR_TENSORS = Clause("pair-tensors", "Scale and shift are tensors.", incidental=("TypeError",))
PAIR_SHAPE = Clause(
    "pair-shape",
    "Scale and shift have the shape of the hidden states.",
    incidental=("RuntimeError",),
)
PAIR_DTYPE = Clause("pair-dtype", "Scale and shift have the kind of numbers of the hidden states.")
CAMERA_IDENTITY = Clause("camera-identity", "Every row is of this request's camera.", identity=True)
CAMERA_POSITION = Clause("camera-position", "Every row stands at its own token.", identity=True)
PAIR_IDENTITY = Clause(
    "pair-identity", "Scale and shift were made of this request's camera.", identity=True
)
PAIR_POSITION = Clause("pair-position", "Scale and shift stand at their own tokens.", identity=True)

_CLAUSES = (
    CAMERA_THERE,
    CAMERA_TENSOR,
    CAMERA_SHAPE,
    CAMERA_DTYPE,
    CAMERA_IDENTITY,
    CAMERA_POSITION,
    PAIR_THERE,
    PAIR_TWO,
    PAIR_TENSORS,
    PAIR_SHAPE,
    PAIR_DTYPE,
    PAIR_IDENTITY,
    PAIR_POSITION,
)
_Found = Iterator[Violation | Unchecked]


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    camera, pair = payload["camera"], payload["scale_shift"]
    if camera is None:
        yield Violation(CAMERA_THERE, "camera", "an embedding", "nothing")
        yield from (Unchecked(clause, "no camera is asked for") for clause in _CLAUSES[1:])
        return
    if not is_tensor(camera):
        yield Violation(CAMERA_TENSOR, "camera", "a tensor", type(camera).__name__)
        return
    shape = tuple(camera.shape)
    if shape != request["shape"]:
        fields = {"camera": shape, "hidden": request["shape"]}
        yield Violation(CAMERA_SHAPE, "camera", str(request["shape"]), str(shape), fields)
        return
    if str(camera.dtype) != request["dtype"]:
        # Where scale and shift are there already, nothing is computed of the embedding.
        accident = None if pair is None else ()
        got = str(camera.dtype)
        yield Violation(CAMERA_DTYPE, "camera", request["dtype"], got, incidental=accident)
    yield from _walk_rows("camera", camera, owner_of, CAMERA_IDENTITY, CAMERA_POSITION)
    if pair is not None:
        yield from _walk_pair(pair, request, owner_of)
    elif request["ready"]:
        yield Violation(PAIR_THERE, "scale_shift", "scale and shift", "nothing")


def _walk_pair(pair: Any, request: Mapping[str, Any], owner_of: OwnerOf | None) -> _Found:
    # A tensor is taken apart along its first dimension, whatever that is.
    if type(pair) is not tuple or len(pair) != 2:
        accident = () if len(pair) == 2 else None
        got = f"{type(pair).__name__} of {len(pair)}"
        yield Violation(PAIR_TWO, "scale_shift", "tuple of 2", got, incidental=accident)
    if len(pair) != 2:
        return
    for name, part in zip(("scale", "shift"), pair, strict=True):
        if not is_tensor(part):
            yield Violation(PAIR_TENSORS, name, "a tensor", type(part).__name__)
            return
        if tuple(part.shape) != request["shape"]:
            accident = () if _spreads(tuple(part.shape), request["shape"]) else None
            wanted, got = str(request["shape"]), str(tuple(part.shape))
            yield Violation(PAIR_SHAPE, name, wanted, got, incidental=accident)
        elif str(part.dtype) != request["dtype"]:
            yield Violation(PAIR_DTYPE, name, request["dtype"], str(part.dtype))
        else:
            yield from _walk_rows(name, part, owner_of, PAIR_IDENTITY, PAIR_POSITION)


def _spreads(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    # As torch repeats: from the last dimension on, a 1 on either side fits all.
    pairs = zip(reversed(shape), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _walk_rows(
    name: str, rows: Any, owner_of: OwnerOf | None, whose: Clause, where: Clause
) -> _Found:
    if owner_of is None:
        reason = "whose rows they are can be told only by a stamp reader"
        yield from (Unchecked(clause, reason) for clause in (whose, where))
        return
    for batch, tokens in enumerate(rows.tolist()):
        origins = owner_of([(name, row) for row in tokens])
        foreign = [o for o in origins if o is None or o.owner != batch]
        if foreign:
            said = "nobody's" if foreign[0] is None else f"{foreign[0].owner}'s"
            yield Violation(whose, f"{name}[{batch}]", f"{batch}'s", said)
        elif any(o is not None and o.position != t for t, o in enumerate(origins)):
            yield Violation(where, f"{name}[{batch}]", "rows in their places", "moved rows")


CONTRACT = Contract(
    "lingbot-cam",
    "A camera's embedding, or the scale and shift made of it before, turn hidden states.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
