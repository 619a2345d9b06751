"""LingBot's model, attention and denoising stage, loaded for real and built with small parts.

Provided, by name: the base of models and what offloads their layers, which do nothing here; the
attention inside a layer, which is only built; the names of its backends; the platform; the names
under which a request keeps things; and that kernels of AITER and of CUDA are not used.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided
from simulators.degrees import PATCH

_RUNTIME = "sglang.multimodal_gen.runtime"
_STAGE = (
    f"{_RUNTIME}.pipelines_core.stages.model_specific_stages.lingbot_world."
    "lingbot_world_causal_denoising"
)
_ROTARY = f"{_RUNTIME}.layers.rotary_embedding"
#: Two columns for each of a position's three coordinates.
HEAD_DIM = 6
_FREQUENCY_BASE = 10000
_FLAG = "enable_sequence_shard"
#: Upstream's names of what is kept from one step of a request to the next; releases move them.
_KEPT = (
    "LINGBOT_ROPE_CACHE",
    "LINGBOT_SEQUENCE_SHARD_ROPE_CACHE",
    "LINGBOT_TIME_EMBEDDINGS_CACHE",
)


class _Offloadable:
    """Stands for what moves layers between memories: here all stays."""


class _LocalAttention(nn.Module):
    """Attention as it is built: how many heads it is for."""

    def __init__(self, num_heads: int, head_size: int, **rest: Any) -> None:
        super().__init__()
        self.num_heads, self.head_size = num_heads, head_size


class SharingRequest(Provided):
    """A request with the flag, if it is told, and with the splits that the model stores."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        flag = {_FLAG: told["shard"]} if "shard" in told else {}
        super().__init__("Req", session=None, extra={}, sequence_shard_splits=None, **flag)

    def __getattr__(self, name: str) -> Any:
        # Upstream asks for the flag with a default, so it may be missing.
        if name == _FLAG:
            raise AttributeError(name)
        return super().__getattr__(name)


class LingbotParts:
    """The real modules, and what is built of them."""

    def __init__(self, upstream: Upstream, module: str) -> None:
        self.rotary = upstream.load(Needs(f"{_ROTARY}.mrope"))
        self._embedding = self.rotary.NDRotaryEmbedding
        parent = upstream.load(_needs_of_parent())
        given = {_ROTARY: {"NDRotaryEmbedding": self._embedding}}
        given[f"{_RUNTIME}.platforms.aiter"] = {"USE_AITER": False}
        self.dit = upstream.load(Needs(module, provided=given))
        self.stage = upstream.load(Needs(_STAGE))
        platform = Provided("Platform", is_mps=lambda: False, is_float64_supported=lambda: True)
        backends = Provided("AttentionBackendEnum", FA="fa", AITER="aiter", TORCH_SDPA="sdpa")
        for loaded in (parent, self.dit):
            provide(loaded, LocalAttention=_LocalAttention, AttentionBackendEnum=backends)
        provide(
            self.dit,
            current_platform=platform,
            _is_cuda=False,
            get_rotary_pos_embed=self._rotary_of_grid,
            **{name: name.lower() for name in _KEPT},
        )

    @contextmanager
    def context(self, request: SharingRequest) -> Iterator[None]:
        """Make a request the one whose forward runs."""
        context = Provided("ForwardContext", forward_batch=request, current_timestep=0)
        provide(self.dit, get_forward_context=lambda: context)
        yield

    def model(self, heads: int, group_size: Any, block: Callable[..., Any]) -> Any:
        """Return a model of one block, with the members that its `__init__` sets.

        Args:
            heads: How many heads it has.
            group_size: How many ranks it is told that there are.
            block: What stands for its block.
        """
        model = object.__new__(self.dit.CausalLingBotWorldTransformer3DModel)
        nn.Module.__init__(model)
        width = heads * HEAD_DIM
        model.sp_size, model.patch_size = group_size, (1, PATCH, PATCH)
        model.hidden_size, model.num_attention_heads = width, heads
        model.rope_dim_list = [HEAD_DIM // 3] * 3
        model.rotary_emb = self._embedding_of(model.rope_dim_list, torch.float64)
        model.patch_embedding = lambda latents: latents[..., ::PATCH, ::PATCH]
        model.condition_embedder = Provided(
            "WanTimeTextImageEmbedding",
            time_embedder=lambda timestep: timestep.new_zeros(len(timestep), width),
            time_modulation=lambda embedded: embedded.new_zeros(len(embedded), 6 * width),
        )
        model.blocks, model.block_mask = [block], None
        return model

    def denoising_stage(self, heads: Any) -> Any:
        """Return a stage whose transformer has so many heads."""
        stage = object.__new__(self.stage.LingBotWorldCausalDMDDenoisingStage)
        stage.transformer = Provided("transformer", num_attention_heads=heads)
        return stage

    def _embedding_of(self, sizes: list[int], dtype: torch.dtype) -> Any:
        return self._embedding(rope_dim_list=sizes, rope_theta=_FREQUENCY_BASE, dtype=dtype)

    def _rotary_of_grid(
        self,
        grid: tuple[int, int, int],
        hidden_size: int,
        heads: int,
        sizes: list[int],
        *,
        dtype: torch.dtype,
        rope_theta: int,
        start_frame: int,
    ) -> Any:
        # Upstream's keeps what it made, and a process is one rank there: here it is all of them.
        embedding = self._embedding_of(sizes, dtype)
        return embedding.forward_from_grid(grid_size=grid, shard_dim=0, start_frame=start_frame)


def _needs_of_parent() -> Needs:
    dits = f"{_RUNTIME}.models.dits"
    offload = f"{_RUNTIME}.managers.memory_managers.layerwise_offload"
    return Needs(
        f"{dits}.causal_wanvideo",
        provided={
            f"{dits}.base": {"BaseDiT": nn.Module},
            offload: {"LayerwiseOffloadableModuleMixin": _Offloadable},
        },
    )
