"""ar-grouped: the scheduler's group of requests gets its prior tokens, together where it can.

Upstream asks for all at once where the group has two requests or more, of one size, with text
alone; then the size must fit the grid of tokens. Any other group it runs one by one, and there it
brings each size to the grid itself. What holds of the requests is in
`contracts.clauses.request_group`.

The payload is the list of requests; the request of the check is not looked at.
"""

from collections.abc import Iterator
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
    GROUP_THERE,
    OUTPUTS_WANTED,
    PICTURE_REFUSED,
    REQUEST_ONCE,
    Requests,
    picture,
    size_of,
    walk_each,
)
from contracts.contract import Contract, OwnerOf, Unchecked, Violation


def _walk(
    requests: Requests, request: Any, owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if not requests:
        yield Violation(GROUP_THERE, "$", "a request", "none")
    if _together(requests):
        height, width = size_of(requests[0])
        if not is_size(height, width):
            yield not_numbers(height, width, "$[0]")
        elif not is_aligned(height, width):
            yield not_aligned(height, width, "$[0]")
    else:
        for index, one in enumerate(requests):
            height, width = size_of(one)
            if not is_size(height, width):
                yield not_numbers(height, width, f"$[{index}]")
            if one["image"] is not None:
                yield picture(index, PICTURE_REFUSED)
    yield from walk_each(requests)


def _together(requests: Requests) -> bool:
    alone = all(one["image"] is None for one in requests)
    return len(requests) > 1 and alone and len({size_of(one) for one in requests}) == 1


CONTRACT = Contract(
    "ar-grouped",
    "The scheduler's group of requests gets its prior tokens, together where it can.",
    (GROUP_THERE, SIZE_NUMBERS, SIZE_ALIGNED, PICTURE_REFUSED, OUTPUTS_WANTED, REQUEST_ONCE),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
