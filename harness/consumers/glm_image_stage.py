"""GLM-Image's AR stage, loaded from upstream and built for driving.

Provided, by name: the platform, the logger, the profiler, the decoder, the processor, the reader
of picture files, the server arguments, the requests (`Req`), and the pipeline's answer about
sequential outputs. All else is upstream's own, the base of the stages too.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from harness.upstream.touches import Provided
from simulators.prior_grid import prior_grids

_RUNTIME = "sglang.multimodal_gen.runtime"
_LOGGING = f"{_RUNTIME}.utils.logging_utils"
#: What the stage and its base stand on, as far as a release has it.
STANDS_ON = (
    "sglang.multimodal_gen.configs.sample.glmimage",
    f"{_RUNTIME}.disaggregation.roles",
    f"{_RUNTIME}.utils.precision",
    f"{_RUNTIME}.pipelines_core.stages.validators",
    f"{_RUNTIME}.pipelines_core.stages.dedup",
    f"{_RUNTIME}.pipelines_core.stages.base",
)

#: Prompts of different lengths, so that usage numbers tell them apart too.
PROMPTS = tuple(f"{'very ' * index}distinct scene number {index}" for index in range(64))


def quiet_logger(name: str) -> logging.Logger:
    """Return the logger that upstream gets: a real one, whose lines go nowhere."""
    logger = logging.getLogger(f"seamproof.upstream.{name}")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    return logger


class Inputs(dict[str, Any]):
    """What the processor returns: a mapping that can be moved to a device."""

    def to(self, device: Any) -> "Inputs":
        """Return the inputs on a device."""
        return Inputs({key: value.to(device) for key, value in self.items()})


class Processor:
    """Stands for the model's processor: prompt characters as ids, and the real grid rule."""

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        tokenize: bool,
        target_h: int,
        target_w: int,
        return_dict: bool,
        return_tensors: str,
    ) -> Inputs:
        """Return `input_ids` (1, characters) and `image_grid_thw` (2, 3), both int64."""
        text = messages[0]["content"][-1]["text"]
        return Inputs(
            input_ids=torch.tensor([prompt_ids(text)]),
            image_grid_thw=torch.tensor(prior_grids(target_h, target_w)),
        )


def prompt_ids(text: str) -> list[int]:
    """Return the input ids of a prompt: its characters' code points."""
    return [ord(character) for character in text]


class Decoding:
    """Stands for the decoder's stage: gives what a consumer has put into `decoded`."""

    decoded: Any = None

    def forward(self, batch: Any, server_args: Any) -> Any:
        """Return the decoded output."""
        return self.decoded


@contextmanager
def unprofiled(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Stand for the profiler of stages, which writes down how long one took."""
    yield


def load_stage(upstream: Upstream, module: str, device: torch.device) -> tuple[ModuleType, Any]:
    """Return upstream's module and a stage of it, built without its constructor.

    Args:
        upstream: The loader.
        module: Name of the module in this release.
        device: Where upstream shall put its tensors.
    """
    glm = upstream.load(
        Needs(
            module,
            real=[name for name in STANDS_ON if upstream.tree.file_of(name)],
            preload=("PIL.Image",),
            provided={
                _LOGGING: {"init_logger": quiet_logger},
                f"{_RUNTIME}.utils.perf_logger": {"StageProfiler": unprofiled},
                f"{_RUNTIME}.pipelines_core.stages.decoding": {"DecodingStage": Decoding},
            },
        )
    )
    if "current_platform" in names(glm):
        platform = Provided("current_platform", get_local_torch_device=lambda: device)
        provide(glm, current_platform=platform)
    else:
        provide(glm, get_local_torch_device=lambda: device)
    stage = object.__new__(glm.GlmImageAR)
    stage.processor = Processor()
    stage.vision_language_encoder = None
    in_service(stage)
    return glm, stage


def in_service(stage: Any) -> None:
    """Give a stage that was built without its constructor what its base sets there."""
    stage.server_args = Provided(
        "server_args", enable_layerwise_nvtx_marker=False, comfyui_mode=False
    )
    stage._component_residency_manager = None
    stage._registered_stage_name = None
    stage._profile_stage_name = None


def server_args(
    url: str, sequential: bool = False, connect_s: float = 3.05, read_s: float = 5.0
) -> Provided:
    """Return the server arguments that the stage reads.

    Args:
        url: Where the AR server is.
        sequential: What the pipeline answers when asked whether the outputs of one request are
            run one after the other; upstream's own answer is whether the platform is an NPU.
        connect_s: Seconds to wait for a connection; upstream's default.
        read_s: Seconds to wait for each part of a reply; upstream's default is 100.
    """
    pipeline = Provided(
        "pipeline_config", supports_sequential_multi_output_inference=lambda: sequential
    )
    return Provided(
        "server_args",
        srt_encoder_url=url,
        srt_encoder_connect_timeout=connect_s,
        srt_encoder_timeout=read_s,
        pipeline_config=pipeline,
    )


def request(
    prompt: str, height: int, width: int, outputs: int, seed: int | list[int] | None
) -> Provided:
    """Return a request (`Req`) with the fields that the stage reads and writes."""
    return Provided(
        "Req",
        prompt=prompt,
        height=height,
        width=width,
        requested_height=None,
        requested_width=None,
        num_outputs_per_prompt=outputs,
        seed=seed,
        seeds=None,
        generator=None,
        image_path=None,
        request_id=None,
        prior_token_id=None,
        prior_token_image_ids=None,
        usage=None,
        extra={},
        condition_inputs={},
        sampling_params=Provided("sampling_params"),
        metrics=None,
        is_warmup=False,
        perf_dump_path=None,
    )


def size_of(dims: Mapping[str, str]) -> tuple[int, int]:
    """Return (height, width) in pixels from a case's `shape`."""
    height, width = dims["shape"].split("x")
    return int(height), int(width)


def seed_of(dims: Mapping[str, str], first: int, outputs: int) -> int | list[int] | None:
    """Return a request's seed from a case's `seeds`: none, a number, or one for each output."""
    kind = dims["seeds"]
    if kind == "none":
        return None
    return 100 + first if kind == "int" else [200 + first + i for i in range(outputs)]
