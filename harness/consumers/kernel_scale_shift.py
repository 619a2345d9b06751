"""kernel-scale-shift: upstream's Triton kernels apply a scale and a shift to hidden states.

Driven: `fuse_scale_shift_kernel` (entry `kernel`), and the layer `MulAdd` as it is called on a card
(entry `layer`). Read: of each token whose row it is, and whose scale and shift it got; whether the
whole is what torch makes of the same rows in float64; and whether anything beside the tensors was
written.

Provided: the platform, which says that it is CUDA, or AMD's where the case says `gpu=hip`; that the
card is none of AMD's newest; and a `torch.compile` that compiles nothing while the layer's file is
loaded, for the one way of it that is MUSA's. Where Triton's interpreter runs the kernels: tensors
whose `is_cuda` is true, torch's device module (see `harness.kernels.launch`), and, for the releases
that tune a kernel, a clock by which all settings take no time: the first one is chosen.
"""

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.kernels.launch import as_its_twin, beside, landed, provide_host, rows_of
from harness.kernels.margins import Margins
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided
from simulators.modulated_rows import (
    PARTS,
    OutputReader,
    Sizes,
    honest_modulation,
    owner_name,
    owner_of,
    place_of,
    places_of,
    shape_of,
    twin_of,
)
from simulators.payload import Payload

_RUNTIME = "sglang.multimodal_gen.runtime"
_DIFFUSION = "sglang.kernels.ops.diffusion"
_PLATFORMS = ("cuda", "hip", "npu", "mps", "musa", "xpu", "cpu", "out_of_tree")
_TUNED = "_fused_scale_shift_4d_kernel"
#: What a token gets, in words.
_LANES = ("request {}'s x", "request {}'s scale", "request {}'s shift")


class _OnCard(torch.Tensor):
    """A tensor of the CPU that says it is on a card."""

    is_cuda = True


class KernelScaleShift:
    """The consumer of kernel-scale-shift."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._gpu = "cuda"
        platform = Provided("Platform", **{f"is_{name}": self._is(name) for name in _PLATFORMS})
        given: dict[str, dict[str, Any]] = {
            f"{_RUNTIME}.platforms": {"current_platform": platform},
            "sglang.srt.utils": {"is_gfx1250_supported": lambda: False},
        }
        asked = f"{_DIFFUSION}.common.platform"
        real = (asked,) if upstream.tree.file_of(asked) is not None else ()
        loaded = upstream.load(Needs(module, real, provided=given))
        kernel = getattr(loaded, _TUNED)
        if device == "cpu" and hasattr(kernel, "configs"):
            kernel.do_bench = lambda call, quantiles: [0.0 for _ in quantiles]
        self._fuse = loaded.fuse_scale_shift_kernel
        self._layer = self._built(given, platform)
        provide_host(device)

    def _is(self, name: str) -> Any:
        return lambda: name == self._gpu

    def _built(self, given: dict[str, dict[str, Any]], platform: Provided) -> Any:
        """Return the layer, which chose its way as it was built."""
        above = f"{_RUNTIME}.layers.custom_op"
        given = {**given, _DIFFUSION: {"fuse_scale_shift_kernel": self._fuse}}
        compiles, torch.compile = torch.compile, lambda function: function  # type: ignore[assignment]
        try:
            needs = Needs(f"{_RUNTIME}.layers.elementwise", (above,), provided=given)
            layers = self._upstream.load(needs)
        finally:
            torch.compile = compiles
        if "platforms" in names(sys.modules[above]):
            answering = Provided("platforms", current_platform=platform)
            provide(sys.modules[above], platforms=answering)
        return layers.MulAdd()

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be applied."""
        return self._passed(self._told(dims, lie), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the kernels made of the hidden states."""
        payload = self._told(dims, lie)
        self._gpu = dims["gpu"]

        def call() -> Output:
            margins = Margins()
            told = zip(payload.records, PARTS, strict=True)
            tensors = [self._around(margins, tensor, part) for tensor, part in told]
            constant = payload.beside["constant"]
            with margins:
                if dims["entry"] == "layer":
                    made = self._layer(*tensors, k=constant)
                else:
                    made = self._fuse(*tensors, scale_constant=constant)
            made = made.as_subclass(torch.Tensor)
            return _read(made, dims, margins.written())

        return Run(
            outcome_of(self._upstream, lambda: landed(self._device, call)),
            self._passed(payload, dims),
        )

    def _told(self, dims: Mapping[str, str], lie: Lie) -> Payload:
        payload = lie.told(_honest(dims))
        return payload.with_records([self._here(record) for record in payload.records])

    def _here(self, record: Any) -> Any:
        # `to` would lose strides of zero.
        stays = not isinstance(record, torch.Tensor) or record.is_meta
        return record if stays or self._device.type == "cpu" else record.to(self._device)

    def _around(self, margins: Margins, record: Any, name: str) -> Any:
        if not isinstance(record, torch.Tensor) or record.is_meta:
            return record
        made = margins.around(record, name)
        return made.as_subclass(_OnCard) if self._device.type == "cpu" else made

    def _passed(self, payload: Payload, dims: Mapping[str, str]) -> Passed:
        told = {**dict(zip(PARTS, payload.records, strict=True)), **payload.beside}
        layouts = dict(zip(PARTS, ("token", *_layouts(dims)), strict=True))
        sizes = _sizes(dims)
        request = {
            "shapes": {part: shape_of(layout, sizes) for part, layout in layouts.items()},
            "rows": {
                part: [(owner_name(part, whose), row) for whose, row in places_of(layout, sizes)]
                for part, layout in layouts.items()
            },
            "dtype": f"torch.{dims['dtype']}",
            "constant": float(dims["constant"]),
            "device": self._device.type,
            "gpu": dims["gpu"],
        }
        return Passed(told, request, owner_of)


def _sizes(dims: Mapping[str, str]) -> Sizes:
    return Sizes(*(int(dims[name]) for name in ("requests", "tokens", "frames", "width")))


def _layouts(dims: Mapping[str, str]) -> tuple[str, str]:
    return dims["scale"], dims["shift"]


def _honest(dims: Mapping[str, str]) -> Payload:
    constant = float(dims["constant"])
    return honest_modulation(_layouts(dims), _sizes(dims), constant, dims["dtype"])


@lru_cache(maxsize=64)
def _reader(layouts: tuple[str, str], sizes: Sizes, constant: float) -> OutputReader:
    return OutputReader(layouts, sizes, constant)


def _read(made: torch.Tensor, dims: Mapping[str, str], written: str) -> Output:
    layouts, sizes = _layouts(dims), _sizes(dims)
    reader = _reader(layouts, sizes, float(dims["constant"]))
    whole = made.double().tolist() if made.ndim == 3 else []
    lanes: list[tuple[str, list[Whose], list[Whose | None]]] = []
    for request in range(max(sizes.requests, len(whole))):
        rows = whole[request] if request < len(whole) else []
        known = [reader.origins(row) for row in rows]
        count = sizes.tokens if request < sizes.requests else 0
        for lane, part in enumerate(PARTS):
            layout = ("token", *layouts)[lane]
            places = (place_of(layout, sizes, request, token) for token in range(count))
            wants = [Whose(owner_name(part, owner), row) for owner, row in places]
            has = [Whose(str(o.owner), o.position) if (o := one[lane]) else None for one in known]
            lanes.append((_LANES[lane].format(request), wants, has))
    found: list[Span] = []
    for place, wants, has in lanes:
        found += rows_of(place, wants, has)
    if all(span.right for span in found):
        found += as_its_twin(made, twin_of(_honest(dims), layouts, sizes))
    facts = {"the form of the hidden states": f"{tuple(made.shape)}, {made.dtype}"}
    return Output((*found, *beside(written)), facts, made)
