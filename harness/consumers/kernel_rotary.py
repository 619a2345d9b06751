"""kernel-rotary: upstream turns queries and keys by the angles of their positions.

Driven: `_apply_rotary_emb` (entry `rows`), which launches the Triton kernel of
`apply_rotary_embedding`, and `apply_flashinfer_rope_qk_inplace` without FlashInfer (`pair`), which
turns with torch, and with it (`flashinfer`), as LingBot's attention calls it. Read: of each row
that comes out, whose row it was and which position's angle turned it, all columns of it, from
complex products in float64; and whether anything beside the tensors was written.

Provided: that the platform is CUDA, which else takes torch in the place of the kernel; upstream's
facade of kernels, where it has one, with the real function; a logger; FlashInfer's kernel, in
torch, and with it, on a machine without a card, tensors that say they are on one; torch's device
module, see `harness.kernels.launch`. Triton's autotuner is the real one, told one of upstream's
configurations and not all, since it times them on a card: `config` says which.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch

from contracts.contract import Origin
from harness.consumers.consumer import Lacking, Lie, Output, outcome_of
from harness.kernels.launch import beside, landed, provide_host, rows_of
from harness.kernels.margins import Margins
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided
from simulators.payload import Payload
from simulators.rotary_rows import (
    PARTS,
    Sizes,
    Turned,
    angle_owner,
    honest_angles,
    row_owner,
    told_angles,
)

_RUNTIME = "sglang.multimodal_gen.runtime"
_CALLERS = f"{_RUNTIME}.layers.rotary_embedding.utils"
_FACADE = "sglang.kernels.ops.diffusion"
_PLATFORM = f"{_FACADE}.common.platform"
_KERNEL = "_rotary_embedding_kernel"
_OTHERS = ("npu", "mps", "cpu", "hip", "musa", "xpu")


def _turn_in_place(
    positions: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    head_size: int,
    cos_sin_cache: torch.Tensor,
    is_neox: bool,
) -> None:
    """Turn neighbouring columns in place, as FlashInfer's kernel does."""
    cos, sin = cos_sin_cache[positions].double().chunk(2, dim=-1)
    turn = torch.complex(cos, sin)[:, None]
    for rows in (query, key):
        pairs = rows.double().reshape(len(rows), -1, head_size // 2, 2)
        rows.copy_(torch.view_as_real(torch.view_as_complex(pairs) * turn).reshape(rows.shape))


#: FlashInfer, and how upstream makes an operator of its kernel.
_FLASHINFER: Mapping[str, Mapping[str, Any]] = {
    "flashinfer": {},
    "flashinfer.rope": {"apply_rope_with_cos_sin_cache_inplace": _turn_in_place},
    "sglang.srt.utils.custom_op": {"register_custom_op_from_extern": lambda kernel, **told: kernel},
}


class _OnCard(torch.Tensor):
    """A tensor of the CPU that says it is on a card."""

    is_cuda = True


class KernelRotary:
    """The consumer of kernel-rotary."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        others: dict[str, Any] = {f"is_{name}": lambda: False for name in _OTHERS}
        platform = Provided("Platform", is_cuda=lambda: True, **others)
        given: dict[str, Mapping[str, Any]] = {
            f"{_RUNTIME}.platforms": {"current_platform": platform}
        }
        has_facade = upstream.tree.file_of(_PLATFORM) is not None
        kernel = upstream.load(Needs(module, (_PLATFORM,) if has_facade else (), provided=given))
        given = dict(_FLASHINFER)
        if has_facade:
            given[_FACADE] = {"apply_rotary_embedding": kernel.apply_rotary_embedding}
        self._callers = upstream.load(Needs(_CALLERS, provided=given))
        provide_host(device)
        logger = Provided("logger", warning_once=lambda text: None)
        provide(self._callers, logger=logger)
        self._tuner = getattr(kernel, _KERNEL)
        self._configs = tuple(self._tuner.configs)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be turned."""
        payload = lie.told(_honest(dims))
        return self._passed(self._told(Margins(), payload, dims), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the rows were turned to."""
        payload = lie.told(_honest(dims))
        margins = Margins()
        told = self._told(margins, payload, dims)

        def call() -> Output:
            with margins:
                made = self._turned(told, dims)
            named = {part: rows.as_subclass(torch.Tensor) for part, rows in made.items()}
            forms = [f"{tuple(part.shape[-2:])}, {part.dtype}" for part in named.values()]
            found = [span for part, rows in named.items() for span in _read(part, rows, dims)]
            facts = {"the form of what is turned": "; ".join(forms)}
            return Output((*found, *beside(margins.written())), facts, made)

        # FlashInfer turns what it is given in place: what passed is looked at in a copy.
        passed = self._passed(self._told(Margins(), payload, dims), dims)
        return Run(outcome_of(self._upstream, lambda: landed(self._device, call)), passed)

    def _turned(self, told: Mapping[str, Any], dims: Mapping[str, str]) -> dict[str, torch.Tensor]:
        if dims["entry"] == "rows":
            number = int(dims["config"])
            if number >= len(self._configs):
                raise Lacking(f"this release's kernel has no configuration {number}")
            self._tuner.configs = [self._configs[number]]
            is_interleaved = dims["interleaved"] == "yes"
            made = self._callers._apply_rotary_emb(
                told["q"],
                told["cos"],
                told["sin"],
                is_neox_style=False,
                interleaved=is_interleaved,
            )
            return {"q": made}
        by_flashinfer = dims["entry"] == "flashinfer"
        turn = _turn_in_place if by_flashinfer else None
        provide(self._callers, flashinfer_apply_rope_inplace=turn)
        pair = (told["q"], told["k"], told["cache"])
        if by_flashinfer and self._device.type == "cpu":
            pair = tuple(map(_on_card, pair))
        made = self._callers.apply_flashinfer_rope_qk_inplace(
            *pair, head_size=told["head_size"], positions=told["positions"]
        )
        return dict(zip(PARTS, made, strict=True))

    def _told(self, margins: Margins, payload: Payload, dims: Mapping[str, str]) -> dict[str, Any]:
        angles = dict(zip(("cos", "sin"), told_angles(payload), strict=True))
        if dims["entry"] == "rows":
            parts = {"q": payload.beside["q"], **angles}
            return {name: self._around(margins, part, name) for name, part in parts.items()}
        pair = {part: self._around(margins, payload.beside[part], part) for part in PARTS}
        cos, sin = angles.values()
        # As upstream's callers join them; both must be of one length.
        count = min(len(cos), len(sin))
        cos, sin = cos[:count], sin[:count]
        cache = cos + sin if isinstance(cos, list) else torch.cat([cos, sin], dim=-1)
        positions = payload.beside["positions"]
        return {
            **pair,
            "cache": self._around(margins, cache, "the angles"),
            "head_size": payload.beside["head_size"],
            "positions": _positions(positions),
        }

    def _around(self, margins: Margins, tensor: Any, name: str) -> Any:
        if isinstance(tensor, list) or tensor.is_meta:
            return tensor
        return margins.around(tensor.to(self._device), name)

    def _passed(self, told: Mapping[str, Any], dims: Mapping[str, str]) -> Passed:
        request = {
            "entry": dims["entry"],
            "shape": _sizes(dims).shape,
            "dtype": f"torch.{dims['dtype']}",
            "interleaved": dims["interleaved"] == "yes",
        }
        return Passed(told, request, _reader(_sizes(dims)).owner_of)


def _sizes(dims: Mapping[str, str]) -> Sizes:
    return Sizes(*(int(dims[name]) for name in ("batch", "tokens", "heads", "width")))


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_angles(_sizes(dims), dims["dtype"], dims["positions"] == "given")


@lru_cache(maxsize=16)
def _reader(sizes: Sizes) -> Turned:
    return Turned(sizes)


def _on_card(tensor: Any) -> Any:
    return tensor if isinstance(tensor, list) else tensor.as_subclass(_OnCard)


def _positions(told: Any) -> Any:
    return torch.tensor(told) if isinstance(told, tuple) else told


def _read(part: str, made: torch.Tensor, dims: Mapping[str, str]) -> list[Span]:
    sizes = _sizes(dims)
    reader = _reader(sizes)
    rows: list[Span] = []
    turns: list[Span] = []
    angles = [Whose(angle_owner(), row % sizes.tokens) for row in range(sizes.rows)]
    for head in range(sizes.heads):
        read = reader.read(_rows_of_head(made, head))
        owner = row_owner(part, head)
        own = [Whose(owner, row) for row in range(sizes.rows)]
        rows += rows_of(f"turned {owner}", own, [_whose(pair, 0) for pair in read])
        turned = [_whose(pair, 1) for pair in read]
        turns += rows_of(f"what turns {part}", angles, turned, unit="angles")
    return [*rows, *turns]


def _whose(pair: Sequence[Origin] | None, lane: int) -> Whose | None:
    return None if pair is None else Whose(str(pair[lane].owner), pair[lane].position)


def _rows_of_head(made: torch.Tensor, head: int) -> Sequence[Sequence[float]]:
    if made.ndim < 3 or head >= made.shape[-2]:
        return []
    return made.flatten(0, -3)[:, head].tolist()
