"""SGLang's disaggregated diffusion, loaded from upstream: the head and the workers.

Provided, by name: the logger, the answer to a client (`OutputBatch`), the base of the sampling
parameters and, where a worker is driven, the parts that a consumer names. The protocol, the
codec, the states of a request and the expansion into outputs are upstream's own.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.consumers.glm_image_stage import quiet_logger
from harness.upstream.loading import Needs, Upstream

_MULTIMODAL = "sglang.multimodal_gen"
_RUNTIME = f"{_MULTIMODAL}.runtime"
_DISAGGREGATION = f"{_RUNTIME}.disaggregation"
#: What the head and the workers stand on, as far as a release has it.
_REAL = (
    f"{_DISAGGREGATION}.roles",
    f"{_DISAGGREGATION}.transport.codec",
    f"{_DISAGGREGATION}.transport.protocol",
    f"{_DISAGGREGATION}.extra_tensors",
    f"{_DISAGGREGATION}.request_state",
    f"{_DISAGGREGATION}.dispatch_policy",
    f"{_RUNTIME}.pipelines_core.request_utils",
    f"{_RUNTIME}.entrypoints.utils",
)


@dataclass
class OutputBatch:
    """Stands for `OutputBatch`: the members that the head sets."""

    output: Any = None
    error: str | None = None
    metrics: Any = None
    metrics_list: Any = None
    peak_memory_mb: float = 0.0
    usage: Any = None


@dataclass
class SamplingParams:
    """Stands for `SamplingParams`, whose fields a worker lists while it is imported."""


def load_disaggregated(upstream: Upstream, module: str) -> ModuleType:
    """Return upstream's module of the head or of a worker."""
    return upstream.load(
        Needs(
            module,
            real=[name for name in _REAL if upstream.tree.file_of(name)],
            provided={
                f"{_RUNTIME}.utils.logging_utils": {"init_logger": quiet_logger},
                f"{_RUNTIME}.pipelines_core.schedule_batch": {"OutputBatch": OutputBatch},
                f"{_MULTIMODAL}.configs.sample.sampling_params": {"SamplingParams": SamplingParams},
            },
        )
    )
