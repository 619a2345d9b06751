"""Contracts of SGLang's multimodal seams, as executable specifications.

Standard library only. `CONTRACTS` is the table of all of them; each module is usable alone.
"""

from contracts import (
    ar_batch,
    ar_distributed_output,
    ar_distributed_split,
    ar_grid,
    ar_grouped,
    ar_grouped_shapes,
    ar_request,
    ar_row_broadcast,
    ar_seed,
    ar_single,
    ar_split,
    ar_tokens,
    ar_transport,
    encoder_destinations,
    encoder_parts,
    encoder_request,
    encoder_transport_mode,
    encoder_zmq_frame,
    image_crop,
    image_resolution,
    krea2_ragged,
    lingbot_cam,
    lingbot_kv_cache,
    shard_all_to_all,
    shard_degrees,
    shard_gather,
    shard_kv_guard,
    shard_splits,
    shard_strategy,
)
from contracts.contract import (
    Answer,
    Clause,
    Contract,
    Guard,
    Origin,
    OwnerOf,
    Unchecked,
    Violation,
    ending,
)

#: Every contract, by the name of its seam.
CONTRACTS = {
    module.CONTRACT.seam: module.CONTRACT
    for module in (
        ar_batch,
        ar_single,
        ar_tokens,
        ar_transport,
        ar_grid,
        ar_seed,
        ar_request,
        ar_split,
        ar_row_broadcast,
        ar_distributed_split,
        ar_distributed_output,
        image_crop,
        ar_grouped,
        ar_grouped_shapes,
        image_resolution,
        lingbot_kv_cache,
        lingbot_cam,
        krea2_ragged,
        shard_splits,
        shard_strategy,
        shard_kv_guard,
        shard_all_to_all,
        shard_gather,
        shard_degrees,
        encoder_parts,
        encoder_request,
        encoder_transport_mode,
        encoder_zmq_frame,
        encoder_destinations,
    )
}

__all__ = [
    "CONTRACTS",
    "Answer",
    "Clause",
    "Contract",
    "Guard",
    "Origin",
    "OwnerOf",
    "Unchecked",
    "Violation",
    "ending",
]
