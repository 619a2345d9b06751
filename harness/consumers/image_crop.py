"""image-crop: upstream's decoding stage of GLM-Image cuts its pictures to the asked size.

Driven: `GlmImageDecodingStage.forward`. Provided, by name: the decoder itself, whose place is
upstream's base of that stage, so that it gives our stamped pictures; and the request.
"""

from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import Decoding, load_stage, server_args, size_of
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.stamped_frames import FrameReader, assembled_frames, honest_frames


class ImageCrop:
    """The consumer of image-crop."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        glm, _ = load_stage(upstream, module, torch.device(device))
        glm.DecodingStage.forward = Decoding.forward
        self._stage = object.__new__(glm.GlmImageDecodingStage)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the pictures as the decoder would give them."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the stage cut out."""
        passed = _passed(dims, lie)
        height, width = passed.payload["target"]
        asked = Provided("Req", requested_height=height, requested_width=width)

        def call() -> Output:
            self._stage.decoded = Provided(
                "OutputBatch", output=passed.payload["frames"], trajectory_decoded=None
            )
            return _read(self._stage.forward(asked, server_args("")).output, passed)

        return Run(outcome_of(self._upstream, call), passed)


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    decoded = size_of(dims)
    margins = [int(margin) for margin in dims["margin"].split("x")]
    asked = (decoded[0] - margins[0], decoded[1] - margins[1])
    outputs = int(dims["records"])
    payload = lie.told(honest_frames(outputs, decoded, asked))
    told = {"frames": assembled_frames(payload), "target": payload.beside["target"]}
    request = {"outputs": outputs, "decoded": decoded, "asked": asked}
    return Passed(told, request, FrameReader(outputs, *decoded))


def _read(cut: Any, passed: Passed) -> Output:
    outputs, asked = passed.request["outputs"], passed.request["asked"]
    tensor = isinstance(cut, torch.Tensor)
    facts = {
        "kind of the pictures": str(cut.dtype) if tensor else type(cut).__name__,
        "shape of the pictures": str(tuple(cut.shape)) if tensor else "none",
        "the channels of a picture": "alike",
    }
    found: list[Span] = []
    if not tensor or cut.dim() != 4 or tuple(cut.shape[-2:]) != asked:
        return Output((), facts, cut)
    for index in range(outputs):
        found += _of_frame(index, cut[index] if index < len(cut) else None, passed)
    if any(not torch.equal(channel, cut[:, 0]) for channel in cut.unbind(1)):
        facts["the channels of a picture"] = "different"
    return Output(tuple(found), facts, cut)


def _of_frame(index: int, frame: torch.Tensor | None, passed: Passed) -> tuple[Span, ...]:
    (rows, columns), (height, width) = passed.request["decoded"], passed.request["asked"]
    assert passed.owner_of is not None
    has: list[Whose | None] = []
    if frame is not None:
        origins = passed.owner_of(frame[0].flatten().tolist())
        has = [Whose(_named(o.owner), o.position) if o is not None else None for o in origins]
    first = has[0].position if has and has[0] is not None else 0
    top = _margin(first // columns, rows - height)
    left = _margin(first % columns, columns - width)
    wants = [
        Whose(f"output {index}", (top + row) * columns + left + column)
        for row in range(height)
        for column in range(width)
    ]
    return spans(f"picture {index}", wants, has, unit="pixels")


def _margin(found: int, rest: int) -> int:
    # Where the rest is odd, the middle lies between two pixels: both will do.
    return found if found in (rest // 2, rest - rest // 2) else rest // 2


def _named(owner: int | str) -> str:
    return f"output {owner}" if isinstance(owner, int) else owner
