"""Requests that upstream's encoder encodes, and what it holds ready for each of them.

Every request has an error field: an error that upstream caught comes back there, and counts as
a refusal that is returned. It is read with what is staged for the request, from which it is sent.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from contracts.contract import RETURNED
from harness.consumers.consumer import Lie, Output
from harness.consumers.embedding_provenance import provenance
from harness.consumers.encoder_server import DTYPE, EncoderServer, Made
from harness.outcome import Ending, Outcome, Passed, Raised, Span, Whose
from harness.stretches import Stretch, spans_between
from simulators.encoded_forms import returned_rows
from simulators.encoder import honest_items
from simulators.payload import Payload

#: (bytes, rows, width, error, code), as upstream answers.
Answer = tuple[int, int, int, str | None, int | None]


def passed_batch(
    layout: Sequence[int], dims: Mapping[str, str], lie: Lie, device: torch.device
) -> tuple[Payload, Passed]:
    """Return a batch under a lie, as a payload and as it passes.

    Args:
        layout: How many items each request has.
        dims: A case's `pictures`, see `simulators.encoder.sizes_of`, and `width` of a row.
        lie: What is done to the honest payload.
        device: Where the model's rows are.
    """
    width = int(dims["width"])
    honest = honest_items(sum(layout), dims["pictures"], width)
    payload = lie.told(honest)
    rows = returned_rows(payload)
    if isinstance(rows, torch.Tensor):
        rows = rows.to(device)
    told = {"rows": rows, "counts": [item.count for item in payload.records]}
    request = {
        "counts": [item.count for item in honest.records],
        "items": list(layout),
        "names": [request_name(index) for index in range(len(layout))],
        "width": width,
        "dtype": str(DTYPE),
    }
    return payload, Passed(told, request, provenance(width))


def made_of(payload: Payload, passed: Passed) -> Made:
    """Return what preprocessor and model give for a batch."""
    request = passed.request
    return Made(payload.records, request["items"], lambda: passed.payload["rows"], request["width"])


def request_name(index: int) -> str:
    """Return the id of a request."""
    return f"request {index}"


def fields_of(index: int, items: int) -> dict[str, Any]:
    """Return one request of so many items, as the route hands it on."""
    named = [f"{request_name(index)}'s picture {item}" for item in range(items)]
    return {"req_id": request_name(index), "mm_items": named, "num_parts": 1, "part_idx": 0}


def ended(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine of upstream's returns."""
    return asyncio.run(coroutine)


def read_staged(
    server: EncoderServer,
    encoder: Any,
    answers: Sequence[Answer],
    request: Mapping[str, Any],
    refusals: dict[str, str],
) -> Output:
    """Return what is staged for each request, and note the errors that were returned.

    Args:
        server: The release's server.
        encoder: The encoder, after the batch.
        answers: What it answered, one for each request.
        request: What was asked for.
        refusals: Gets the error of each request that has one.
    """
    staged = _staged(server, encoder)
    found: list[Span] = []
    facts: dict[str, str] = {}
    for index, name in enumerate(request["names"]):
        if answers[index][3] is not None:
            refusals[name] = str(answers[index][3])
        else:
            found += _of_request(name, staged[name].embedding, request)
            facts |= _facts(name, staged[name], answers[index])
    return Output(tuple(found), facts, [data.embedding for data in staged.values()])


def _staged(server: EncoderServer, encoder: Any) -> dict[str, Any]:
    if server.splits_preprocessor:
        return {name: state.embedding_data for name, state in encoder.req_states.items()}
    return dict(encoder.embedding_to_send)


def _of_request(name: str, rows: torch.Tensor, request: Mapping[str, Any]) -> tuple[Span, ...]:
    firsts = _firsts(request)
    has: list[Stretch] = []
    for origin, count in provenance(request["width"]).runs(rows.reshape(-1, rows.shape[-1])):
        if origin is None or isinstance(origin.owner, str):
            known = None if origin is None else Whose(str(origin.owner), origin.position)
            has.append(Stretch(known, count))
            continue
        owner, position = int(origin.owner), origin.position
        request_of, first = firsts[owner]
        inside = max(0, min(count, request["counts"][owner] - position))
        has.append(Stretch(Whose(request_of, first + position), inside))
        # A row that no picture should have stands behind all rows of the request.
        beyond = sum(request["counts"]) + position + inside
        has.append(Stretch(Whose(request_of, beyond), count - inside))
    own = sum(
        count
        for (request_of, _), count in zip(firsts, request["counts"], strict=True)
        if request_of == name
    )
    # Rows beyond its own are another's, and must be seen as such.
    total = max(own, sum(one.count for one in has))
    return spans_between(name, [Stretch(Whose(name, 0), total)], has, "rows")


def _firsts(request: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return of each item its request, and where in the request its first row stands."""
    firsts: list[tuple[str, int]] = []
    item = 0
    for name, items in zip(request["names"], request["items"], strict=True):
        row = 0
        for owner in range(item, item + items):
            firsts.append((name, row))
            row += request["counts"][owner]
        item += items
    return firsts


def _facts(name: str, data: Any, answer: Answer) -> dict[str, str]:
    # A sound has a length, which is no list of sides.
    sides = [torch.as_tensor(grid).reshape(-1).tolist() for grid in data.grid_dim]
    grids = [[int(side) if side == int(side) else side for side in grid] for grid in sides]
    return {
        f"shape for {name}": str(list(data.embedding.shape)),
        f"dtype for {name}": str(data.dtype),
        f"size told of {name}": str(answer[:3]),
        f"grids of {name}": str(grids),
    }


def with_refusals(outcome: Outcome, refusals: Mapping[str, str]) -> Outcome:
    """Return the outcome with the errors that were returned, unless wrong rows stand beside."""
    wrong = any(not span.right for span in outcome.spans)
    if outcome.ending is not Ending.ACCEPTED or outcome.unsure or not refusals or wrong:
        return outcome
    said = "; ".join(f"{name}: {text}" for name, text in refusals.items())
    return replace(outcome, ending=Ending.RAISED, raised=Raised(RETURNED, said, "upstream"))
