"""Honest prompts with runs of placeholders, and for each run the stamped rows that go there.

A prompt is text, then for each item a run of placeholders and text again. The rows of an item say
whose they are and where they stand, and so does the row that a token of text has in the table of
the language model. All numbers of a row are whole and below 256: exact in every float.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from contracts.contract import Origin
from simulators.payload import PLACEHOLDERS, PRECOMPUTED, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

#: Columns of a row.
WIDTH = 8
#: Requests and items of one request, at most, and tokens of one prompt.
MOST_REQUESTS, MOST_ITEMS, MOST_TOKENS = 4, 8, 128
#: Entries of the language model's table: a token of text each, and the last that any id beyond
#: the table is clamped to.
VOCABULARY = MOST_REQUESTS * MOST_TOKENS + 1
#: Tokens of text before, between and after the runs.
_TEXT = 2
_FEWEST_ROWS = 3
#: First placeholder of ours and of another batch: ids beyond the table, as hashes of items are.
_PADS, _FOREIGN_PADS = 1_000_000, 2_000_000
#: What a row is made for, in its first column.
_OF_TEXT, _OF_ITEM, _CLAMPED = 1, 2, 3
#: Added to the number of a request that is not of this batch.
_OTHERS = 100
_SIGNS = 256


class Layout(NamedTuple):
    """What is asked for: so many items, in so many requests, of such sizes and kinds."""

    items: int
    requests: int = 1
    alike: bool = False
    mixed: bool = False
    #: How many rows each item has, in place of those that `alike` says.
    counts: tuple[int, ...] = ()

    def place(self, index: int) -> tuple[int, int]:
        """Return the request of an item, and its index in that."""
        return divmod(index, self.items // self.requests)

    def count(self, index: int) -> int:
        """Return how many rows an item has."""
        if self.counts:
            return self.counts[index]
        return _FEWEST_ROWS + (0 if self.alike else self.place(index)[1])

    def modality(self, index: int) -> str:
        """Return `image`, or `video` for every second item where they are mixed."""
        return "video" if self.mixed and self.place(index)[1] % 2 else "image"


def asked_layout(items: int, requests: int, sizes: str, kinds: str) -> Layout:
    """Return the layout that words ask for.

    Args:
        items: How many items.
        requests: How many requests share them.
        sizes: `alike`, `unlike`, or the rows of each item, parted by commas.
        kinds: `images`, or `mixed` with videos.
    """
    counts = () if sizes.isalpha() else tuple(map(int, sizes.split(",")))
    return Layout(items, requests, sizes == "alike", kinds == "mixed", counts)


def sizes_misfit(layout: Layout) -> str:
    """Return why no prompts can be made of a layout; empty if they can."""
    if len(layout.counts) not in (0, layout.items):
        return f"{len(layout.counts)} counts are not {layout.items}"
    each = layout.items // layout.requests
    longest = max(
        _TEXT + sum(layout.count(first + i) + _TEXT for i in range(each))
        for first in range(0, layout.items, each)
    )
    return "" if longest <= MOST_TOKENS else f"a prompt has at most {MOST_TOKENS} tokens"


def text_id(request: int, position: int) -> int:
    """Return the id of the token of text at a position of a request's prompt."""
    return request * MOST_TOKENS + position


def honest_placeholders(layout: Layout) -> Payload:
    """Return the items, those of another batch at the same places, and the prompts beside them.

    A record has `request`, `modality`, `pad` (the id of its placeholders), `offsets` (pairs of
    the first and the last position) and `rows`, float32 of (count, WIDTH).
    """
    ours: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    prompts: list[list[int]] = [[] for _ in range(layout.requests)]
    for index in range(layout.items):
        request, item = layout.place(index)
        prompt = prompts[request]
        _write_text(prompt, request)
        first, count = len(prompt), layout.count(index)
        prompt += [_PADS + index] * count
        record = {
            "request": request,
            "modality": layout.modality(index),
            "offsets": [(first, first + count - 1)],
        }
        ours.append({**record, "pad": _PADS + index, "rows": item_rows(request, item, count)})
        theirs = item_rows(request + _OTHERS, item, count)
        others.append({**record, "pad": _FOREIGN_PADS + index, "rows": theirs})
    for request, prompt in enumerate(prompts):
        _write_text(prompt, request)
    told = {"prompts": tuple(map(tuple, prompts)), "layout": layout}
    return Payload(PLACEHOLDERS, tuple(ours), tuple(others), told)


def honest_precomputed(layout: Layout) -> Payload:
    """Return the items of one request, and beside them the rows that the encoder sent.

    `received` has a pair of a modality and its rows, (count, WIDTH), for each modality.
    """
    honest = honest_placeholders(layout)
    received = received_rows(honest.records)
    beside = {"received": received, "prompt": honest.beside["prompts"][0], "layout": layout}
    return Payload(PRECOMPUTED, honest.records, honest.foreign, beside)


def received_rows(items: "tuple[dict[str, Any], ...]") -> "tuple[tuple[str, torch.Tensor], ...]":
    """Return the rows of all items, one after the other, for each modality."""
    import torch

    modalities = dict.fromkeys(item["modality"] for item in items)
    return tuple(
        (one, torch.cat([item["rows"] for item in items if item["modality"] == one]))
        for one in modalities
    )


def _write_text(prompt: list[int], request: int) -> None:
    start = len(prompt)
    prompt += [text_id(request, position) for position in range(start, start + _TEXT)]


def item_rows(request: int, item: int, count: int) -> "torch.Tensor":
    """Return the stamped rows of an item, float32 of (count, WIDTH)."""
    import torch

    return torch.tensor([_stamp(_OF_ITEM, request, item, place) for place in range(count)])


@lru_cache(maxsize=1)
def text_table() -> "torch.Tensor":
    """Return the row of every token of text, float32 of (VOCABULARY, WIDTH)."""
    import torch

    told = (divmod(token, MOST_TOKENS) for token in range(VOCABULARY - 1))
    rows = [_stamp(_OF_TEXT, request, 0, position) for request, position in told]
    return torch.tensor([*rows, _stamp(_CLAMPED, 0, 0, 0)])


def _stamp(kind: int, request: int, item: int, position: int) -> list[float]:
    sign = mix(kind * _SIGNS + request, item, position) % _SIGNS
    head = [kind, request, item, position, sign]
    return [float(number) for number in head + [0] * (WIDTH - len(head))]


def owner_name(request: int, item: int | None) -> str:
    """Return what the rows of an item, or of the text where there is none, are called."""
    whose = f"request {request}"
    if request >= _OTHERS:
        whose = f"another batch's request {request - _OTHERS}"
    return f"{whose}'s text" if item is None else f"{whose}'s item {item}"


#: Owner of the row that a placeholder has where nothing was put in its place.
UNFILLED = "a placeholder without a row"


class PlaceholderReader:
    """Reads whose row a row is."""

    def __call__(self, rows: Any) -> list[Origin | None]:
        """Return the origin of each row; None for one that carries no known stamp."""
        return [self._origin([float(number) for number in row]) for row in rows]

    def _origin(self, row: list[float]) -> Origin | None:
        if len(row) != WIDTH or not all(number.is_integer() for number in row):
            return None
        kind, request, item, position, *_ = (int(number) for number in row)
        if min(request, item, position) < 0 or row != _stamp(kind, request, item, position):
            return None
        if kind == _CLAMPED:
            return Origin(UNFILLED, 0)
        if kind not in (_OF_TEXT, _OF_ITEM):
            return None
        return Origin(owner_name(request, item if kind == _OF_ITEM else None), position)
