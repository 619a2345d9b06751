"""LingBot's model file on the ranks of a real group: how it is loaded, and what it is given.

For real: the model's file, the exchanges (`layers.usp`) and the cache. Provided, by name: the
parallel state of the group; the forward context; a platform that is a CPU; rotary embedding as the
identity, for stamps must come through; the parent attention, which is what runs without a cache,
and the local one, as torch's scaled dot product; the merge of heads, as upstream's own eager form;
and that neither AITER nor an exchange over CUDA IPC is there.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

import torch
from torch import nn

from harness.consumers.parallel_state import ParallelState, none, one
from harness.upstream import stub_names
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.touches import Provided, without
from simulators.scheduler import MISSING, Told

_RUNTIME = "sglang.multimodal_gen.runtime"
USP = f"{_RUNTIME}.layers.usp"
KV_CACHE = f"{_RUNTIME}.layers.kvcache.causal_attention_cache"
LINGBOT = f"{_RUNTIME}.models.dits.lingbot_world"
_IPC = f"{_RUNTIME}.distributed.device_communicators.ipc_a2a"
#: Upstream imports both where rows are exchanged: the second for rows of a card, from 0.5.22 on.
_NO_IPC: dict[str, dict[str, Any]] = {
    _IPC: {"ipc_a2a_ready": lambda group: False},
    f"{_IPC}_multi": {
        "ipc_a2a_multi_ready": lambda group: False,
        "IPC_A2A_MULTI": Provided("the exchange over CUDA IPC"),
    },
}
#: What the exchanges import that takes a while.
_TORCH_PARTS = ("torch.distributed.tensor.experimental._attention",)


class LocalAttention(nn.Module):
    """Attention of rows over rows, (batch, rows, heads, width)."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return what the queries make of the keys and values."""
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)


class ParentAttention(nn.Module):
    """What LingBot's attention derives from: without a cache, rows attend to the call's rows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        freqs_cis: object,
        block_mask: object,
        kv_cache: object = None,
        current_start: int = 0,
        cache_start: int | None = None,
    ) -> torch.Tensor:
        """Return attention over the rows of the call."""
        return LocalAttention()(q, k, v)  # type: ignore[no-any-return]


class ForwardContext:
    """The forward context of a rank: the batch that the scheduler tells it about."""

    def __init__(self) -> None:
        self._batch: Provided | None = None

    def tell(self, told: Told) -> None:
        """Give the rank its batch."""
        fields = {
            "enable_sequence_shard": told.enabled,
            "sequence_shard_splits": told.splits,
            "realtime_causal_kv_sample_tokens": None,
        }
        known = {name: value for name, value in fields.items() if value is not MISSING}
        batch = without(Provided("the batch", **known), set(fields) - set(known))
        self._batch = batch if told.batch else None

    def __call__(self) -> Provided:
        """Return the context, as upstream asks for it."""
        return Provided("the forward context", forward_batch=self._batch, current_timestep=0)


def load_usp(upstream: Upstream, state: ParallelState, real: tuple[str, ...] = ()) -> ModuleType:
    """Return the exchanges' module, bound to the parallel state of this process's rank."""
    usp = upstream.load(Needs(USP, real=real, preload=_TORCH_PARTS, provided=_NO_IPC))
    bind_usp(usp, state)
    return usp


def bind_usp(usp: ModuleType, state: ParallelState) -> None:
    """Give the exchanges what they ask of their surroundings."""
    platform = Provided("the platform", is_cpu=lambda: True)
    _provide_known(
        usp,
        current_platform=platform,
        usp_merge_heads=lambda rows: rows.permute(2, 1, 0, 3, 4).contiguous(),
    )
    provide(
        usp,
        get_ulysses_parallel_world_size=state.ranks,
        get_ulysses_parallel_rank=state.rank,
        get_sp_group=state.group,
    )


def load_lingbot(upstream: Upstream, state: ParallelState, context: ForwardContext) -> ModuleType:
    """Return the model's module, bound to the rank and the batch of this process."""
    lingbot = upstream.load(
        Needs(
            LINGBOT,
            real=(KV_CACHE, USP),
            preload=_TORCH_PARTS,
            provided={
                f"{_RUNTIME}.platforms.aiter": {"USE_AITER": False},
                f"{_RUNTIME}.models.dits.causal_wanvideo": {
                    "CausalWanSelfAttention": ParentAttention
                },
                **_NO_IPC,
            },
        )
    )
    bind_usp(importlib.import_module(USP), state)
    provide(
        lingbot,
        get_forward_context=context,
        get_ulysses_parallel_world_size=state.ranks,
        get_ring_parallel_world_size=one,
        get_sp_group=state.group,
        get_sp_parallel_rank=state.rank,
        get_sp_world_size=state.ranks,
        get_tp_rank=none,
        sequence_model_parallel_all_gather=state.gathered,
        _apply_rotary_emb=lambda rows, cos, sin, is_neox_style: rows,
        _is_cuda=False,
    )
    # Installed, the real parent would compile a kernel.
    parent = lingbot.LingBotWorldCausalSelfAttention.__mro__[1]
    parent.forward = ParentAttention.forward
    return lingbot


def cache_module() -> ModuleType:
    """Return the cache's module, which `load_lingbot` has loaded."""
    return sys.modules[KV_CACHE]


def attention(lingbot: ModuleType, heads: int, width: int) -> Any:
    """Return one attention block of the model, with the local attentions that are provided."""
    kind = lingbot.LingBotWorldCausalSelfAttention
    made = kind.__new__(kind)
    nn.Module.__init__(made)
    for name in ("attn", "ulysses_attn", "full_head_attn"):
        setattr(made, name, LocalAttention())
    made.num_heads, made.head_dim, made.head_start = heads, width, 0
    return made


def _provide_known(module: ModuleType, **members: Any) -> None:
    """Give names real content where this release has them; what it has not it cannot ask for."""
    names = stub_names.names(module)
    provide(module, **{name: value for name, value in members.items() if name in names})
