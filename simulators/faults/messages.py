"""Faults of the messages that carry parts: frames cut, missing and swapped, and false dtypes."""

from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, Places, each, pairs
from simulators.payload import PARTS, Payload

ERROR = "CUDA out of memory"
_OTHER = "request 1"
_ALIKE = {"float32": "int32", "float16": "bfloat16", "bfloat16": "float16"}
_WIDER = {"float32": "float64", "float16": "float32", "bfloat16": "float32"}
_NARROWER = {"float32": "float16", "float16": "float64", "bfloat16": "float64"}


def message_says(**fields: Any) -> Change:
    """Return the fault that sets fields of one message."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], {**payload.records[at[0]], **fields})

    return change


def dtype_said(names: dict[str, str]) -> Change:
    """Return the fault that says another dtype than that of the rows."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        if record["embedding"] is None:
            return payload
        own = str(record["embedding"].dtype).removeprefix("torch.")
        return payload.with_record(at[0], {**record, "dtype": names[own]})

    return change


def rows_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = head 1, rows 1; b = head 2, rows 2 -> a = head 1, rows 2; b = head 2, rows 1"""
    one, two = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], {**one, "bytes_of": two["embedding"]})
    return changed.with_record(at[1], {**two, "bytes_of": one["embedding"]})


def suffixes_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """a_part_0, b_part_1 -> a_part_1, b_part_0"""
    one, two = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], {**one, "suffix": two["suffix"]})
    return changed.with_record(at[1], {**two, "suffix": one["suffix"]})


def _message(name: str, change: Change, picture: str, kind: str = "substitution",
             places: Places = each, benign: bool = False) -> Fault:  # fmt: skip
    return Fault(name, kind, change, (PARTS,), places, picture, scope="messages", benign=benign)


def _frames(done: str, picture: str, kind: str, benign: bool = False) -> Fault:
    return _message(f"message-{done}", message_says(frames=done), picture, kind, benign=benign)


#: The rows of these faults in the table.
FAULTS = (
    _frames("head-junk", "[head, rows] -> [junk, rows]", "substitution"),
    _frames("head-empty", "[head, rows] -> [nothing, rows]", "truncation"),
    _frames("head-blocked", "[head, rows] -> [a pickled function, rows]", "substitution"),
    _frames("rows-missing", "[head, rows] -> [head]", "omission"),
    _frames("rows-cut", "[head, 96 bytes] -> [head, 95 bytes]", "truncation"),
    _frames("row-cut", "[head, 3 rows] -> [head, 2 rows]", "truncation"),
    _frames("row-extra", "[head, 3 rows] -> [head, 4 rows]", "duplication"),
    _frames("rows-empty", "[head, rows] -> [head, nothing]", "truncation"),
    _frames("frames-swapped", "[head, rows] -> [rows, head]", "reordering"),
    _frames("frame-extra", "[head, rows] -> [head, rows, more]", "duplication", benign=True),
    _message("message-dtype-alike", dtype_said(_ALIKE), "float16 -> says bfloat16"),
    _message("message-dtype-wider", dtype_said(_WIDER), "float16 -> says float32"),
    _message("message-dtype-narrower", dtype_said(_NARROWER), "float32 -> says float16"),
    _message("message-dtype-none", message_says(dtype="none"), "float16 -> says none", "omission"),
    _message("message-rows-swapped", rows_swapped, "[a, 1] [b, 2] -> [a, 2] [b, 1]",
             "reordering", pairs),
    _message("message-suffix-swapped", suffixes_swapped, "part 0, part 1 -> part 1, part 0",
             "reordering", pairs),
    _message("message-suffix-missing", message_says(suffix=None), "request 0, part 1 -> request 0",
             "omission"),
    _message("message-error", message_says(error=ERROR), "a = rows -> a = an error"),
    _message("message-error-foreign", message_says(error=ERROR, request=_OTHER),
             "a = rows -> a = another request's error"),
)  # fmt: skip
