"""kernel-pack-qkv: upstream's Triton kernel packs queries, keys and values for the other ranks.

Driven: `pack_qkv_destination_major`, from the three tensors to the packed one. Read: whose row
stands where, element by element, whether the whole is what torch makes of the same tensors by
reshaping and permuting them, and whether anything beside the tensors was written.

Provided, where Triton's interpreter runs it: torch's device module, see `harness.kernels.launch`;
the device that the kernel is for, by `_SUPPORTED_DEVICE_TYPES` from 0.5.23 on, and before by
tensors whose `is_cuda` is true. The kernel itself is as it is.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.kernels.launch import as_its_twin, beside, provide_host, rows_of
from harness.kernels.margins import Margins
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from simulators.kernel_rows import PARTS, honest_qkv, owner_name, owner_of
from simulators.payload import Payload

_TYPES = "_SUPPORTED_DEVICE_TYPES"


class _OnCard(torch.Tensor):
    """A tensor of the CPU that says it is on a card."""

    is_cuda = True


class KernelPackQkv:
    """The consumer of kernel-pack-qkv."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        loaded = upstream.load(Needs(module))
        provide_host(device)
        self._types = [self._device.type]
        if _TYPES in names(loaded):
            if device == "cpu":
                provide(loaded, **{_TYPES: ("cpu",)})
            self._types = list(getattr(loaded, _TYPES))
        self._pack = loaded.pack_qkv_destination_major
        self._takes_out = "out" in inspect.signature(self._pack).parameters

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be packed."""
        return self._passed(self._told(dims, lie), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the kernel packed."""
        payload = self._told(dims, lie)

        def call() -> Output:
            margins = Margins()
            named = zip(payload.records, PARTS, strict=True)
            parts = [self._around(margins, *pair) for pair in named]
            brought: dict[str, Any] = {}
            if payload.beside["out"] is not None and self._takes_out:
                out = payload.beside["out"]
                brought["out"] = out if out.is_meta else margins.around(out, "out")
            with margins:
                made = self._pack(*parts, payload.beside["world_size"], **brought)
            made = made.as_subclass(torch.Tensor)
            return _read(made, dims, margins.written())

        return Run(outcome_of(self._upstream, call), self._passed(payload, dims))

    def _told(self, dims: Mapping[str, str], lie: Lie) -> Payload:
        honest = honest_qkv(
            _shape(dims), int(dims["world"]), dims["dtype"], out=dims["out"] == "given"
        )
        payload = lie.told(honest)
        return payload.with_records([self._here(tensor) for tensor in payload.records])

    def _here(self, tensor: torch.Tensor) -> torch.Tensor:
        # `to` would lose strides of zero.
        return tensor if tensor.is_meta or self._device.type == "cpu" else tensor.to(self._device)

    def _around(self, margins: Margins, tensor: torch.Tensor, name: str) -> torch.Tensor:
        if tensor.is_meta:
            return tensor
        made = margins.around(tensor, name)
        return made.as_subclass(_OnCard) if self._device.type == "cpu" else made

    def _passed(self, payload: Payload, dims: Mapping[str, str]) -> Passed:
        told = {**dict(zip(PARTS, payload.records, strict=True)), **payload.beside}
        request = {
            "shape": _shape(dims),
            "dtype": f"torch.{dims['dtype']}",
            "world_size": int(dims["world"]),
            "device_types": self._types,
            "takes_out": self._takes_out,
        }
        return Passed(told, request, owner_of)


def _shape(dims: Mapping[str, str]) -> tuple[int, int, int]:
    return int(dims["rows"]), int(dims["heads"]), int(dims["width"])


def _read(made: torch.Tensor, dims: Mapping[str, str], written: str) -> Output:
    rows, heads, width = _shape(dims)
    ranks = int(dims["world"])
    share = heads // ranks
    facts = {
        "the form of what is packed": f"{tuple(made.shape)}, {made.dtype}",
    }
    found: list[Span] = []
    for head in range(heads):
        rank, slot = divmod(head, share)
        for place, part in enumerate(PARTS):
            columns = slice(place * width, (place + 1) * width)
            wants = [Whose(owner_name(part, head), row) for row in range(rows)]
            has = _whose(made, rank, slot, columns)
            found += rows_of(f"what rank {rank} gets", wants, has)
    if all(span.right for span in found):
        found += as_its_twin(made, _twin(dims))
    return Output((*found, *beside(written)), facts, made)


def _whose(made: torch.Tensor, rank: int, slot: int, columns: slice) -> list[Whose | None]:
    if made.ndim != 4 or rank >= made.shape[0] or slot >= made.shape[2]:
        return []
    origins = owner_of(made[rank, :, slot, columns].tolist())
    return [Whose(str(o.owner), o.position) if o is not None else None for o in origins]


def _twin(dims: Mapping[str, str]) -> torch.Tensor:
    """Return what torch packs of the honest tensors, by reshaping and permuting them."""
    (rows, heads, width), ranks = _shape(dims), int(dims["world"])
    honest = honest_qkv((rows, heads, width), ranks, dims["dtype"]).records
    turned = [t.reshape(rows, ranks, heads // ranks, width).permute(1, 0, 2, 3) for t in honest]
    return torch.cat(turned, dim=-1)
