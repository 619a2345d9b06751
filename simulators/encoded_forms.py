"""What form the encoder gives its rows: one matrix when honest, or a tensor of another form."""

from collections.abc import Callable, Sequence
from typing import Any

from simulators.encoder import WIDTH
from simulators.payload import Payload


def _joined(rows: Sequence[Any]) -> Any:
    import torch

    return torch.cat(list(rows)) if rows else torch.empty(0, WIDTH)


def _cast(name: str) -> Callable[[Sequence[Any]], Any]:
    def edit(rows: Sequence[Any]) -> Any:
        import torch

        return _joined(rows).to(getattr(torch, name))

    return edit


def _padded(rows: Sequence[Any]) -> Any:
    import torch

    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True) if rows else _joined(rows)


def _strided(rows: Sequence[Any]) -> Any:
    import torch

    joined = _joined(rows)
    return torch.cat([joined, joined], dim=1)[:, : joined.shape[1]]


def _wider(rows: Sequence[Any]) -> Any:
    import torch

    joined = _joined(rows)
    return torch.cat([joined, joined], dim=1)


#: How the rows of all items become what the encoder returns.
FORMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "flat": _joined,
    "strided": _strided,
    "cube": lambda rows: _joined(rows).unsqueeze(1),
    "folded": lambda rows: _joined(rows).unflatten(1, (2, -1)),
    "padded": _padded,
    "transposed": lambda rows: _joined(rows).t(),
    "wider": _wider,
    "narrower": lambda rows: _joined(rows)[:, : _joined(rows).shape[1] // 2],
    "float16": _cast("float16"),
    "bfloat16": _cast("bfloat16"),
    "float64": _cast("float64"),
    "int32": _cast("int32"),
    "list": list,
    "vector": lambda rows: _joined(rows).flatten(),
}


def returned_rows(payload: Payload, chosen: Sequence[int] | None = None) -> Any:
    """Return what the encoder returns for some of the items, or for all."""
    wanted = range(len(payload.records)) if chosen is None else chosen
    rows = [payload.records[i].rows for i in wanted if i < len(payload.records)]
    return FORMS[payload.beside["form"]](rows)
