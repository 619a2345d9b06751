"""A prepared batch as an encoder of upstream's gets it, and what is read of its answers.

Provided, by name: the preprocessor (what it prepared, or the error that it raises), the model (a
row for each group of patches), and what `harness.consumers.encoder_server` lists.
"""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from harness.consumers.encoded_requests import Answer, request_name
from harness.consumers.encoder_server import DTYPE, EncoderServer
from harness.outcome import Passed
from harness.upstream.touches import Provided
from simulators.encoder import RULES, WIDTH, honest_items, owner_of
from simulators.payload import Payload
from simulators.processed_media import FEATURES, GRIDS

#: What a preprocessor says that fails.
SAID = "no picture of that name"


def layout_of(dims: Mapping[str, str]) -> list[int]:
    """Return how many items each request asks for."""
    return [int(items) for items in dims["items"].split(",")]


def part_of(payload: Payload, device: torch.device, rank: int = 0) -> dict[str, Any]:
    """Return a prepared batch as the contract takes it, as one rank prepares it."""
    records, kinds = payload.records, payload.beside["error"].split("|")
    kind = kinds[rank % len(kinds)]
    features = [record.features for record in records]
    return {
        "error": (kind, str(_error(kind))) if kind else None,
        "layout": [items for record in records for items in record.told],
        "grids": [grid for record in records for grid in record.grids],
        "counts": [count for record in records for count in record.counts],
        "features": (torch.cat(features) if features else torch.empty(0, WIDTH)).to(device),
    }


def asked_of(layout: Sequence[int], pictures: str) -> dict[str, Any]:
    """Return what was asked for, as the contract takes it."""
    items = honest_items(sum(layout), pictures).records
    return {
        "counts": [item.count for item in items],
        "grids": [item.grid for item in items],
        "items": list(layout),
        "names": [request_name(index) for index in range(len(layout))],
        "merge_size": RULES.merge,
        "width": WIDTH,
        "dtype": str(DTYPE),
    }


def passed_prepared(part: Mapping[str, Any], asked: Mapping[str, Any]) -> Passed:
    """Return a prepared batch as it passes."""
    return Passed(part, asked, owner_of)


def _error(kind: str) -> Exception:
    error: type[Exception] = getattr(builtins, kind)
    return error(SAID)


def prepared_encoder(
    server: EncoderServer, part: Mapping[str, Any], modelled: Callable[[Any], Any]
) -> Any:
    """Return an encoder whose preprocessor gives a prepared batch, or raises.

    Args:
        server: The release's server.
        part: The batch.
        modelled: What the model makes of pixel features.
    """
    grids = torch.tensor(part["grids"]).reshape(-1, 3)
    result = server.module.EncoderPreprocessResult(
        mm_inputs={FEATURES: part["features"], GRIDS: grids},
        grid_thw=grids,
        token_counts=list(part["counts"]),
    )

    async def process(requests: Any, asked: Any) -> Any:
        if part["error"] is not None:
            raise _error(part["error"][0])
        return result, list(part["layout"])

    encoder = server.bare(lambda items: modelled(torch.cat([item.feature for item in items])))
    encoder.preprocessor = Provided(
        "EncoderPreprocessor",
        process_batch_mm_items=process,
        get_num_patches=lambda grid, asked: int(grid[0] * grid[1] * grid[2]),
    )
    return encoder


def with_status(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers, each error with its status behind it."""
    return [
        (size, rows, width, error if error is None else f"{error} (status {int(code or 0)})", code)
        for size, rows, width, error, code in answers
    ]
