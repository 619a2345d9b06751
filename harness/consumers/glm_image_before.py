"""GLM-Image's stage before the denoiser, loaded from upstream and built for driving.

Provided, by name: the tokenizer, the text encoder, the configuration of the denoiser and of its
scheduler, the source of noise, and the cache of the denoiser's keys and values. All else is
upstream's own, with the model's real factors: 8 pixels to a latent cell, 2 cells to a position.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from harness.consumers.glm_image_stage import in_service
from harness.upstream.hermetic import provide
from harness.upstream.touches import Provided

#: Pixels along one side of a cell of the latents.
#: Source: sglang 0.5.23, multimodal_gen/configs/models/vaes/glmimage.py, scale_factor_spatial
PIXELS_PER_CELL = 8
#: Cells of the latents along one side of a position of the denoiser.
#: Source: sglang 0.5.23, multimodal_gen/configs/models/dits/glmimage.py, patch_size
CELLS_PER_POSITION = 2


class TextEncoder(torch.nn.Module):
    """Stands for the text encoder: four numbers for each id of the prompt."""

    dtype = torch.float32

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Provided:
        """Return `last_hidden_state`, (prompts, ids, 4)."""
        hidden = input_ids.unsqueeze(-1).repeat(1, 1, 4).float()
        return Provided("text encoder's output", last_hidden_state=hidden)


class Tokenizer:
    """Stands for the tokenizer: characters' code points."""

    pad_token_id = 0

    def __call__(self, texts: Sequence[str], max_length: int, truncation: bool) -> Provided:
        """Return `input_ids`, a list for each text."""
        ids = [[ord(character) for character in text][:max_length] or [1] for text in texts]
        return Provided("tokenizer's output", input_ids=ids)


class Transformer(torch.nn.Module):
    """Stands for the denoiser: its configuration, and the type of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.config = Provided(
            "transformer.config", in_channels=16, num_layers=1, patch_size=CELLS_PER_POSITION
        )


class Timesteps:
    """Stands for the denoiser's scheduler: it takes the steps that it is given."""

    def __init__(self) -> None:
        self.config = _Config(num_train_timesteps=1000)
        self.timesteps = torch.empty(0)

    def set_timesteps(
        self,
        num_inference_steps: int | None = None,
        device: Any = None,
        timesteps: Any = None,
        sigmas: Any = None,
        mu: float | None = None,
    ) -> None:
        """Take the steps."""
        self.timesteps = torch.as_tensor(timesteps)


class _Config(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


def build_before(glm: ModuleType) -> Any:
    """Return the stage before the denoiser, of a module that `load_stage` has loaded."""
    provide(
        glm,
        randn_tensor=lambda shape, **where: torch.zeros(shape, dtype=where["dtype"]),
        GlmImageKVCache=lambda num_layers: Provided("kv_caches", num_layers=num_layers),
    )
    stage = object.__new__(glm.GlmImageBeforeDenoisingStage)
    in_service(stage)
    stage.tokenizer = Tokenizer()
    stage.text_encoder = TextEncoder()
    stage.vae = None
    stage.transformer = Transformer()
    stage.scheduler = Timesteps()
    stage.vae_scale_factor = PIXELS_PER_CELL
    return stage


def canvas_request(
    prompt: str, height: Any, width: Any, outputs: Any, prior_token_id: Any
) -> Provided:
    """Return a request (`Req`) with the fields that the stage reads and writes."""
    written = (
        "prompt_embeds negative_prompt_embeds latents timesteps scheduler sigmas generator "
        "raw_latent_shape prior_token_drop_cond prior_token_drop_uncond target_size crop_coords "
        "kv_caches"
    )
    return Provided(
        "Req",
        prompt=prompt,
        height=height,
        width=width,
        num_outputs_per_prompt=outputs,
        prior_token_id=prior_token_id,
        prior_token_image_ids=None,
        image_path=None,
        seed=7,
        guidance_scale=1.5,
        num_inference_steps=2,
        **dict.fromkeys(written.split()),
    )
