"""What must hold for a group of requests whose prior tokens are made together.

- A group holds a request, and no request twice.
- Each request says its size in whole numbers, and how many outputs it wants: one or more.
- No request brings a picture: an external AR server is asked with text alone.

A request is an object with `prompt`, `height`, `width`, `outputs`, `seed` and `image`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contracts.clauses.ar_item import STAGE_FILE
from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span
from contracts.source import Source

GROUP_THERE = Clause("group-there", "A group holds a request.")
GROUP_ONE_SIZE = Clause("group-one-size", "Every request asks for the size of the first one.")
PICTURE_REFUSED = Clause(
    "picture-none",
    "No request brings a picture.",
    guards=(
        Guard(
            "NotImplementedError",
            "I2I mode is not supported yet via external SGLang encoder URL.",
            Span("0.5.16"),
            Source("0.5.23", STAGE_FILE, "GlmImageAR.generate_prior_tokens"),
        ),
    ),
)
PICTURE_UNSEEN = Clause("picture-none", "No request brings a picture.")
OUTPUTS_WANTED = Clause("outputs-wanted", "A request wants one output or more.")
REQUEST_ONCE = Clause("request-once", "No request stands in a group twice.")

Requests = Sequence[Mapping[str, Any]]


def size_of(request: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the height and width that a request asks for."""
    return request["height"], request["width"]


def walk_each(requests: Requests) -> Iterator[Violation]:
    """Yield what the requests break without ending the call: wants of nothing, and repeats."""
    for index, request in enumerate(requests):
        outputs = request["outputs"]
        if type(outputs) is not int or outputs < 1:
            yield Violation(OUTPUTS_WANTED, f"$[{index}].outputs", "1 or more", str(outputs))
    for index, request in enumerate(requests):
        first = next(i for i, other in enumerate(requests) if other is request)
        if first != index:
            yield Violation(REQUEST_ONCE, f"$[{index}]", "another request", f"request {first}")


def picture(index: int, clause: Clause) -> Violation:
    """Return the violation of a request that brings a picture."""
    return Violation(clause, f"$[{index}].image", "no picture", "a picture")
