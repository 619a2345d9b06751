"""encoder-zmq-frame: the scheduler reads the messages that carry an embedding's parts.

- A message is of the request that waits, and its first frame is a pickled part.
- It says no error, or its second frame holds as many bytes as dtype and shape say.
- Of the parts holds what `contracts.clauses.embedding_part` says.

The payload is the list of messages as they come: of each the fields of its part, and `head` (how
the first frame is: `whole`, or what was done to it), `error`, `rows` (the bytes of the second
frame; None: there is none), `said_dtype` and `said_shape`. Refusals are returned: the state of
the waiting request says them.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from contracts.clauses.embedding_part import (
    BODY_CLAUSES,
    GRID_KIND,
    NONE_FOLLOWS,
    PART,
    PARTS_COMPLETE,
    TEXTS,
    Found,
    Gathering,
    part_clauses,
    walk_bodies,
    walk_head,
)
from contracts.contract import RETURNED, Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import OLDEST, Span
from contracts.source import Source

_NEW = Source(
    "0.5.23", "srt/disaggregation/encoder/receiver.py", "WaitingMMRequestBase.consume_parts"
)
_OLD = Source(
    "0.5.18", "srt/disaggregation/encode_receiver.py", "WaitingImageRequest.consume_parts"
)
_MOVED = "0.5.19"
_FAILED = "Failed to decode embedding message"
#: The same, with what the check of a part's head says.
_WHY = f"{_FAILED}: {{why}}"
#: Since then a message that cannot be read fails its request, and not the scheduler's loop.
_CAUGHT = "0.5.17"
#: How the numbers of a dtype are read; bfloat16 is the upper half of a float32.
_FORMATS = {"float32": "f", "float16": "e", "bfloat16": "H", "float64": "d", "int32": "i"}


def _failed(text: str = _FAILED, since: str = _CAUGHT) -> tuple[Guard, ...]:
    first = max(since, _MOVED)
    before = (Guard(RETURNED, text, Span(since, _MOVED), _OLD),) if since < _MOVED else ()
    return (Guard(RETURNED, text, Span(first), _NEW), *before)


def _checked(text: str, symbol: str) -> tuple[Guard, ...]:
    return _failed(_WHY, "0.5.20")


def _known(text: str, symbol: str) -> tuple[Guard, ...]:
    raised = Source(_OLD.release, _OLD.path, symbol)
    before = Guard("ValueError", text, Span(until=_CAUGHT), raised)
    return (*_failed(_WHY), before)


HEAD = part_clauses(_checked, _known)
HEAD_READABLE = Clause(
    "head-readable",
    "The first frame is a pickle of what is allowed.",
    guards=_failed(),
    incidental=("UnpicklingError", "EOFError", "RuntimeError", "ValueError"),
)
HEAD_PART = Clause(
    "head-part",
    f"The first frame holds an `{PART}`.",
    incidental=("AttributeError", RETURNED),
    # From then on what is none is dropped.
    accidents=Span(until="0.5.20"),
)
MESSAGE_OURS = Clause("message-ours", "A message is of the request that waits.")
ERROR_OURS = Clause(
    "error-ours",
    "An error is of the request that waits.",
    incidental=(RETURNED,),
    # From then on it is asked first whose the message is.
    accidents=Span(until="0.5.20"),
)
ENCODED = Clause(
    "encoded",
    "The encoder ended without an error.",
    guards=_failed("{error}", OLDEST),
)
ROWS_FRAME = Clause(
    "rows-frame",
    "There is a second frame.",
    guards=_failed(),
    incidental=("IndexError",),
)
DTYPE_SAID = Clause(
    "dtype-said", "A part says its dtype.", guards=_failed(), incidental=("TypeError",)
)
ROWS_BYTES = Clause(
    "rows-bytes",
    "The second frame has as many bytes as dtype and shape say.",
    guards=_failed(),
    incidental=("ValueError", "RuntimeError"),
)

_CLAUSES = (
    HEAD_READABLE, HEAD_PART, ERROR_OURS, MESSAGE_OURS, ENCODED, ROWS_FRAME, DTYPE_SAID, ROWS_BYTES,
    HEAD.count_positive, HEAD.index_within, HEAD.count_same, HEAD.once, HEAD.modality_known,
    GRID_KIND, NONE_FOLLOWS, PARTS_COMPLETE, *BODY_CLAUSES,
)  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Rows as they are read from bytes."""

    shape: tuple[int, ...]
    dtype: str
    numbers: tuple[float, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def tolist(self) -> list[Any]:
        """Return the rows as lists, of a matrix."""
        width = self.shape[1]
        starts = range(0, len(self.numbers), width)
        return [list(self.numbers[start : start + width]) for start in starts]


def _walk(
    payload: Sequence[Mapping[str, Any]], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Found:
    for finding in _walk_messages(payload, request, owner_of):
        if not isinstance(finding, Violation):
            yield finding
            continue
        if text := TEXTS.get(finding.clause.name):
            why = text.format(**finding.fields)
            finding = replace(finding, fields={**finding.fields, "why": why})
        if finding.incidental:
            # What is raised by accident is caught, and told by the state of the request.
            finding = replace(finding, incidental=(*finding.incidental, RETURNED))
        yield finding


def _walk_messages(
    payload: Sequence[Mapping[str, Any]], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Found:
    so_far = Gathering()
    for arrival, message in enumerate(payload):
        where = f"messages[{arrival}]"
        if so_far.complete:
            yield Violation(NONE_FOLLOWS, where, "nothing", "another message")
            continue
        broken = list(_walk_frames(message, request["request"], where))
        yield from broken
        if not broken:
            part = {**message, "embedding": _rows(message), "shape": None}
            yield from walk_head(part, so_far, request["request"], where, HEAD)
    if so_far.complete:
        yield from walk_bodies(so_far.taken, request, owner_of)
        return
    said = f"{len(so_far.taken)} of {so_far.count}"
    yield Violation(PARTS_COMPLETE, "messages", "every part", said)
    yield from (Unchecked(clause, "a part is missing") for clause in BODY_CLAUSES)


def _walk_frames(message: Mapping[str, Any], asked: str, where: str) -> Iterator[Violation]:
    head, rows = message["head"], message["rows"]
    if head != "whole":
        yield Violation(HEAD_READABLE, where, "a pickled part", head)
    elif message["kind"] != PART:
        yield Violation(HEAD_PART, where, PART, message["kind"])
    elif message["request"] != asked:
        if message["error"] is not None:
            yield Violation(ERROR_OURS, where, asked, message["request"])
        yield Violation(MESSAGE_OURS, where, asked, message["request"])
    elif message["error"] is not None:
        fields = {"error": message["error"]}
        yield Violation(ENCODED, where, "no error", message["error"], fields)
    elif rows is None:
        yield Violation(ROWS_FRAME, where, "a second frame", "none")
    elif message["said_dtype"] is None:
        yield Violation(DTYPE_SAID, where, "a dtype", "none")
    else:
        size = struct.calcsize(_FORMATS[message["said_dtype"]])
        expected = size * prod(message["said_shape"])
        if len(rows) != expected:
            yield Violation(ROWS_BYTES, where, f"{expected} bytes", str(len(rows)))


def _rows(message: Mapping[str, Any]) -> Rows:
    dtype, raw = message["said_dtype"], message["rows"]
    form = _FORMATS[dtype]
    numbers = struct.unpack(f"<{len(raw) // struct.calcsize(form)}{form}", raw)
    if dtype == "bfloat16":
        halves = struct.pack(f"<{len(numbers)}I", *(number << 16 for number in numbers))
        numbers = struct.unpack(f"<{len(numbers)}f", halves)
    return Rows(tuple(message["said_shape"]), f"torch.{dtype}", numbers)


CONTRACT = Contract(
    "encoder-zmq-frame",
    "The scheduler reads the messages that carry the parts of an embedding.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
