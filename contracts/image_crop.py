"""image-crop: the decoded pictures are cut back to the size that was asked for.

- The pictures are a tensor, (frames, channels, rows, columns), one picture for each output.
- Every picture has the size that was decoded: the asked one, up to the next multiple of 32.
- The size to cut out is two whole numbers, positive, no larger than the decoded size, and the
  one that was asked for.
- Picture i is output i's, and every pixel stands in its place.

The payload holds `frames` and `target` (height, width). The request says `outputs`, `decoded`
and `asked` (height, width each).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.ar_item import STAGE_FILE
from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

FRAMES_THERE = Clause("frames-there", "There are pictures.")
TARGET_THERE = Clause("target-there", "Both sides of the size to cut out are given.")
FRAMES_TENSOR = Clause(
    "frames-tensor", "The pictures are a tensor.", incidental=("AttributeError",)
)
FRAMES_RANK = Clause(
    "frames-rank",
    "The pictures are (frames, channels, rows, columns).",
    incidental=("ValueError",),
)
TARGET_NUMBERS = Clause(
    "target-numbers",
    "Both sides of the size to cut out are whole numbers.",
    incidental=("TypeError",),
)
TARGET_WITHIN = Clause(
    "target-within",
    "The size to cut out is no larger than the decoded pictures.",
    guards=(
        Guard(
            "ValueError",
            "Cannot crop GLM-Image output to a canvas larger than the decoded image: "
            "requested {width}x{height}, decoded {columns}x{rows}",
            Span("0.5.19"),
            Source("0.5.23", STAGE_FILE, "center_crop_glm_image_output"),
        ),
    ),
)
TARGET_POSITIVE = Clause("target-positive", "Both sides of the size to cut out are positive.")
TARGET_ASKED = Clause("target-asked", "The size to cut out is the one that was asked for.")
FRAMES_DECODED = Clause("frames-decoded", "Every picture has the size that was decoded.")
FRAMES_COUNT = Clause("frames-count", "There is one picture for each output.")
FRAME_IDENTITY = Clause("frame-identity", "Picture i is output i's.", identity=True)
PIXEL_POSITION = Clause("pixel-position", "Every pixel stands in its own place.", identity=True)

_CLAUSES = (
    FRAMES_THERE,
    TARGET_THERE,
    FRAMES_TENSOR,
    FRAMES_RANK,
    TARGET_NUMBERS,
    TARGET_WITHIN,
    TARGET_POSITIVE,
    TARGET_ASKED,
    FRAMES_DECODED,
    FRAMES_COUNT,
    FRAME_IDENTITY,
    PIXEL_POSITION,
)
_OF_FRAMES = (FRAMES_DECODED, FRAMES_COUNT, FRAME_IDENTITY, PIXEL_POSITION)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    frames, target = payload["frames"], payload["target"]
    if frames is None:
        yield Violation(FRAMES_THERE, "frames", "pictures", "nothing")
        yield from (Unchecked(clause, "there is no picture") for clause in _CLAUSES[1:])
        return
    if None in target:
        yield Violation(TARGET_THERE, "target", "height and width", str(target))
    else:
        yield from _walk_target(frames, target, request)
    if _rank(frames) == 4 and is_tensor(frames):
        yield from _walk_frames(frames, request, owner_of)
    else:
        yield from (Unchecked(clause, "there are no pictures") for clause in _OF_FRAMES)


def _walk_target(
    frames: Any, target: tuple[Any, Any], request: Mapping[str, Any]
) -> Iterator[Violation | Unchecked]:
    if not is_tensor(frames):
        yield Violation(FRAMES_TENSOR, "frames", "a tensor", type(frames).__name__)
    if _rank(frames) != 4:
        # Two dimensions are enough to be cut.
        accident = None if (_rank(frames) or 0) < 2 else ()
        got = str(_rank(frames))
        yield Violation(FRAMES_RANK, "frames", "4 dimensions", got, incidental=accident)
    if any(type(side) is not int for side in target):
        yield Violation(TARGET_NUMBERS, "target", "whole numbers", repr(target))
        return
    height, width = target
    if (_rank(frames) or 0) >= 2:
        rows, columns = frames.shape[-2:]
        if height > rows or width > columns:
            fields = {"width": width, "height": height, "columns": columns, "rows": rows}
            got = f"{height}x{width}"
            yield Violation(TARGET_WITHIN, "target", f"at most {rows}x{columns}", got, fields)
    if height <= 0 or width <= 0:
        yield Violation(TARGET_POSITIVE, "target", "positive sides", f"{height}x{width}")
    if target != request["asked"]:
        asked = "{}x{}".format(*request["asked"])
        yield Violation(TARGET_ASKED, "target", asked, f"{height}x{width}")


def _rank(frames: Any) -> int | None:
    shape = getattr(frames, "shape", None)
    return None if shape is None else len(shape)


def _walk_frames(
    frames: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    decoded = tuple(frames.shape[-2:])
    if decoded != request["decoded"]:
        wanted = "{}x{}".format(*request["decoded"])
        yield Violation(FRAMES_DECODED, "frames", wanted, "{}x{}".format(*decoded))
    if frames.shape[0] != request["outputs"]:
        got = str(frames.shape[0])
        yield Violation(FRAMES_COUNT, "frames", f"{request['outputs']} pictures", got)
    if owner_of is None or decoded != request["decoded"]:
        reason = "whose pixels they are can be told only by a stamp reader, and of one size"
        yield from (Unchecked(clause, reason) for clause in (FRAME_IDENTITY, PIXEL_POSITION))
        return
    for index in range(min(frames.shape[0], request["outputs"])):
        where = f"frames[{index}]"
        origins = owner_of(frames[index][0].flatten().tolist())
        foreign = [origin for origin in origins if origin is None or origin.owner != index]
        if foreign:
            said = "no known stamp" if foreign[0] is None else str(foreign[0].owner)
            yield Violation(FRAME_IDENTITY, where, f"output {index}", said)
        elif any(o is not None and o.position != p for p, o in enumerate(origins)):
            yield Violation(PIXEL_POSITION, where, "pixels in their places", "moved pixels")


CONTRACT = Contract(
    "image-crop",
    "The decoded pictures are cut back to the size that was asked for.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
