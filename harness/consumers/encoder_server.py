"""Upstream's EPD encoder, with a simulated preprocessor before it and a simulated model in it.

Loaded for real: the server's module with the receiver's, the preprocessor's and the cache's, and
the modules that their requests and media items are made of. Before 0.5.19 all but the receiver
is one module, and its preprocessor one of its methods.

Provided, by name: the preprocessor (its counts, grids and pixel features), the model's image
feature function, a tensor-parallel group of one rank, whether the prefix cache is on, and how an
item is hashed (by its features, as upstream does). The registry of announced sizes is upstream's,
a fresh one each time. The encoder is built without its constructor, which loads a model. Pixel
features are honest: one row of zeros for each patch that a grid says.
"""

import asyncio
import enum
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided, without
from simulators.encoder import RULES, WIDTH, Encoded
from simulators.encoder_rules import tokens_of_grid

#: The modules of the two generations of the server.
SERVER = "sglang.srt.disaggregation.encoder.server"
OLD_SERVER = "sglang.srt.disaggregation.encode_server"
#: Modules that the server's requests and items are made of, leaves first; a release lacks some.
REAL = (
    "sglang.srt.constants",
    "sglang.srt.utils.msgspec_utils",
    "sglang.srt.utils.field_validators",
    "sglang.srt.utils.weight_versions",
    "sglang.srt.utils.msgpack_utils",
    "sglang.srt.beam_search.types",
    "sglang.srt.managers.embed_types",
    "sglang.srt.managers.kv_hints",
    "sglang.srt.sampling.watermarking.core",
    "sglang.srt.sampling.sampling_params",
    "sglang.srt.sampling.sampling_mask",
    "sglang.srt.lora.lora_registry",
    "sglang.srt.multimodal.modality",
    "sglang.srt.managers.schedule_batch",
    "sglang.srt.managers.io_struct",
    "sglang.srt.multimodal.encoder_preprocessing",
    "sglang.srt.mem_cache.multimodal_cache",
    "sglang.srt.disaggregation.encode_receiver",
    "sglang.srt.disaggregation.encoder.receiver",
    "sglang.srt.disaggregation.encoder.preprocessor",
)
FORWARD = "sglang.srt.model_executor.forward_batch_info"
#: Dtype of the model's rows.
DTYPE = torch.float32
_MODEL = "qwen2_vl"
#: What a real model may lack, and what upstream asks for.
_OPTIONAL = ("thinker", "preprocess_mm_for_encoder", "encode_video_audio")
_WAIT_S = 1.0


class CaptureHiddenMode(enum.IntEnum):
    """How hidden states are captured: not at all, the last ones, all."""

    NULL = 0
    LAST = 1
    FULL = 2


@dataclass(frozen=True)
class Made:
    """What preprocessor and model give for one batch."""

    items: Sequence[Encoded]
    #: How many items each request has.
    layout: Sequence[int]
    #: Returns what the encoder makes.
    rows: Callable[[], Any]
    #: Columns of the model's rows, as the server knows them.
    width: int = WIDTH


class EncoderServer:
    """Upstream's encoder server of one release."""

    def __init__(
        self, upstream: Upstream, module: str, device: str, also: Sequence[str] = ()
    ) -> None:
        """Load the server's module, and of upstream's modules `also` those that a release has."""
        there = tuple(name for name in (*also, *REAL) if upstream.tree.file_of(name))
        provided: dict[str, dict[str, Any]] = {
            FORWARD: {"CaptureHiddenMode": CaptureHiddenMode},
            # Where the package is missing: it marks a parameter of a route, which is not called.
            "fastapi": {"Body": lambda: "the body of a request"},
        }
        self.module: ModuleType = upstream.load(Needs(module, real=there, provided=provided))
        self.splits_preprocessor = module == SERVER
        self.device = torch.device(device)
        mm = Provided("the multimodal settings", enable_prefix_mm_cache=False)
        self._mm = mm
        self.module.MultimodalDataItem.set_pad_value = _hash_item
        self._give(get_mm=lambda: mm)
        self.joins(Provided("tp_group", world_size=1))

    def joins(self, group: Provided) -> None:
        """Let the server be in a tensor-parallel group."""
        self._give(
            get_tp_group=lambda: group,
            get_parallel=lambda: Provided("the parallel state", tp_group=group),
        )

    def _give(self, **members: Any) -> None:
        known = names(self.module)
        provide(self.module, **{name: given for name, given in members.items() if name in known})

    def encoder(self, made: Made, cache: Any = None) -> Any:
        """Return an encoder whose preprocessor and model give what was made.

        Args:
            made: What they give.
            cache: The prefix cache, if it is on.
        """
        encoder = self.bare(lambda items: made.rows(), cache)
        if self.splits_preprocessor:
            encoder._embedding_dims = dict.fromkeys(encoder._embedding_dims, made.width)
            self._newer(encoder, made)
        else:
            self._older(encoder, made)
        return encoder

    def bare(self, feature: Callable[[Any], Any], cache: Any = None, medium: str = "image") -> Any:
        """Return an encoder that lacks a preprocessor.

        Args:
            feature: What the model makes of media items.
            cache: The prefix cache, if it is on.
            medium: The one that the model takes: image, video or audio.
        """
        encoder = object.__new__(self.module.MMEncoder)
        encoder.rank, encoder.model_type, encoder.profiler = 0, _MODEL, None
        encoder.model = without(
            Provided("the model", **{f"get_{medium}_feature": feature}), _OPTIONAL
        )
        self._mm.enable_prefix_mm_cache = cache is not None
        encoder.mm_cache, encoder.mm_cache_lock = cache, asyncio.Lock()
        if self.splits_preprocessor:
            self._state(encoder, self.module.Modality[medium.upper()])
        else:
            encoder.embedding_to_send = {}
            settings = Provided("ServerArgs", enable_prefix_mm_cache=cache is not None)
            encoder.server_args = settings
        return encoder

    def _state(self, encoder: Any, modality: Any) -> None:
        self._give(meta_registry=self.module.EncoderMetaRegistry(
            wait_timeout=_WAIT_S, sweep_timeout=_WAIT_S
        ))  # fmt: skip
        encoder.req_states, encoder.abandoned_req_ids = {}, set()
        encoder.use_mooncake, encoder.mm_global_cache = False, None
        encoder._embedding_dims = {modality: WIDTH}
        encoder._embedding_dtype, encoder._element_size = DTYPE, DTYPE.itemsize

    def _newer(self, encoder: Any, made: Made) -> None:
        async def process(requests: Any, asked: Any) -> Any:
            return self.preprocessed(made), list(made.layout)

        encoder.preprocessor = Provided(
            "EncoderPreprocessor",
            process_batch_mm_items=process,
            get_num_patches=lambda grid, asked: int(grid[0] * grid[1] * grid[2]),
        )

    def _older(self, encoder: Any, made: Made) -> None:
        async def process(items: Any, asked: Any, log_metrics: bool = True) -> Any:
            return self.inputs(told_grids(made.items)), lambda found: made.rows()

        encoder._process_mm_items = process
        encoder.image_processor = Provided("the image processor", merge_size=RULES.merge)

    def preprocessed(self, made: Made) -> Any:
        """Return the preprocessor's result as releases from 0.5.19 on have it."""
        grids = torch.tensor([item.grid for item in made.items]).reshape(-1, 3)
        return self.module.EncoderPreprocessResult(
            mm_inputs=self.inputs(grids),
            grid_thw=grids,
            token_counts=[item.count for item in made.items],
        )

    def inputs(self, grids: torch.Tensor) -> Mapping[str, Any]:
        """Return a processor's output: pixel features, and the grids, (items, 3)."""
        patches = int(grids.clamp(min=0).prod(dim=1).sum())
        pixels = torch.zeros(patches, 2, device=self.device)
        return {"pixel_values": pixels, "image_grid_thw": grids}


def _hash_item(item: Any) -> None:
    if item.hash is None:
        digest = hashlib.sha256(repr(tuple(item.feature.shape)).encode())
        digest.update(item.feature.cpu().numpy().tobytes())
        item.hash = int.from_bytes(digest.digest()[:8], "big")


def told_grids(items: Sequence[Encoded]) -> torch.Tensor:
    """Return the grids from which the counts that are told follow, (items, 3).

    Before 0.5.19 no count is told: another count is told as a grid of one row of tokens.
    """
    return torch.tensor([_told_grid(item) for item in items]).reshape(-1, 3)


def _told_grid(item: Encoded) -> tuple[Any, ...]:
    if item.count == tokens_of_grid(item.grid, RULES):
        return item.grid
    count = int(item.count) if isinstance(item.count, torch.Tensor) else item.count
    return 1, RULES.merge, RULES.merge * count
