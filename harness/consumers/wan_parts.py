"""The Wan VAE's causal convolution, loaded for real: its kernels, what calls them, its cache.

Provided: the platform, which is a card's; a logger; that upstream's CUDA kernel cannot be built,
so that the Triton kernel is used, as upstream has it then; and the convolution behind it all, which
returns what it gets.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import torch

from harness.consumers.glm_image_stage import quiet_logger
from harness.kernels.launch import provide_host
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided

_RUNTIME = "sglang.multimodal_gen.runtime"
_CALLER = f"{_RUNTIME}.layers.parallel_conv"
_WAN = f"{_RUNTIME}.models.vaes.wanvae"
_OPS = "sglang.kernels.ops.diffusion"
#: Upstream's modules by the names that they had, the newest first.
_CUDA = (
    "sglang.kernels.kda_kernels.causal_conv3d_cat_pad_jit",
    f"{_OPS}.layout.causal_conv3d_cat_pad_jit",
    f"{_OPS}.causal_conv3d_cat_pad",
    "sglang.jit_kernel.diffusion.causal_conv3d_cat_pad",
)
_CACHED = (f"{_OPS}.layout.wan_causal_cache_triton", f"{_OPS}.triton.wan_causal_cache")
#: Kernels for what comes behind the convolution, which are None where upstream has none.
_BEHIND = ("conv_bias_epilogue", "can_use_conv_bias_epilogue", "dup_up3d_add")
_FAILED = "_causal_conv3d_cat_pad_cuda_failed"


def _not_built(dtype: torch.dtype) -> NoReturn:
    raise RuntimeError("the CUDA kernel is not built here")


class WanParts:
    """The real modules, and a convolution made of them."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        provide_host(device)
        self._upstream = upstream
        self.pad = upstream.load(Needs(module)).fused_causal_conv3d_cat_pad
        built = upstream.load(Needs(self._there(_CUDA)))
        provide(built, _jit_causal_conv3d_cat_pad_module=_not_built)
        can = "can_use_fused_causal_conv3d_cat_pad_cuda"
        cuda = "fused_causal_conv3d_cat_pad_cuda"
        kernels: dict[str, Any] = {
            "fused_causal_conv3d_cat_pad": self.pad,
            can: getattr(built, can),
            cuda: getattr(built, cuda),
        }
        has_cache = any(upstream.tree.file_of(name) for name in _CACHED)
        if has_cache:
            cached = upstream.load(Needs(self._there(_CACHED)))
            kernels["cat_pad_channels_last_3d"] = cached.cat_pad_channels_last_3d
            kernels |= dict.fromkeys(_BEHIND)
        platform = Provided("the platform", is_cuda=lambda: True, is_amp_supported=lambda: True)
        given = {
            _OPS: kernels,
            f"{_RUNTIME}.platforms": {"current_platform": platform},
            f"{_RUNTIME}.utils.logging_utils": {"init_logger": quiet_logger},
        }
        self._caller = upstream.load(Needs(_CALLER, provided=given))
        self._wan = upstream.load(Needs(_WAN, provided=given)) if has_cache else None

    def _there(self, names: tuple[str, ...]) -> str:
        return next(name for name in names if self._upstream.tree.file_of(name))

    def caller(self) -> Callable[..., Any]:
        """Return `causal_conv3d_cat_pad`, before anything has failed."""
        provide(self._caller, **{_FAILED: False})
        return self._caller.causal_conv3d_cat_pad  # type: ignore[no-any-return]

    def cached_run(self, channels: int, padding: Any) -> Callable[..., Any] | None:
        """Return `_run_cached_causal_conv` for one convolution, from a chunk and a list of caches.

        It returns what the convolution gets, and puts the next cache into the list. None where a
        release has no such function.

        Args:
            channels: How many the convolution is for.
            padding: Its own.
        """
        if self._wan is None:
            return None
        run = self._wan._run_cached_causal_conv
        self.caller()
        conv = self._wan.WanCausalConv3d(channels, channels, 3, padding=1)
        conv.weight.data = conv.weight.data.to(memory_format=torch.channels_last_3d)
        conv.bias = None
        conv._padding = padding
        conv._conv_forward = lambda given, weight, bias: given
        return lambda new, caches: run(conv, new, caches, 0)
