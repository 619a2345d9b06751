"""ar-grouped-shapes: the distributed head's group of requests gets its prior tokens in one batch.

Upstream takes the first request's size for all of them and looks at nothing else: that the group
is of one size and of text alone is the caller's business. What holds of the requests is in
`contracts.clauses.request_group`.

The payload is the list of requests; the request of the check is not looked at.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from contracts.clauses.picture_size import (
    SIZE_ALIGNED,
    SIZE_NUMBERS,
    is_aligned,
    is_size,
    not_aligned,
    not_numbers,
)
from contracts.clauses.request_group import (
    GROUP_ONE_SIZE,
    GROUP_THERE,
    OUTPUTS_WANTED,
    PICTURE_UNSEEN,
    REQUEST_ONCE,
    Requests,
    picture,
    size_of,
    walk_each,
)
from contracts.contract import Contract, OwnerOf, Unchecked, Violation

#: The first request's size is read before anything is known of the group.
_GROUP_THERE = replace(GROUP_THERE, incidental=("IndexError",))


def _walk(
    requests: Requests, request: Any, owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if not requests:
        yield Violation(_GROUP_THERE, "$", "a request", "none")
        return
    height, width = size_of(requests[0])
    if not is_size(height, width):
        yield not_numbers(height, width, "$[0]")
    elif not is_aligned(height, width):
        yield not_aligned(height, width, "$[0]")
    for index, one in enumerate(requests):
        if size_of(one) != (height, width):
            got = "{}x{}".format(*size_of(one))
            yield Violation(GROUP_ONE_SIZE, f"$[{index}]", f"{height}x{width}", got)
        if one["image"] is not None:
            yield picture(index, PICTURE_UNSEEN)
    yield from walk_each(requests)


CONTRACT = Contract(
    "ar-grouped-shapes",
    "The distributed head's group of requests gets its prior tokens in one batch.",
    (
        _GROUP_THERE,
        SIZE_NUMBERS,
        SIZE_ALIGNED,
        GROUP_ONE_SIZE,
        PICTURE_UNSEEN,
        OUTPUTS_WANTED,
        REQUEST_ONCE,
    ),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
