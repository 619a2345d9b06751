"""Faults of the rows that go into an exchange: their shape, kind and number.

Their rows of the table stand at the end.
"""

from dataclasses import replace
from random import Random

from simulators.faults.fault import Change, Fault, Place, whole
from simulators.payload import SPLITS, Payload


def form_becomes(form: str) -> Change:
    """Return the fault that changes the rows before they go into an exchange."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return replace(payload, beside={**payload.beside, "form": form})

    return change


def _rows(name: str, kind: str, form: str, picture: str) -> Fault:
    return Fault(name, kind, form_becomes(form), (SPLITS,), whole, picture, scope="exchange")


def rows_repeated(payload: Payload, at: Place, rng: Random) -> Payload:
    """[5 3] -> [7 5]: two rows of text on every rank, and the splits count them"""
    if not all(type(split) is int for split in payload.records):
        return payload
    told = [split + 2 for split in payload.records]
    return form_becomes("repeated")(payload.with_records(told), at, rng)


FAULTS = (
    Fault("rows-joined", "reordering", form_becomes("joined"), (SPLITS,), whole,
          "run, run -> noise + image, noise + image", scope="shard"),
    Fault("rows-repeated", "duplication", rows_repeated, (SPLITS,), whole,
          "text shared out -> text on every rank", scope="shard"),
    _rows("exchange-flat", "substitution", "flat", "4 dimensions -> 3, no batch"),
    _rows("exchange-deep", "substitution", "deep", "4 dimensions -> 5"),
    _rows("exchange-half", "substitution", "half", "float32 -> float16"),
    _rows("exchange-narrow", "truncation", "narrow", "4 columns -> 3 columns"),
    _rows("exchange-twice", "duplication", "twice", "1 batch row -> the same twice"),
    _rows("exchange-row-less", "truncation", "row-less", "rows 1 2 3 -> rows 1 2"),
    _rows("exchange-row-more", "duplication", "row-more", "rows 1 2 3 -> rows 1 2 3 3"),
    _rows("exchange-mirrored", "reordering", "mirrored", "rows 1 2 3 -> rows 3 2 1"),
)  # fmt: skip
