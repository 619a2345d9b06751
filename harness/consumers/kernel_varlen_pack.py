"""kernel-varlen-pack: upstream's Triton kernels pack kept tokens, and scatter rows back.

Driven: `fused_pack_qkv` (entry `pack`), `build_inv_indices` (`inverse`), and both steps of the
way back, `build_inv_indices` and then `fused_scatter_to_padded` (`scatter`). Read: whose row
stands where, element by element, whether the whole is what torch makes by indexing, and whether
anything beside the tensors was written.

Provided, where Triton's interpreter runs it: torch's device module, see `harness.kernels.launch`.
The kernel of the way back is barred where the calibration does not trust the interpreter with
its mask: the checks before its launch run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.kernels.launch import as_its_twin, bar, beside, provide_host, rows_of
from harness.kernels.margins import Margins
from harness.kernels.trust import trust
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Needs, Upstream
from simulators.kernel_rows import PARTS, owner_name, owner_of
from simulators.payload import Payload
from simulators.varlen_rows import (
    honest_varlen,
    inverse_of,
    kept_positions,
    padded_length,
    told_indices,
)

#: Stands in the margins of indices: what is read there leads to the margin of the rows.
_INDEX_POISON = -1
_PADDING = "padding"
_PACKED = "packed row"


class KernelVarlenPack:
    """The consumer of kernel-varlen-pack."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._module = upstream.load(Needs(module))
        provide_host(device)
        if device == "cpu":
            why = trust().lacks(["mask of a number float32"])
            bar(self._module, "_fused_scatter_to_padded_kernel", why)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be packed."""
        return _passed(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what upstream made of the positions."""
        payload = lie.told(_honest(dims))

        def call() -> Output:
            margins = Margins()
            if dims["entry"] == "pack":
                return self._packed(margins, payload, dims)
            if dims["entry"] == "inverse":
                return self._inverse(margins, payload, dims)
            return self._scattered(margins, payload, dims)

        return Run(outcome_of(self._upstream, call), _passed(payload, dims))

    def _indices(self, margins: Margins, payload: Payload, dims: Mapping[str, str]) -> Any:
        told = told_indices(payload, dims["index"])
        if isinstance(told, list):
            return told
        poison = None if told.dtype == torch.bool else _INDEX_POISON
        return margins.around(told.to(self._device), "the indices", poison)

    def _packed(self, margins: Margins, payload: Payload, dims: Mapping[str, str]) -> Output:
        dense = [margins.around(payload.beside[p].to(self._device), p) for p in PARTS]
        indices = self._indices(margins, payload, dims)
        with margins:
            made = self._module.fused_pack_qkv(*dense, indices)
        kept = kept_positions(_lengths(dims))
        honest, found = _honest(dims), list[Span]()
        forms = []
        for part, rows in zip(PARTS, made, strict=True):
            forms.append(f"{tuple(rows.shape)}, {rows.dtype}")
            for head in range(int(dims["heads"])):
                wants = [Whose(owner_name(part, head), position) for position in kept]
                found += rows_of(f"packed {part}", wants, _whose(rows, head))
        if all(span.right for span in found):
            for part, rows in zip(PARTS, made, strict=True):
                found += as_its_twin(rows, honest.beside[part].flatten(0, 1)[kept])
        facts = {"the form of what is packed": "; ".join(forms)}
        return Output((*found, *beside(margins.written())), facts, made)

    def _inverse(self, margins: Margins, payload: Payload, dims: Mapping[str, str]) -> Output:
        indices = self._indices(margins, payload, dims)
        made = self._module.build_inv_indices(indices, payload.beside["total"])
        wants = _wanted_back(dims)
        has: list[Whose | None] = []
        for position, row in enumerate(made.tolist()):
            padding = Whose(_PADDING, position) if row == -1 else None
            has.append(Whose(_PACKED, row) if row >= 0 else padding)
        found = spans("the way back", wants, has, unit="positions")
        facts = {"the form of the way back": f"{tuple(made.shape)}, {made.dtype}"}
        return Output((*found, *beside(margins.written())), facts, made)

    def _scattered(self, margins: Margins, payload: Payload, dims: Mapping[str, str]) -> Output:
        indices = self._indices(margins, payload, dims)
        packed = margins.around(payload.beside["packed"].to(self._device), "packed")
        lengths = _lengths(dims)
        sizes = len(lengths), padded_length(lengths)
        back = self._module.build_inv_indices(indices, payload.beside["total"])
        with margins:
            made = self._module.fused_scatter_to_padded(packed, back, *sizes)
        found: list[Span] = []
        kept = set(kept_positions(lengths))
        for head in range(int(dims["heads"])):
            owner = owner_name("q", head)
            wants = [Whose(owner if p in kept else _PADDING, p) for p in range(sizes[0] * sizes[1])]
            rows = made.reshape(-1, *made.shape[2:])
            zeros = (rows[:, head] == 0).all(dim=1).tolist()
            has = [
                Whose(_PADDING, place) if is_zero else whose
                for place, (whose, is_zero) in enumerate(
                    zip(_whose(rows, head), zeros, strict=True)
                )
            ]
            found += rows_of("what is scattered back", wants, has)
        facts = {"the form of what is scattered back": f"{tuple(made.shape)}, {made.dtype}"}
        return Output((*found, *beside(margins.written())), facts, made)


def _lengths(dims: Mapping[str, str]) -> list[int]:
    return [int(length) for length in dims["lengths"].split(",")]


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_varlen(_lengths(dims), int(dims["heads"]), int(dims["width"]), dims["dtype"])


def _passed(payload: Payload, dims: Mapping[str, str]) -> Passed:
    lengths = _lengths(dims)
    told = {name: payload.beside[name] for name in (*PARTS, "packed")}
    request = {
        "entry": dims["entry"],
        "total": payload.beside["total"],
        "kept": kept_positions(lengths),
        "shape": (len(lengths), padded_length(lengths), int(dims["heads"]), int(dims["width"])),
        "dtype": f"torch.{dims['dtype']}",
    }
    return Passed({**told, "indices": told_indices(payload, dims["index"])}, request, owner_of)


def _whose(rows: torch.Tensor, head: int) -> Sequence[Whose | None]:
    if rows.ndim != 3 or head >= rows.shape[1]:
        return []
    origins = owner_of(rows[:, head].tolist())
    return [Whose(str(o.owner), o.position) if o is not None else None for o in origins]


def _wanted_back(dims: Mapping[str, str]) -> list[Whose]:
    lengths = _lengths(dims)
    total = len(lengths) * padded_length(lengths)
    back = inverse_of(kept_positions(lengths), total)
    return [
        Whose(_PACKED, back[place]) if place in back else Whose(_PADDING, place)
        for place in range(total)
    ]
