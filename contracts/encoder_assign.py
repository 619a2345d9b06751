"""encoder-assign: the media of a request are shared out among encoders, in parts.

- There are as many hashes as images, and hash k is that of image k.
- The counts are told by modality, one list for each modality of the request.
- No item is assigned to an encoder that there is not.
- A count is an int, and not negative; together they are the number of items.
- Each part that is asked for has items. By gRPC the images' counts stand first.
- Each item reaches exactly one encoder, and the parts follow each other in its order.

The payload holds the `mode` (`http` or `grpc`), `counts` (by modality, or a list, or None: the
receiver makes its own), `keys` (`enum` or `text`), `urls` of the encoders, `items` (their URLs)
and `hashes`, those of the images or None. What was asked for says `modalities` (that of each
item), `hashes` and `entry`: `encode` is told the counts, `request` makes them itself from a
request of the client's.

By gRPC no request of a client's gets out, up to 0.5.23, honest or not: the thread that sends it
hands `time_stats_json` to a receiver that does not take it. Up to 0.5.19 the error is only logged.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from contracts.contract import RETURNED, Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_FINDER = "MMReceiverBase._extract_url_data"
_NEW = Source("0.5.23", "srt/disaggregation/encoder/receiver.py", _FINDER)
_OLD = Source("0.5.18", "srt/disaggregation/encode_receiver.py", _FINDER)
_HASHES = "mm_content_hashes has {got} entries for {images} images"

HASHES_EACH = Clause(
    "hashes-each",
    "There are as many hashes as images.",
    guards=(
        Guard("ValueError", _HASHES, Span("0.5.19"), _NEW),
        Guard("ValueError", _HASHES, Span("0.5.18", "0.5.19"), _OLD),
    ),
)
HASH_IDENTITY = Clause("hash-identity", "Hash k is that of image k.")
HANDED_TAKEN = Clause(
    "handed-taken",
    "The receiver takes what the thread that sends a request hands to it.",
    incidental=(RETURNED,),
    # Before, the error was only logged.
    accidents=Span("0.5.20"),
)
ENCODERS_THERE = Clause(
    "encoders-there",
    "There are encoders to share the items among.",
    incidental=("ZeroDivisionError",),
)
COUNTS_BY_MODALITY = Clause(
    "counts-by-modality", "The counts are told by modality.", incidental=("AttributeError",)
)
MODALITY_EACH = Clause("modality-each", "Each modality of the request has its counts.")
ENTRY_ENCODER = Clause(
    "entry-encoder",
    "No item is assigned to an encoder that there is not.",
    incidental=("IndexError",),
)
COUNT_WHOLE = Clause("count-whole", "A count is an int.", incidental=("TypeError",))
COUNT_NATURAL = Clause("count-natural", "A count is not negative.")
PARTS_SOME = Clause(
    "parts-some",
    "Some part is asked for.",
    incidental=("AttributeError",),
    # It went on to a buffer that this backend does not have.
    accidents=Span(until="0.5.19"),
)
COUNT_SUM = Clause("count-sum", "The counts are together the number of items.")
PART_FILLED = Clause("part-filled", "Each part that is asked for has items.")
IMAGES_FIRST = Clause("images-first", "By gRPC the counts of images stand first.")
ITEM_IDENTITY = Clause(
    "item-identity",
    "Each item reaches exactly one encoder, and the parts follow each other in its order.",
    identity=True,
)

_CLAUSES = (
    HASHES_EACH, ENCODERS_THERE, HANDED_TAKEN, COUNTS_BY_MODALITY, MODALITY_EACH, ENTRY_ENCODER,
    COUNT_WHOLE, COUNT_NATURAL, PARTS_SOME, COUNT_SUM, PART_FILLED, IMAGES_FIRST, ITEM_IDENTITY,
    HASH_IDENTITY,
)  # fmt: skip

_Found = Iterator[Violation | Unchecked]


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> _Found:
    if request["entry"] == "request":
        yield from _walk_hashes(payload["hashes"], request["hashes"])
        if not payload["urls"]:
            # The receiver makes no parts, and the request goes on without encoders.
            yield Violation(ENCODERS_THERE, "urls", "an encoder", "none", incidental=())
        elif payload["mode"] == "grpc":
            said = "the receiver does not take `time_stats_json`"
            yield Violation(HANDED_TAKEN, "mode", "http", said)
        yield Unchecked(ITEM_IDENTITY, "the receiver assigns the items itself")
        return
    counts, urls = payload["counts"], payload["urls"]
    if counts is None:
        if not urls and payload["mode"] == "grpc":
            yield Violation(ENCODERS_THERE, "urls", "an encoder", "none", incidental=())
            yield Violation(PARTS_SOME, "counts", "a part", "none")
        elif not urls:
            yield Violation(ENCODERS_THERE, "urls", "an encoder", "none")
        yield Unchecked(ITEM_IDENTITY, "the receiver assigns the items itself")
        return
    if payload["mode"] == "grpc":
        used = yield from _walk_grpc(counts, len(urls), payload["keys"])
    else:
        used = yield from _walk_http(counts, len(urls), payload["keys"], request["modalities"])
    if used is None:
        yield Unchecked(ITEM_IDENTITY, "the counts cannot be read")
        return
    if not any(count != 0 for told in used.values() for count in told):
        yield Violation(PARTS_SOME, "counts", "a part", "none")
    for name, told in used.items():
        own = [place for place, known in enumerate(request["modalities"]) if known == name]
        yield from _walk_items(name, told, own, payload["items"], owner_of)


def _walk_hashes(told: Any, asked: Sequence[str]) -> _Found:
    if told is None:
        return
    if len(told) != len(asked):
        fields = {"got": len(told), "images": len(asked)}
        yield Violation(HASHES_EACH, "hashes", str(len(asked)), str(len(told)), fields)
    for index, (one, own) in enumerate(zip(told, asked, strict=False)):
        # Without one the encoder makes its own.
        if one is not None and one != own:
            yield Violation(HASH_IDENTITY, f"hashes[{index}]", own, str(one))


_Used = dict[str, Sequence[Any]]
#: Yields what is found, and returns the counts that the receiver goes by, if it comes so far.
_Walked = Generator[Violation | Unchecked, None, _Used | None]


def _walk_http(counts: Any, encoders: int, keys: str, modalities: Sequence[str]) -> _Walked:
    if not isinstance(counts, dict):
        yield Violation(COUNTS_BY_MODALITY, "counts", "an object", type(counts).__name__)
        return None
    names = list(dict.fromkeys(modalities))
    lacking = [name for name in names if keys != "enum" or name not in counts]
    for name in lacking:
        accident = ("TypeError",)
        yield Violation(MODALITY_EACH, f"counts[{name}]", "a list", "none", incidental=accident)
    if lacking:
        return None
    used: _Used = {name: counts[name] for name in names}
    for name, told in used.items():
        for index, count in enumerate(told):
            where = f"counts[{name}][{index}]"
            if count != 0 and index >= encoders:
                yield Violation(ENTRY_ENCODER, where, f"below {encoders}", str(index))
            yield from _walk_whole(where, count)
    return used


def _walk_grpc(counts: Any, encoders: int, keys: str) -> _Walked:
    if isinstance(counts, dict):
        if not counts:
            accident = ("IndexError",)
            yield Violation(MODALITY_EACH, "counts", "a list", "none", incidental=accident)
            return None
        first = next(iter(counts))
        if first != "IMAGE":
            yield Violation(IMAGES_FIRST, "counts", "IMAGE", first)
        elif keys != "enum":
            # It looks at no key.
            yield Violation(MODALITY_EACH, "counts", "a modality", "a text", incidental=())
        counts = counts[first]
    else:
        yield Violation(COUNTS_BY_MODALITY, "counts", "an object", "a list", incidental=())
    for index, count in enumerate(counts):
        yield from _walk_whole(f"counts[{index}]", count)
    for index, count in enumerate(counts):
        if count != 0 and index >= encoders:
            yield Violation(ENTRY_ENCODER, f"counts[{index}]", f"below {encoders}", str(index))
    return {"IMAGE": counts}


def _walk_whole(where: str, count: Any) -> Iterator[Violation]:
    if type(count) is not int:
        # A truth value counts as 1.
        accident = () if isinstance(count, bool) else ("TypeError",)
        # Zero is passed over, whatever its type.
        accident = () if count == 0 else accident
        yield Violation(COUNT_WHOLE, where, "an int", repr(count), incidental=accident)
    elif count < 0:
        yield Violation(COUNT_NATURAL, where, "0 or more", str(count))


def _walk_items(
    name: str,
    counts: Sequence[Any],
    own: Sequence[int],
    items: Sequence[Any],
    owner_of: OwnerOf | None,
) -> _Found:
    numbers = [int(count) if isinstance(count, bool) else count for count in counts]
    where = f"counts[{name}]"
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        yield Unchecked(ITEM_IDENTITY, "a count is no number of items")
        return
    if sum(numbers) != len(own):
        yield Violation(COUNT_SUM, where, str(len(own)), str(sum(numbers)))
    rest = iter([items[place] for place in own])
    shares = [list(islice(rest, number)) for number in numbers]
    for index, (number, share) in enumerate(zip(numbers, shares, strict=True)):
        if number and not share:
            yield Violation(PART_FILLED, f"{where}[{index}]", "items", "none")
    if owner_of is None:
        yield Unchecked(ITEM_IDENTITY, "whose an item is can be told only by a reader")
        return
    reached = [o.position for o in owner_of([item for share in shares for item in share]) if o]
    if reached != list(own):
        yield Violation(ITEM_IDENTITY, where, f"items {list(own)}", f"items {reached}")


CONTRACT = Contract(
    "encoder-assign",
    "The media of a request are shared out among encoders, in parts.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
