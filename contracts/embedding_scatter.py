"""embedding-scatter: the language side puts the encoder's rows where the prompt has placeholders.

- An item's rows are a tensor, and its offsets a list of pairs: first and last position of a run.
- The rows are as wide as the language model's, and all items' have the same form.
- There is a row for each position of the offsets: of an item, of a request, of the batch.
- The prompt has placeholders exactly where the offsets say, and every run of them has its item.
- Items come in the prompt's order, and the rows of each are its own, in their order.

The payload holds `items`, each with `request`, `modality`, `pad` (the id of its placeholders),
`offsets` and `rows`, and `prompts`, a list of ids for each request. The request says `width`,
`vocabulary` (ids from there on are no text: an item's hash), `windows` (for each request the first
position that is computed now, and the one behind the last) and `owners` (whose rows the items are,
in their order).

What is counted, and against what, changed twice. Until 0.5.18 the placeholders in the prompt are
counted, from then on the positions of the offsets. Until 0.5.22 a request's offsets take rows of
all its items together, from then on each item's of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.placeholder_runs import are_offsets, taken, within
from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_TEXT = (
    "Insufficient multimodal embedding length: num_mm_tokens_in_input_ids={wanted} vs "
    "num_mm_tokens_in_embedding={got}. This is an internal error"
)
_SINCE_MOVED = Source("0.5.23", "srt/managers/mm_schedule.py", "_adjust_embedding_length")
_BEFORE_MOVED = Source("0.5.17", "srt/managers/mm_utils.py", "_adjust_embedding_length")


def _too_few(span: Span, source: Source) -> tuple[Guard, ...]:
    return (Guard("RuntimeError", _TEXT, span, source),)


OFFSETS_PAIRS = Clause(
    "offsets-pairs", "An item's offsets are a list of pairs of ints.", incidental=("TypeError",)
)
ROWS_TENSOR = Clause(
    "rows-tensor", "An item's rows are a tensor.", incidental=("TypeError", "AttributeError")
)
FORMS_ALIKE = Clause(
    "forms-alike",
    "The rows of one request's items have one form, but for their number.",
    incidental=("RuntimeError",),
    accidents=Span(until="0.5.22"),
)
WIDTHS_ALIKE = Clause(
    "widths-alike", "The rows of all items are equally wide.", incidental=("RuntimeError",)
)
ROWS_MATRIX = Clause("rows-matrix", "An item's rows are two-dimensional.")
PLACEHOLDER_ROWS = Clause(
    "placeholder-rows",
    "There is a row for each placeholder in the prompts.",
    guards=_too_few(Span(until="0.5.18"), _BEFORE_MOVED),
)
REQUEST_ROWS = Clause(
    "request-rows",
    "A request has a row for each position of its offsets.",
    guards=_too_few(Span("0.5.18", "0.5.22"), _SINCE_MOVED),
)
ITEM_ROWS = Clause(
    "item-rows",
    "An item has a row for each position of its offsets.",
    guards=_too_few(Span("0.5.22"), _SINCE_MOVED),
)
ROWS_SPARE = Clause("rows-spare", "No item has more rows than positions in its offsets.")
WIDTH_NARROW = Clause(
    "width-narrow",
    "A row is not narrower than the language model's.",
    incidental=("RuntimeError", "IndexError"),
)
WIDTH_WIDE = Clause(
    "width-wide",
    "A row is not wider than the language model's.",
    incidental=("RuntimeError", "IndexError"),
    # Until then the numbers of all rows were dealt out one by one.
    accidents=Span("0.5.19"),
)
PLACEHOLDERS_FEWER = Clause(
    "placeholders-fewer",
    "The prompts have a placeholder for each position of the offsets.",
    incidental=("IndexError",),
    accidents=Span("0.5.19"),
)
PLACEHOLDERS_MORE = Clause(
    "placeholders-more",
    "The prompts have no more placeholders than the offsets have positions.",
    incidental=("RuntimeError",),
    accidents=Span("0.5.18", "0.5.19"),
)
PLACEHOLDERS_TWO_MORE = Clause(
    "placeholders-two-more",
    "The prompts have at most one placeholder more than the offsets have positions.",
    incidental=("RuntimeError",),
    # One more falls into the slot for what is discarded, and is left as it was.
    accidents=Span("0.5.19"),
)
PLACEHOLDERS_PLACE = Clause(
    "placeholders-place", "An item's placeholders stand where its offsets say."
)
RUN_ITEM = Clause("run-item", "Every placeholder is of an item that is there.")
ITEMS_ORDER = Clause("items-order", "The items of a request come in the prompt's order.")
ROW_DTYPE = Clause("row-dtype", "The rows are floats of 32 bits.")
ROW_IDENTITY = Clause("row-identity", "The rows of an item are its own, in order.", identity=True)

_CLAUSES = (
    OFFSETS_PAIRS,
    ROWS_TENSOR,
    FORMS_ALIKE,
    WIDTHS_ALIKE,
    ROWS_MATRIX,
    PLACEHOLDER_ROWS,
    REQUEST_ROWS,
    ITEM_ROWS,
    ROWS_SPARE,
    WIDTH_NARROW,
    WIDTH_WIDE,
    PLACEHOLDERS_FEWER,
    PLACEHOLDERS_MORE,
    PLACEHOLDERS_TWO_MORE,
    PLACEHOLDERS_PLACE,
    RUN_ITEM,
    ITEMS_ORDER,
    ROW_DTYPE,
    ROW_IDENTITY,
)
_Items = Sequence[Mapping[str, Any]]
_Found = Iterator[Violation | Unchecked]
#: Upstream takes one modality after the other.
_MODALITIES = ("image", "video", "audio")


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    items, prompts, windows = payload["items"], payload["prompts"], request["windows"]
    grouped = [[item for item in items if item["modality"] == one] for one in _MODALITIES]
    unreadable = list(_walk_kinds(items))
    yield from unreadable
    if unreadable:
        yield from (Unchecked(clause, "there are no rows to count") for clause in _CLAUSES[2:])
        return
    for group in grouped:
        yield from _walk_forms(group)
        yield from _walk_counts(group, prompts, windows)
    for group in grouped:
        yield from _walk_scatter(group, prompts, windows, request["width"])
    yield from _walk_places(items, prompts, request["vocabulary"])
    yield from _walk_order(items)
    yield from _walk_owners(items, request["owners"], owner_of)


def _walk_kinds(items: _Items) -> Iterator[Violation]:
    for index, item in enumerate(items):
        if not are_offsets(item["offsets"]):
            got = repr(item["offsets"])
            yield Violation(OFFSETS_PAIRS, f"items[{index}].offsets", "a list of pairs", got)
    for index, item in enumerate(items):
        if not is_tensor(item["rows"]):
            got = type(item["rows"]).__name__
            yield Violation(ROWS_TENSOR, f"items[{index}].rows", "a tensor", got)


def _walk_forms(items: _Items) -> Iterator[Violation]:
    for asked in sorted({item["request"] for item in items}):
        forms = {tuple(i["rows"].shape[1:]) for i in items if i["request"] == asked}
        if len(forms) > 1:
            yield Violation(FORMS_ALIKE, f"request {asked}", "one form", _listed(forms))
    widths = {item["rows"].shape[-1] for item in items}
    if len(widths) > 1:
        yield Violation(WIDTHS_ALIKE, "rows", "one width", _listed(widths))
    for item in items:
        if item["rows"].dim() != 2:
            got = f"{item['rows'].dim()}"
            yield Violation(ROWS_MATRIX, f"rows of {item['pad']}", "2 dimensions", got)


def _listed(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values)))


def _walk_counts(
    items: _Items, prompts: Sequence[Sequence[int]], windows: Sequence[Any]
) -> Iterator[Violation]:
    marked = _marked(items, prompts, windows)
    wanted = sum(within(item["offsets"], windows[item["request"]]) for item in items)
    of_items = sum(taken(_count(item), item["offsets"], windows[item["request"]]) for item in items)
    of_requests = _taken_together(items, windows)
    counted = (
        (PLACEHOLDER_ROWS, marked, of_requests),
        (REQUEST_ROWS, wanted, of_requests),
        (ITEM_ROWS, wanted, of_items),
    )
    for clause, positions, rows in counted:
        if rows < positions:
            fields = {"wanted": positions, "got": rows}
            yield Violation(clause, "rows", f"{positions} rows", str(rows), fields)
    for item in items:
        places = sum(last - first + 1 for first, last in item["offsets"])
        if _count(item) > places:
            where = f"rows of {item['pad']}"
            yield Violation(ROWS_SPARE, where, f"{places} rows", str(_count(item)))


def _count(item: Mapping[str, Any]) -> int:
    rows = item["rows"]
    return int(rows.numel() // rows.shape[-1]) if rows.shape[-1] else 0


def _taken_together(items: _Items, windows: Sequence[Any]) -> int:
    sums = 0
    for asked in {item["request"] for item in items}:
        own = [item for item in items if item["request"] == asked]
        offsets = [offset for item in own for offset in item["offsets"]]
        sums += taken(sum(map(_count, own)), offsets, windows[asked])
    return sums


def _marked(items: _Items, prompts: Sequence[Sequence[int]], windows: Sequence[Any]) -> int:
    pads = {item["pad"] for item in items}
    parts = (prompt[start:end] for prompt, (start, end) in zip(prompts, windows, strict=True))
    return sum(token in pads for part in parts for token in part)


def _walk_scatter(
    items: _Items, prompts: Sequence[Sequence[int]], windows: Sequence[Any], width: int
) -> Iterator[Violation]:
    if not items:
        return
    got = items[0]["rows"].shape[-1]
    if got != width:
        clause = WIDTH_NARROW if got < width else WIDTH_WIDE
        yield Violation(clause, "rows", f"{width} columns", str(got))
    marked = _marked(items, prompts, windows)
    rows = sum(within(item["offsets"], windows[item["request"]]) for item in items)
    rows = rows or _taken_together(items, windows)
    said = (f"{rows} placeholders", str(marked))
    if marked < rows:
        yield Violation(PLACEHOLDERS_FEWER, "prompts", *said)
    if marked > rows:
        yield Violation(PLACEHOLDERS_MORE, "prompts", *said)
    if marked > rows + 1:
        yield Violation(PLACEHOLDERS_TWO_MORE, "prompts", *said)


def _walk_places(
    items: _Items, prompts: Sequence[Sequence[int]], vocabulary: int
) -> Iterator[Violation]:
    for item in items:
        prompt, pad = prompts[item["request"]], item["pad"]
        stands = [place for place, token in enumerate(prompt) if token == pad]
        told = [p for first, last in item["offsets"] for p in range(first, last + 1)]
        if stands != told:
            yield Violation(PLACEHOLDERS_PLACE, f"placeholders {pad}", f"{told}", f"{stands}")
    pads = {item["pad"] for item in items}
    for asked, prompt in enumerate(prompts):
        lost = [token for token in prompt if token >= vocabulary and token not in pads]
        if lost:
            where, got = f"prompts[{asked}]", f"none of {lost[0]}"
            yield Violation(RUN_ITEM, where, "the item of each placeholder", got)


def _walk_order(items: _Items) -> Iterator[Violation]:
    for asked in sorted({item["request"] for item in items}):
        firsts = [i["offsets"][0][0] for i in items if i["request"] == asked and i["offsets"]]
        if firsts != sorted(set(firsts)):
            yield Violation(ITEMS_ORDER, f"request {asked}", "in order", f"{firsts}")


def _walk_owners(items: _Items, owners: Sequence[str], owner_of: OwnerOf | None) -> _Found:
    for item in items:
        if str(item["rows"].dtype) != "torch.float32":
            got = str(item["rows"].dtype)
            yield Violation(ROW_DTYPE, f"rows of {item['pad']}", "torch.float32", got)
    if owner_of is None or any(item["rows"].dim() != 2 for item in items):
        reason = "whose rows they are can be told only by a stamp reader, and of rows"
        yield Unchecked(ROW_IDENTITY, reason)
        return
    for item, owner in zip(items, owners, strict=False):
        origins = owner_of(item["rows"].tolist())
        for position, origin in enumerate(origins):
            if origin is None or origin != (owner, position):
                said = "no known stamp" if origin is None else f"{origin.owner}'s {origin.position}"
                where = f"rows of {item['pad']}"
                yield Violation(ROW_IDENTITY, where, f"{owner}'s {position}", said)
                break


CONTRACT = Contract(
    "embedding-scatter",
    "The language side puts the encoder's rows where the prompt has placeholders.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
