"""What must hold for one item of an AR server's reply.

In words, and in the order in which the stage meets them:

- an item is a JSON object;
- its `output_ids` are a list that holds the preview grids and the whole large grid;
- the ids of the large grid are integers of the image codebook;
- there are exactly as many ids as were asked for;
- the item was finished, not aborted;
- its tokens are the asked prompt's, each in its place;
- its usage numbers are numbers, are there, and agree with the ids.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.clauses.prior_tokens import CODEBOOK_SIZE, PriorShape, prior_shape
from contracts.contract import Clause, Guard, Origin, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

STAGE_FILE = "multimodal_gen/runtime/pipelines_core/stages/model_specific_stages/glm_image.py"

ITEM_OBJECT = Clause(
    "item-object",
    "An item is a JSON object.",
    incidental=("AttributeError",),
)
IDS_ENOUGH = Clause(
    "ids-enough",
    "`output_ids` holds the preview grids and the whole large grid.",
    guards=(
        Guard(
            "RuntimeError",
            "GLM-Image AR returned too few output_ids: got {got}, need at least {need} "
            "(large_image_offset={offset}, token_h={height}, token_w={width}).",
            Span("0.5.16"),
            Source("0.5.23", STAGE_FILE, "GlmImageAR._extract_prior_token_ids"),
        ),
    ),
)
IDS_LIST = Clause(
    "ids-list",
    "`output_ids` is a list.",
    incidental=("TypeError",),
)
IDS_INTEGERS = Clause("ids-integers", "Every id of the large grid is an integer.")
IDS_CODEBOOK = Clause(
    "ids-codebook",
    f"Every id of the large grid is in the image codebook, 0 to {CODEBOOK_SIZE - 1}.",
)
IDS_EXACT = Clause("ids-exact", "There are exactly `max_new_tokens` ids.")
ITEM_FINISHED = Clause("item-finished", "The item was finished, not aborted.")
ITEM_IDENTITY = Clause("item-identity", "Item i answers prompt i.", identity=True)
TOKEN_POSITION = Clause(
    "token-position", "Every id of the large grid stands at its own position.", identity=True
)
USAGE_NUMBERS = Clause(
    "usage-numbers",
    "The usage numbers in `meta_info` are numbers.",
    incidental=("ValueError", "TypeError"),
    accidents=Span("0.5.18"),
)
USAGE_COUNTS = Clause(
    "usage-counts", "`meta_info` counts the prompt's tokens and the ids of this item."
)

ITEM_CLAUSES = (
    ITEM_OBJECT,
    IDS_ENOUGH,
    IDS_LIST,
    IDS_INTEGERS,
    IDS_CODEBOOK,
    IDS_EXACT,
    ITEM_FINISHED,
    ITEM_IDENTITY,
    TOKEN_POSITION,
    USAGE_NUMBERS,
    USAGE_COUNTS,
)

_USAGE_KEYS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@dataclass(frozen=True)
class AskedItem:
    """What was asked of one item."""

    index: int
    prompt_tokens: int
    max_new_tokens: int
    shape: PriorShape


def walk_item(
    item: Any,
    asked: AskedItem,
    where: str,
    owner_of: OwnerOf | None,
    usage_first: bool = False,
) -> Iterator[Violation | Unchecked]:
    """Yield what one item breaks, in the order in which the stage meets it.

    Args:
        item: The item.
        asked: What was asked of it.
        where: Its place in the payload.
        owner_of: Reads its stamps.
        usage_first: Whether the stage reads the usage before the ids: it does for a single item.
    """
    if not isinstance(item, dict):
        yield Violation(ITEM_OBJECT, where, "an object", _name(item))
        yield from (Unchecked(c, "the item is no object") for c in ITEM_CLAUSES[1:])
        return
    ids, meta = item.get("output_ids"), item.get("meta_info")
    of_ids = _walk_ids(ids, asked, f"{where}.output_ids", owner_of)
    of_usage = _walk_usage(meta, ids, asked, f"{where}.meta_info")
    first, then = (of_usage, of_ids) if usage_first else (of_ids, of_usage)
    yield from first
    yield from _walk_finish(meta, where)
    yield from then


def _walk_ids(
    ids: Any, asked: AskedItem, where: str, owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    shape = asked.shape
    behind = (IDS_INTEGERS, IDS_CODEBOOK, IDS_EXACT, ITEM_IDENTITY, TOKEN_POSITION)
    if ids is not None and not isinstance(ids, list | dict | str):
        yield Violation(IDS_LIST, where, "a list", _name(ids))
        yield from (Unchecked(c, "the ids are no list") for c in (IDS_ENOUGH, *behind))
        return
    count = 0 if ids is None else len(ids)
    if count < shape.needed:
        fields = {
            "got": count,
            "need": shape.needed,
            "offset": shape.offset,
            "height": shape.height,
            "width": shape.width,
        }
        yield Violation(IDS_ENOUGH, where, f"at least {shape.needed} ids", str(count), fields)
    if not isinstance(ids, list):
        if ids is not None:
            # A dict cannot be sliced: TypeError before Python 3.12, KeyError from then on.
            accident = ("TypeError", "KeyError") if isinstance(ids, dict) else ("TypeError",)
            yield Violation(IDS_LIST, where, "a list", _name(ids), incidental=accident)
        yield from (Unchecked(c, "the ids are no list") for c in behind)
        return
    yield from _walk_values(ids[shape.offset : shape.needed], where, shape.offset)
    if count != asked.max_new_tokens:
        yield Violation(IDS_EXACT, where, f"{asked.max_new_tokens} ids", str(count))
    if owner_of is None:
        reason = "whose tokens they are can be told only by a stamp reader"
        yield from (Unchecked(c, reason) for c in (ITEM_IDENTITY, TOKEN_POSITION))
        return
    origins = owner_of(ids)[shape.offset : shape.needed]
    wanted = range(shape.offset, shape.offset + len(origins))
    yield from walk_origins(origins, asked.index, wanted, where, (ITEM_IDENTITY, TOKEN_POSITION))


def _walk_values(ids: list[Any], where: str, offset: int) -> Iterator[Violation]:
    wrong = next((i for i, x in enumerate(ids) if type(x) is not int), None)
    if wrong is not None:
        at = f"{where}[{offset + wrong}]"
        yield Violation(
            IDS_INTEGERS, at, "an integer", _name(ids[wrong]), incidental=_accident_of_kinds(ids)
        )
    numbers = ((i, x) for i, x in enumerate(ids) if isinstance(x, int | float))
    outside = next(((i, x) for i, x in numbers if not 0 <= x < CODEBOOK_SIZE), None)
    if outside is not None:
        at = f"{where}[{offset + outside[0]}]"
        # A tensor holds 64 bits; what its maker raises differs between releases of torch.
        wide = any(isinstance(x, int) and not -(2**63) <= x < 2**63 for x in ids)
        accident = ("ValueError", "RuntimeError", "OverflowError") if wide else ()
        said = str(outside[1])
        yield Violation(IDS_CODEBOOK, at, f"0 to {CODEBOOK_SIZE - 1}", said, incidental=accident)


def _accident_of_kinds(ids: list[Any]) -> tuple[str, ...]:
    # Numbers of any kind make a tensor, and so do numbers each in a list of its own.
    if all(isinstance(x, int | float) for x in ids):
        return ()
    lists = [x for x in ids if isinstance(x, list) and len(x) == 1]
    if len(lists) == len(ids) and all(isinstance(x[0], int | float) for x in lists):
        return ()
    return ("ValueError", "RuntimeError", "TypeError")


def walk_origins(
    origins: list[Origin | None],
    owner: int,
    positions: range,
    where: str,
    clauses: tuple[Clause, Clause],
) -> Iterator[Violation]:
    """Yield the first token of another owner, and the first one out of its place.

    Args:
        origins: What the stamps say, token by token.
        owner: The owner that each token should have.
        positions: The position that each token should have; as long as `origins`.
        where: Place of the tokens in the payload.
        clauses: The clause about the owner and the clause about the position.
    """
    by_owner, by_position = clauses
    foreign = [origin for origin in origins if origin is None or origin.owner != owner]
    if foreign:
        said = "no known stamp" if foreign[0] is None else f"those of {foreign[0].owner}"
        yield Violation(by_owner, where, f"the tokens of {owner}", said)
    pairs = zip(origins, positions, strict=True)
    shifted = next(((o, p) for o, p in pairs if o is not None and o.position != p), None)
    if shifted is not None:
        origin, position = shifted
        yield Violation(by_position, where, f"position {position}", f"position {origin.position}")


def _walk_finish(meta: Any, where: str) -> Iterator[Violation]:
    reason = meta.get("finish_reason") if isinstance(meta, dict) else None
    if isinstance(reason, dict) and reason.get("type") in ("abort", "error"):
        at = f"{where}.meta_info.finish_reason"
        yield Violation(ITEM_FINISHED, at, "length or stop", str(reason["type"]))


def _walk_usage(meta: Any, ids: Any, asked: AskedItem, where: str) -> Iterator[Violation]:
    if not isinstance(meta, dict):
        yield Violation(USAGE_COUNTS, where, "an object", _name(meta))
        return
    for key in _USAGE_KEYS:
        value = meta.get(key)
        if value and _count(value) is None:
            accident = ("ValueError",) if isinstance(value, str | float) else ("TypeError",)
            at = f"{where}.{key}"
            yield Violation(USAGE_NUMBERS, at, "a number", repr(value), incidental=accident)
            return
    wanted = {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": len(ids) if isinstance(ids, list) else 0,
    }
    for key, count in wanted.items():
        value = meta.get(key)
        if _count(value) != count:
            yield Violation(USAGE_COUNTS, f"{where}.{key}", str(count), str(value))
            return


def _count(value: Any) -> int | None:
    # What Python's int() takes is a number to the stage, which reads the usage with it.
    if not isinstance(value, str | int | float):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def _name(value: Any) -> str:
    return type(value).__name__


def asked_item(request: Mapping[str, Any]) -> AskedItem:
    """Return what a request for one item asked.

    Args:
        request: The JSON body of a single `/generate` request as the stage sends it:
            `input_ids` (a list), `image_data` (`[{"image_grid_thw": grids}]`) and
            `sampling_params` (an object).
    """
    return _asked(0, request["input_ids"], request["image_data"], request["sampling_params"])


def walk_single(
    reply: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    """Yield what the reply to a single request breaks: it is one item, and its usage is read first.

    Args:
        reply: The parsed JSON body of the reply.
        request: The JSON body of the request, as `asked_item` takes it.
        owner_of: Reads the item's stamps.
    """
    return walk_item(reply, asked_item(request), "$", owner_of, usage_first=True)


def asked_items(request: Mapping[str, Any]) -> list[AskedItem]:
    """Return what a batch request asked of each item.

    Args:
        request: The JSON body of a batch `/generate` request as the stage sends it: lists of
            what a single request holds.
    """
    rows = zip(request["input_ids"], request["image_data"], request["sampling_params"], strict=True)
    return [_asked(index, *row) for index, row in enumerate(rows)]


def _asked(
    index: int, prompt: list[int], images: list[Any], params: Mapping[str, Any]
) -> AskedItem:
    shape = prior_shape(images[0]["image_grid_thw"])
    return AskedItem(index, len(prompt), params["max_new_tokens"], shape)
