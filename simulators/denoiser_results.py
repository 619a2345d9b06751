"""Honest results of GLM-Image denoisers: stamped pictures, on the wire of the head.

A record is one result as a denoiser says it: `request` (whose id it carries: the client's index,
or something else once a fault has had it), `output` (a tensor of pictures), `error`, and `lost`
(how many frames of the message are missing).

Source of the wire's form: sglang 0.5.23,
multimodal_gen/runtime/disaggregation/transport/codec.py, pack_tensors
"""

import json
from typing import TYPE_CHECKING, Any

from simulators.payload import RESULTS, Payload
from simulators.stamp import stamped_ids

if TYPE_CHECKING:
    import torch

_OWNER = 0xDE4015E
_OTHER = 0x0DD0
#: Colours, rows and columns of a picture: small, and as many stamps as pixels.
PICTURE = (3, 4, 6)
PIXELS = 3 * 4 * 6
_PLACES = 64


def honest_results(clients: int, outputs: int) -> Payload:
    """Return the results of so many clients' requests, with `outputs` pictures each."""
    ours = tuple(_record(i, pictures(_OWNER, i, outputs)) for i in range(clients))
    others = tuple(
        _record(f"another head's request {i}", pictures(_OTHER, i, outputs)) for i in range(clients)
    )
    return Payload(RESULTS, ours, others, {"ar_error": None})


def _record(request: int | str, output: "torch.Tensor") -> dict[str, Any]:
    return {"request": request, "output": output, "error": None, "lost": 0}


def pictures(owner: int, client: int, outputs: int) -> "torch.Tensor":
    """Return the stamped pictures of one request, (outputs, 3, 4, 6), float32."""
    import torch

    stamps = [stamped_ids(owner, client * _PLACES + k, PIXELS) for k in range(outputs)]
    return torch.tensor(stamps, dtype=torch.float32).reshape(outputs, *PICTURE)


def picture_name(client: int, output: int) -> str:
    """Return the name of a picture's owner."""
    return f"client {client}'s picture {output}"


def sequences(clients: int, outputs: int) -> dict[int | str, tuple[int, ...]]:
    """Return the stamps of every picture by its owner's name."""
    known: dict[int | str, tuple[int, ...]] = {}
    for i in range(clients):
        for k in range(outputs):
            known[picture_name(i, k)] = stamped_ids(_OWNER, i * _PLACES + k, PIXELS)
    for i in range(clients):
        for k in range(outputs):
            name = f"another head's request {i}, picture {k}"
            known[name] = stamped_ids(_OTHER, i * _PLACES + k, PIXELS)
    return known


def frames_of(record: dict[str, Any], request_id: str | None) -> list[bytes]:
    """Return the message that carries a result: what it is in JSON, then a frame a tensor."""
    output = record["output"]
    tensors = output if isinstance(output, list) else [output] if output is not None else []
    described = [
        {
            "field_name": "output",
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "list_index": index if isinstance(output, list) else -1,
        }
        for index, tensor in enumerate(tensors)
    ]
    scalars = {"request_id": request_id, "peak_memory_mb": 0.0}
    if record["error"] is not None:
        scalars["error"] = record["error"]
    head = {"tensor_descriptors": described, "scalar_fields": scalars}
    frames = [tensor.contiguous().numpy().tobytes() for tensor in tensors]
    return [json.dumps(head).encode(), *frames[: len(frames) - record["lost"]]]
