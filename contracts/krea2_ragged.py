"""krea2-ragged: text masks and a size become the positions and the mask of one joint sequence.

- There is a text mask: a tensor of booleans, (prompts, tokens), true where a token is text.
- Where the sequence is sharded, no prompt is padded.
- Row i is prompt i's.
- Height and width are ints, positive, and the picture's.

The payload holds `mask` and `size` (height and width). The request says `prompts`, `tokens` (that
every text is padded to), `size` and `world` (how many ranks share the sequence).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import EVER, Span
from contracts.source import Source

SIZE_NUMBERS = Clause(
    "size-numbers", "Height and width are ints.", incidental=("TypeError", "ValueError")
)
SIZE_POSITIVE = Clause(
    "size-positive", "Height and width are positive.", incidental=("RuntimeError",)
)
SIZE_ASKED = Clause("size-asked", "Height and width are the picture's.")
MASK_THERE = Clause("mask-there", "There is a text mask.")
MASK_TENSOR = Clause("mask-tensor", "The mask is a tensor.", incidental=("AttributeError",))
SHARDED_WHOLE = Clause(
    "sharded-whole",
    "Where the sequence is sharded, no prompt is padded.",
    guards=(
        Guard(
            "ValueError",
            "Krea-2 sequence parallelism does not support ragged/padded "
            "multi-prompt batches; use a single prompt or --tp-size.",
            EVER,
            Source(
                "0.5.23",
                "multimodal_gen/configs/pipeline_configs/krea2.py",
                "Krea2PipelineConfig._build_pos_and_mask",
            ),
        ),
    ),
)
MASK_SHAPE = Clause(
    "mask-shape",
    "A mask with padding has a row for each prompt and a column for each token.",
    incidental=("RuntimeError", "IndexError"),
)
WHOLE_MASK_SHAPE = Clause(
    "whole-mask-shape",
    "A mask without padding has a row for each prompt and a column for each token.",
    incidental=("RuntimeError", "IndexError"),
    # From then on a mask without padding is left out before its shape matters.
    accidents=Span(until="0.5.23"),
)
MASK_BOOLEAN = Clause("mask-boolean", "The mask is made of booleans.")
MASK_IDENTITY = Clause("mask-identity", "Row i of the mask is prompt i's.", identity=True)

_CLAUSES = (
    SIZE_NUMBERS,
    SIZE_POSITIVE,
    SIZE_ASKED,
    MASK_THERE,
    MASK_TENSOR,
    SHARDED_WHOLE,
    MASK_SHAPE,
    WHOLE_MASK_SHAPE,
    MASK_BOOLEAN,
    MASK_IDENTITY,
)
_OF_MASK = _CLAUSES[4:]
_Found = Iterator[Violation | Unchecked]


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    yield from _walk_size(payload["size"], request["size"])
    mask = payload["mask"]
    if mask is None:
        yield Violation(MASK_THERE, "mask", "a mask", "nothing")
        yield from (Unchecked(clause, "there is no mask") for clause in _OF_MASK)
    elif not is_tensor(mask):
        yield Violation(MASK_TENSOR, "mask", "a tensor", type(mask).__name__)
        yield from (Unchecked(clause, "the mask is no tensor") for clause in _OF_MASK[1:])
    else:
        yield from _walk_mask(mask, request, owner_of)


def _walk_size(size: tuple[Any, Any], asked: tuple[int, int]) -> Iterator[Violation]:
    got = "{!r} x {!r}".format(*size)
    if any(type(side) is not int for side in size):
        accident = () if all(map(_countable, size)) else None
        yield Violation(SIZE_NUMBERS, "size", "ints", got, incidental=accident)
        return
    if min(size) <= 0:
        accident = None if min(size) < 0 else ()
        yield Violation(SIZE_POSITIVE, "size", "positive sides", got, incidental=accident)
    if size != asked:
        yield Violation(SIZE_ASKED, "size", "{} x {}".format(*asked), got)


def _countable(side: Any) -> bool:
    return isinstance(side, int | float) or (isinstance(side, str) and side.isdecimal())


def _walk_mask(mask: Any, request: Mapping[str, Any], owner_of: OwnerOf | None) -> _Found:
    shape, got = (request["prompts"], request["tokens"]), tuple(mask.shape)
    padded, sharded = not bool(mask.all()), request["world"] > 1
    if padded and sharded:
        yield Violation(SHARDED_WHOLE, "mask", "no padding", "a padded prompt")
    if got != shape:
        # Sharded, the mask is only asked whether it is true. Else a row is joined to each prompt.
        joins = len(got) == 2 and got[0] == request["prompts"]
        clause = MASK_SHAPE if padded else WHOLE_MASK_SHAPE
        accident = () if sharded or joins else None
        yield Violation(clause, "mask", str(shape), str(got), incidental=accident)
    boolean = str(mask.dtype) == "torch.bool"
    if not boolean:
        yield Violation(MASK_BOOLEAN, "mask", "torch.bool", str(mask.dtype))
    if owner_of is None or got != shape or not boolean:
        reason = "whose a mask is can be told only by a stamp reader, and of booleans in place"
        yield Unchecked(MASK_IDENTITY, reason)
        return
    for index, row in enumerate(mask.tolist()):
        origins = owner_of(row)
        foreign = [o for o in origins if o is None or o.owner not in (index, "every prompt")]
        if foreign:
            said = "nobody's" if foreign[0] is None else f"{foreign[0].owner}'s"
            yield Violation(MASK_IDENTITY, f"mask[{index}]", f"prompt {index}'s", said)


CONTRACT = Contract(
    "krea2-ragged",
    "Text masks and a size become the positions and the mask of one joint sequence.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
