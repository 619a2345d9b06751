"""Faults of a denoiser's result: whose it says it is, what it brings, and what it says."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, pairs, whole
from simulators.payload import RESULTS, Payload

ERROR = "CUDA out of memory"
_UNKNOWN = "nobody's request"


def result_says(**fields: Any) -> Change:
    """Return the fault that sets fields of one result."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_record(at[0], {**payload.records[at[0]], **fields})

    return change


def result_of(request: int | str | None = _UNKNOWN) -> Change:
    """Return the fault that gives a result another id."""
    return result_says(request=request)


def pictures_become(edit: Callable[[Any], Any]) -> Change:
    """Return the fault that changes the pictures of one result, if it has a tensor of them."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        record = payload.records[at[0]]
        output = record["output"]
        if output is None or isinstance(output, list) or output.dim() == 0:
            return payload
        return payload.with_record(at[0], {**record, "output": edit(output)})

    return change


def ids_swapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """a of 1, b of 2 -> a of 2, b of 1"""
    one, two = (payload.records[index] for index in at)
    changed = payload.with_record(at[0], {**one, "request": two["request"]})
    return changed.with_record(at[1], {**two, "request": one["request"]})


def foreign_picture(payload: Payload, at: Place, rng: Random) -> Payload:
    """a = 1 2 -> a = x 2: x belongs to another head's request"""
    other = payload.foreign[at[0]]["output"]

    def with_other(output: Any) -> Any:
        import torch

        alike = output.shape[1:] == other.shape[1:]
        return torch.cat([other[:1], output[1:]]) if alike else output

    return pictures_become(with_other)(payload, at, rng)


def one_more(output: Any) -> Any:
    """1 2 -> 1 2 2"""
    import torch

    return torch.cat([output, output[-1:]])


def ar_failed(payload: Payload, at: Place, rng: Random) -> Payload:
    """the AR batch was made -> the AR batch ended in an error"""
    return replace(payload, beside={**payload.beside, "ar_error": ERROR})


#: The rows of these faults in the table.
FAULTS = (
    Fault(
        "result-id-swapped", "substitution", ids_swapped, (RESULTS,), pairs,
        "a of 1, b of 2 -> a of 2, b of 1", scope="results",
    ),
    Fault(
        "result-id-unknown", "substitution", result_of(), (RESULTS,), each,
        "a of 1 -> a of nobody", scope="results",
    ),
    Fault(
        "result-id-missing", "omission", result_of(None), (RESULTS,), each,
        "a of 1 -> a without an id", scope="results",
    ),
    Fault(
        "result-error", "substitution", result_says(output=None, error=ERROR), (RESULTS,), each,
        "a = 1 2 -> a = an error", scope="results",
    ),
    Fault(
        "result-error-beside", "substitution", result_says(error=ERROR), (RESULTS,), each,
        "a = 1 2 -> a = 1 2 and an error", scope="results",
    ),
    Fault(
        "result-nothing", "omission", result_says(output=None), (RESULTS,), each,
        "a = 1 2 -> a = nothing, and no error", scope="results",
    ),
    Fault(
        "result-error-empty", "omission", result_says(output=None, error=""), (RESULTS,), each,
        'a = 1 2 -> a = an error that says ""', scope="results",
    ),
    Fault(
        "result-picture-lost", "omission", pictures_become(lambda o: o[:-1]), (RESULTS,), each,
        "a = 1 2 -> a = 1", scope="results",
    ),
    Fault(
        "result-picture-doubled", "duplication", pictures_become(one_more), (RESULTS,), each,
        "a = 1 2 -> a = 1 2 2", scope="results",
    ),
    Fault(
        "result-pictures-reversed", "reordering", pictures_become(lambda o: o.flip(0)),
        (RESULTS,), each, "a = 1 2 -> a = 2 1", scope="results",
    ),
    Fault(
        "result-picture-foreign", "substitution", foreign_picture, (RESULTS,), each,
        "a = 1 2 -> a = x 2, x of another request", scope="results",
    ),
    Fault(
        "result-pictures-merged", "merge", pictures_become(lambda o: o[0]), (RESULTS,), each,
        "a = 1 2, (pictures, ..) -> a = 1, (colours, ..)", scope="results",
    ),
    Fault(
        "result-scalar", "substitution", pictures_become(lambda o: o.flatten()[0].clone()),
        (RESULTS,), each, "a = 1 2 -> a = a single number", scope="results",
    ),
    Fault(
        "result-list", "substitution", pictures_become(list), (RESULTS,), each,
        "a = a tensor of 1 2 -> a = a list of 1 2", scope="results", benign=True,
    ),
    Fault(
        "result-frame-lost", "truncation", result_says(lost=1), (RESULTS,), each,
        "a, two frames -> a, one of them", scope="results",
    ),
    Fault(
        "ar-failed", "substitution", ar_failed, (RESULTS,), whole,
        "an AR batch -> an AR batch that ended in an error", scope="body",
    ),
)  # fmt: skip
