"""Faults of a group of requests: one of them, or all, ask for what they should not."""

from collections.abc import Callable
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import GROUP, Payload

Request = dict[str, Any]


def request_becomes(edit: Callable[[Request], Request]) -> Change:
    """Return the fault that changes fields of one request, if its size is still there."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        request = payload.records[at[0]]
        if request["height"] is None or request["outputs"] is None:
            return payload
        return payload.with_record(at[0], {**request, **edit(request)})

    return change


def every_request(edit: Callable[[Request], Request]) -> Change:
    """Return the fault that changes fields of every request whose size is still there."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_records(
            [r if r["height"] is None else {**r, **edit(r)} for r in payload.records]
        )

    return change


def sized(taller: int, wider: int) -> Callable[[Request], Request]:
    """Return the edit that makes a request so much taller and wider, at least one pixel."""
    return lambda request: {
        "height": max(1, request["height"] + taller),
        "width": max(1, request["width"] + wider),
    }


def transposed(request: Request) -> Request:
    """64x96 -> 96x64"""
    return {"height": request["width"], "width": request["height"]}


def _row(
    name: str, kind: str, edit: Callable[[Request], Request], picture: str, **more: Any
) -> Fault:
    change = request_becomes(edit)
    return Fault(name, kind, change, (GROUP,), each, picture, scope="request", **more)


#: The rows of these faults in the table.
FAULTS = (
    _row("request-taller", "skew", sized(32, 0), "a 64x96, b 64x96 -> a 96x96, b 64x96"),
    _row("request-wider", "skew", sized(0, 32), "a 64x96, b 64x96 -> a 64x128, b 64x96"),
    _row("request-smaller", "skew", sized(-32, -32), "a 64x96, b 64x96 -> a 32x64, b 64x96"),
    _row("request-transposed", "reordering", transposed, "a 64x96, b 64x96 -> a 96x64, b 64x96"),
    _row("request-unaligned", "skew", sized(1, 0), "a 64x96, b 64x96 -> a 65x96, b 64x96"),
    _row("request-sizeless", "omission", lambda r: {"height": None, "width": None},
         "a 64x96, b 64x96 -> a without a size, b 64x96"),
    _row("request-more-outputs", "skew", lambda r: {"outputs": r["outputs"] + 1},
         "a wants 1, b wants 1 -> a wants 2, b wants 1", benign=True),
    _row("request-no-outputs", "substitution", lambda r: {"outputs": 0},
         "a wants 1 -> a wants 0"),
    _row("request-outputs-missing", "omission", lambda r: {"outputs": None},
         "a wants 1 -> a does not say"),
    _row("request-picture", "substitution", lambda r: {"image": "picture.png"},
         "a, text alone -> a, text and a picture"),
    Fault("group-unaligned", "skew", every_request(sized(1, 4)), (GROUP,), whole,
          "all 64x96 -> all 65x100", scope="group"),
    Fault("group-same-prompt", "duplication",
          every_request(lambda r: {"prompt": "one prompt for all"}), (GROUP,), whole,
          "a says this, b says that -> both say one thing", scope="group", benign=True),
    Fault("group-transposed", "reordering", every_request(transposed), (GROUP,), whole,
          "all 64x96 -> all 96x64", scope="group", benign=True),
)  # fmt: skip
