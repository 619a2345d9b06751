"""The table of seams: where a newcomer starts. From a row every file is one hop.

A new seam is its contract, its consumer and one row here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contracts.releases import Span
from simulators.faults import Place
from simulators.payload import REPLY, ROWS

GLM_IMAGE = "sglang.multimodal_gen.runtime.pipelines_core.stages.model_specific_stages.glm_image"


@dataclass(frozen=True)
class Dim:
    """One dimension of a request, as it stands in a case line: `records=3`."""

    meaning: str
    accepts: Callable[[str], bool]
    default: str | None = None


def _one_of(*values: str) -> Callable[[str], bool]:
    return lambda value: value in values


def _whole(low: int, high: int) -> Callable[[str], bool]:
    return lambda value: value.isdecimal() and low <= int(value) <= high


def _size(multiple: int) -> Callable[[str], bool]:
    def accepts(value: str) -> bool:
        sides = value.split("x")
        return len(sides) == 2 and all(
            side.isdecimal() and int(side) > 0 and int(side) % multiple == 0 for side in sides
        )

    return accepts


@dataclass(frozen=True)
class Space:
    """A part of a seam's cases: all faults at all places, for each combination of sizes."""

    dims: Mapping[str, tuple[str, ...]]
    #: Names of the faults; empty means every one that the payload's form allows.
    faults: tuple[str, ...] = ()
    #: False: of each fault only the first and the last place.
    every_place: bool = True
    #: Faults done one after the other, in one payload.
    composites: tuple[tuple[tuple[str, Place], ...], ...] = ()


def _always_fits(dims: Mapping[str, str]) -> str:
    return ""


@dataclass(frozen=True)
class Seam:
    """One row: which contract holds, which consumer drives it, and with what."""

    name: str
    #: `module:Class` of the consumer, imported only in a worker.
    consumer: str
    #: Form of the payload: which faults can change it.
    form: str
    #: Upstream's module for each range of releases, and the function that consumes.
    modules: tuple[tuple[Span, str], ...]
    symbol: str
    dims: Mapping[str, Dim]
    spaces: tuple[Space, ...]
    #: The platform that the consumer provides; `npu` where only that one enters the code.
    platform: str = "cpu"
    #: How long one case may take, in seconds.
    deadline_s: float = 10.0
    #: Says why a combination of dimensions makes no sense; empty if it does.
    misfit: Callable[[Mapping[str, str]], str] = _always_fits

    def module(self, release: str) -> str:
        """Return the name of upstream's module in a release.

        Raises:
            KeyError: if the release has no such module.
        """
        for span, module in self.modules:
            if release in span:
                return module
        raise KeyError(release)


_RECORDS = Dim("a count of records, 1 to 64", _whole(1, 64))
_SHAPE = Dim("height x width in pixels, multiples of 32, as in 64x96", _size(32))
_ENTRY = Dim("grouped, batch or forward", _one_of("grouped", "batch", "forward"), "grouped")
_OUTPUTS = Dim("outputs for each prompt, 1 to 64", _whole(1, 64), "1")
_SEEDS = Dim("none, int or list", _one_of("none", "int", "list"), "int")


def _ar_batch_misfit(dims: Mapping[str, str]) -> str:
    records, outputs, entry = int(dims["records"]), int(dims["outputs"]), dims["entry"]
    if records % outputs:
        return f"outputs={outputs} does not divide records={records}"
    if entry == "grouped" and records == outputs:
        return "entry=grouped needs two prompts or more: one prompt takes entry=forward or batch"
    if entry == "forward" and (records != outputs or records < 2):
        return "entry=forward is one prompt with several outputs: records and outputs are equal"
    return ""


_NULL_AND_SHORT = (
    (("item-null", (0,)), ("ids-short", (1,))),
    (("ids-short", (0,)), ("item-null", (1,))),
    (("omission", (0,)), ("reordering", (0, 1))),
    (("omission", (1,)), ("duplication-extra", (0,))),
    (("item-error", (1,)), ("skew-compensated", (0, 1))),
)

_OF_SEVERAL_OUTPUTS = (
    "noop", "omission", "duplication", "duplication-extra", "reordering", "merge",
    "merge-padded", "substitution", "body-error", "ids-short",
)  # fmt: skip

_TABLE = (
    Seam(
        name="ar-batch",
        consumer="harness.consumers.ar_batch:ArBatch",
        form=REPLY,
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.generate_prior_tokens_batch",
        dims={
            "records": _RECORDS,
            "shape": _SHAPE,
            "entry": _ENTRY,
            "outputs": _OUTPUTS,
            "seeds": _SEEDS,
        },
        spaces=(
            Space({"records": ("2", "3", "4"), "shape": ("64x96",)}, composites=_NULL_AND_SHORT),
            Space(
                {"records": ("1", "3"), "shape": ("32x32", "96x64"), "entry": ("batch",)},
                every_place=False,
            ),
            Space(
                {"records": ("8", "16"), "shape": ("64x64",)},
                every_place=False,
            ),
            Space(
                {
                    "records": ("4",),
                    "shape": ("64x96",),
                    "outputs": ("2",),
                    "seeds": ("none", "int", "list"),
                },
                faults=_OF_SEVERAL_OUTPUTS,
                every_place=False,
            ),
            Space(
                {
                    "records": ("2", "4"),
                    "shape": ("64x96",),
                    "entry": ("forward",),
                    "outputs": ("2", "4"),
                    "seeds": ("none", "int", "list"),
                },
                faults=_OF_SEVERAL_OUTPUTS,
                every_place=False,
            ),
        ),
        misfit=_ar_batch_misfit,
    ),
    Seam(
        name="ar-split",
        consumer="harness.consumers.ar_split:ArSplit",
        form=ROWS,
        modules=((Span(), GLM_IMAGE),),
        symbol="GlmImageAR.iter_sequential_requests",
        dims={"records": _RECORDS, "shape": _SHAPE, "seeds": _SEEDS},
        spaces=(
            Space({"records": ("1", "2", "3", "4"), "shape": ("64x96",)}),
            Space(
                {"records": ("8", "16"), "shape": ("32x32", "64x64"), "seeds": ("list",)},
                every_place=False,
            ),
        ),
        platform="npu",
    ),
)

#: Every seam, by name.
SEAMS = {seam.name: seam for seam in _TABLE}
