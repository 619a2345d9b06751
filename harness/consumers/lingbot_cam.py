"""lingbot-cam: upstream's camera conditioner turns hidden states by a camera's embedding.

Driven: `LingBotWorldCamConditioner.forward`, with small real weights. Provided, by name: the
two-layer perceptron, whose file needs tensor-parallel layers, with upstream's names of its parts;
and that the kernels of AITER are not used.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from contracts.contract import Origin
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from simulators.camera_rows import (
    TOKENS,
    WIDTH,
    CameraReader,
    hidden_rows,
    honest_camera,
    weights,
)

_RUNTIME = "sglang.multimodal_gen.runtime"


class CameraMlp(nn.Module):
    """Two linear layers with SiLU between them, as upstream's perceptron on one rank."""

    def __init__(
        self, input_dim: int, mlp_hidden_dim: int, output_dim: int, *, bias: bool, act_type: str
    ) -> None:
        super().__init__()
        if act_type != "silu" or not bias:
            raise ValueError(f"only SiLU with a bias is provided, not {act_type}, bias={bias}")
        self.fc_in = nn.Linear(input_dim, mlp_hidden_dim)
        self.fc_out = nn.Linear(mlp_hidden_dim, output_dim)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return what the two layers make of rows."""
        return self.fc_out(nn.functional.silu(self.fc_in(rows)))  # type: ignore[no-any-return]


class LingbotCam:
    """The consumer of lingbot-cam."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        lingbot = upstream.load(
            Needs(
                module,
                provided={
                    f"{_RUNTIME}.layers.mlp": {"MLP": CameraMlp},
                    f"{_RUNTIME}.platforms.aiter": {"USE_AITER": False},
                },
            )
        )
        # Installed, the real one would ask for a group of tensor-parallel ranks.
        provide(lingbot, MLP=CameraMlp)
        self._conditioner = lingbot.LingBotWorldCamConditioner(WIDTH)
        self._conditioner.load_state_dict(dict(weights()))
        self._conditioner.to(self._device)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the camera as the conditioner would be given it."""
        return _passed(dims, lie, self._device)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return whose camera turned each row of the hidden states."""
        passed = _passed(dims, lie, self._device)
        hidden = hidden_rows(passed.request["shape"][0]).float().to(self._device)

        def call() -> Output:
            camera, pair = passed.payload["camera"], passed.payload["scale_shift"]
            with torch.no_grad():
                turned = self._conditioner(hidden.clone(), camera, pair)
            return _read(turned, passed)

        return Run(outcome_of(self._upstream, call), passed)


def _passed(dims: Mapping[str, str], lie: Lie, device: torch.device) -> Passed:
    batch, ready = int(dims["records"]), dims["entry"] == "ready"
    record = lie.told(honest_camera(batch, ready)).records[0]
    told = {name: _on(device, part) for name, part in record.items()}
    request = {"shape": (batch, TOKENS, WIDTH), "dtype": "torch.float32", "ready": ready}
    return Passed(told, request, CameraReader(batch))


def _on(device: torch.device, part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_on(device, one) for one in part)
    return part.to(device) if isinstance(part, torch.Tensor) else part


def _read(turned: torch.Tensor, passed: Passed) -> Output:
    facts = {
        "the shape of the hidden states": str(tuple(turned.shape)),
        "the kind of the hidden states": str(turned.dtype),
    }
    found: list[Span] = []
    if tuple(turned.shape) == passed.request["shape"]:
        rows = turned.double().cpu()
        for batch in range(len(rows)):
            found += _of_batch(batch, rows[batch], passed)
    return Output(tuple(found), facts, turned)


def _of_batch(batch: int, rows: torch.Tensor, passed: Passed) -> tuple[Span, ...]:
    reader = passed.owner_of
    assert isinstance(reader, CameraReader)
    wants = [Whose(f"camera {batch}", token) for token in range(len(rows))]
    origins = [reader.made(batch, token, row) for token, row in enumerate(rows)]
    return spans(f"batch row {batch}", wants, [_whose(o) for o in origins], unit="rows")


def _whose(origin: Origin | None) -> Whose | None:
    if origin is None:
        return None
    own = isinstance(origin.owner, int)
    return Whose(f"camera {origin.owner}" if own else str(origin.owner), origin.position)
