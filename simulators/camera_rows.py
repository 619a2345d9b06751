"""Honest embeddings of a camera, a small conditioner's weights, and what it makes of them.

The reference is computed in float64 and from the formula: camera c, with c' = W2 silu(W1 c) + c,
gives scale = Ws c' and shift = Wt c' (each with its bias), and turns a hidden row h into
(1 + scale) h + shift. Every row of every camera differs, so a result says which one made it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from contracts.contract import Origin
from simulators.payload import CAMERA, Payload
from simulators.stamp import mix

if TYPE_CHECKING:
    import torch

TOKENS = 6
WIDTH = 8
#: Stands for the camera of another request.
OTHER = "another request's camera"
#: Upstream's names of the conditioner's layers.
LAYERS = ("cam_injector.fc_in", "cam_injector.fc_out", "cam_scale_layer", "cam_shift_layer")
#: Rows of different cameras differ by far more, and the same row in float16 by less.
_NEAR = 0.01
_OURS, _OTHERS, _HIDDEN, _WEIGHTS = 1, 2, 3, 4


def honest_camera(batch: int, ready: bool) -> Payload:
    """Return the camera of one request, and that of another.

    Args:
        batch: How many rows of hidden states it is for.
        ready: Whether scale and shift come computed with it.
    """

    def record(owner: int) -> dict[str, Any]:
        camera = _numbers(owner, batch)
        pair = scale_shift(camera)
        told = tuple(part.float() for part in pair) if ready else None
        return {"camera": camera.float(), "scale_shift": told}

    return Payload(CAMERA, (record(_OURS),), (record(_OTHERS),))


def hidden_rows(batch: int) -> "torch.Tensor":
    """Return the hidden states that a camera conditions, (batch, tokens, width), float64."""
    return _numbers(_HIDDEN, batch)


@lru_cache(maxsize=1)
def weights() -> Mapping[str, "torch.Tensor"]:
    """Return the conditioner's weights by upstream's names, float64."""
    import torch

    found = {}
    for number, layer in enumerate(LAYERS):
        values = _mixed(_WEIGHTS, number, WIDTH * (WIDTH + 1))
        rows = torch.tensor(values, dtype=torch.float64).reshape(WIDTH, WIDTH + 1) / 2
        found[f"{layer}.weight"], found[f"{layer}.bias"] = rows[:, :-1], rows[:, -1]
    return found


def scale_shift(camera: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the scale and the shift that the conditioner makes of a camera, float64."""
    inner = _layer(LAYERS[0], camera)
    mixed = _layer(LAYERS[1], inner / (1 + (-inner).exp())) + camera
    return _layer(LAYERS[2], mixed), _layer(LAYERS[3], mixed)


def _layer(name: str, rows: "torch.Tensor") -> "torch.Tensor":
    matrix, bias = weights()[f"{name}.weight"], weights()[f"{name}.bias"]
    return (rows.unsqueeze(-2) * matrix).sum(-1) + bias


def _numbers(owner: int, batch: int) -> "torch.Tensor":
    import torch

    rows = [_mixed(owner, index, TOKENS * WIDTH) for index in range(batch)]
    return torch.tensor(rows, dtype=torch.float64).reshape(batch, TOKENS, WIDTH)


def _mixed(owner: int, occurrence: int, count: int) -> list[float]:
    return [mix(owner, occurrence, position) / 2**31 - 1 for position in range(count)]


class CameraReader:
    """Reads which row of which camera made something: an embedding, a scale, a shift, a result."""

    def __init__(self, batch: int) -> None:
        self._cameras = [(owner, _numbers(owner, batch)) for owner in (_OURS, _OTHERS)]
        self._hidden = hidden_rows(batch)

    def __call__(self, rows: Any) -> list[Origin | None]:
        """Return the origin of each row, given as what it is (`camera`, `scale`, ...) and it."""
        return [self._origin(kind, row) for kind, row in rows]

    def made(self, batch: int, token: int, row: "torch.Tensor") -> Origin | None:
        """Return whose camera turned a hidden row into a result; `no camera` if none did."""
        hidden = self._hidden[batch, token]
        if _near(row, hidden):
            return Origin("no camera", token)
        for owner, camera in self._cameras:
            scale, shift = scale_shift(camera)
            found = _place((1 + scale) * hidden + shift, row)
            if found is not None:
                return _named(owner, *found)
        return None

    def _origin(self, kind: str, row: Any) -> Origin | None:
        import torch

        for owner, camera in self._cameras:
            scale, shift = scale_shift(camera)
            known = {"camera": camera, "scale": scale, "shift": shift}[kind]
            found = _place(known, torch.as_tensor(row, dtype=torch.float64))
            if found is not None:
                return _named(owner, *found)
        return None


def _named(owner: int, batch: int, token: int) -> Origin:
    return Origin(batch if owner == _OURS else OTHER, token)


def _near(a: "torch.Tensor", b: "torch.Tensor") -> bool:
    return a.shape == b.shape and bool((a - b).abs().max() < _NEAR)


def _place(known: "torch.Tensor", row: "torch.Tensor") -> tuple[int, int] | None:
    if row.shape != known.shape[-1:]:
        return None
    near = ((known - row).abs().amax(-1) < _NEAR).nonzero().tolist()
    return (near[0][0], near[0][1]) if near else None
