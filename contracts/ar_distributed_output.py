"""ar-distributed-output: the head of a distributed GLM-Image answers its clients.

- The AR batch was made: it did not end in an error.
- A denoiser's message can be read, and carries the id of a request that waits.
- Its output is a tensor or a list with one picture for each output, or it says an error.
- A request's result comes once, and the pictures are that request's, each in its place.

The payload is what reaches the head: `ar_error` (how the AR batch ended; None: well) and
`results`, each with `request` (the index of the client whose id it carries, or another value),
`output`, `error` and `lost` (frames missing in the message). The request says `clients` (how
many wait) and `outputs` (pictures for each). Refusals are returned: the answer's `error` says
them, to every client of a failed AR batch and to the one client of a bad result.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import RETURNED, Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

HEAD_FILE = "multimodal_gen/runtime/disaggregation/orchestrator.py"
_HANDLER = "DiffusionServer._handle_glm_denoiser_result"


def _returned(text: str, first: str, symbol: str) -> tuple[Guard, ...]:
    return (Guard(RETURNED, text, Span(first), Source("0.5.23", HEAD_FILE, symbol)),)


AR_MADE = Clause(
    "ar-made",
    "The AR batch of the clients' requests was made.",
    guards=_returned(
        "GLM AR error: {error}",
        "0.5.19",
        "DiffusionServer._process_glm_ar_batch_result_if_ready",
    ),
)
RESULT_READABLE = Clause(
    "result-readable",
    "A denoiser's message has a frame for each of its tensors.",
    guards=_returned(
        "Invalid {role} result: {why}",
        "0.5.23",
        "DiffusionServer._handle_role_result",
    ),
    incidental=("ValueError",),
)
RESULT_KNOWN = Clause("result-known", "A result carries the id of a request that waits for it.")
OUTPUT_SIZED = Clause(
    "output-sized", "An output has a dimension of pictures.", incidental=("TypeError",)
)
OUTPUT_COUNT = Clause(
    "output-count",
    "A result brings one picture for each output of its request.",
    guards=_returned(
        "GLM distributed output size mismatch: got {got}, expected {expected}",
        "0.5.19",
        _HANDLER,
    ),
)
OUTPUT_THERE = Clause(
    "output-there",
    "A result brings pictures, or says an error.",
    guards=_returned("GLM distributed denoiser returned no output", "0.5.23", _HANDLER),
)
DENOISED = Clause(
    "denoised",
    "The denoiser ended without an error.",
    guards=_returned("{error}", "0.5.19", _HANDLER),
)
RESULT_ONCE = Clause("result-once", "Every request gets one result.")
PICTURE_IDENTITY = Clause(
    "picture-identity", "Picture k of a result is its own request's picture k.", identity=True
)

_CLAUSES = (
    AR_MADE,
    RESULT_READABLE,
    RESULT_KNOWN,
    OUTPUT_SIZED,
    OUTPUT_COUNT,
    OUTPUT_THERE,
    DENOISED,
    PICTURE_IDENTITY,
    RESULT_ONCE,
)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if payload["ar_error"] is not None:
        fields = {"error": payload["ar_error"]}
        yield Violation(AR_MADE, "ar_error", "none", payload["ar_error"], fields)
        yield from (Unchecked(clause, "nothing was denoised") for clause in _CLAUSES[1:])
        return
    waiting = set(range(request["clients"]))
    for index, result in enumerate(payload["results"]):
        where = f"results[{index}]"
        if result["lost"]:
            yield _unreadable(result, where)
        if result["request"] not in waiting:
            yield Violation(RESULT_KNOWN, where, "a request that waits", str(result["request"]))
            continue
        waiting.discard(result["request"])
        yield from _walk_output(result, request["outputs"], f"{where}.output")
        yield from _walk_pictures(result, request["outputs"], f"{where}.output", owner_of)
    said = Counter(result["request"] for result in payload["results"])
    for client in range(request["clients"]):
        if said[client] != 1:
            yield Violation(RESULT_ONCE, "results", f"one for client {client}", str(said[client]))


def _unreadable(result: Mapping[str, Any], where: str) -> Violation:
    output = result["output"]
    described = len(output) if isinstance(output, list) else int(output is not None)
    got = described - result["lost"]
    why = f"Expected {described} tensor frames, got {got}"
    fields = {"role": "denoiser", "why": why}
    return Violation(RESULT_READABLE, where, f"{described} frames", str(got), fields)


def _walk_output(result: Mapping[str, Any], outputs: int, where: str) -> Iterator[Violation]:
    output, error = result["output"], result["error"]
    count = _count(output)
    if output is not None and count is None:
        yield Violation(OUTPUT_SIZED, where, "pictures", "a single number")
    elif output is not None and count != outputs:
        fields = {"got": count, "expected": outputs}
        yield Violation(OUTPUT_COUNT, where, f"{outputs} pictures", str(count), fields)
    elif output is None and not error:
        yield Violation(OUTPUT_THERE, where, "pictures", "nothing")
    if error:
        yield Violation(DENOISED, where, "no error", error, {"error": error})


def _count(output: Any) -> int | None:
    if isinstance(output, list):
        return len(output)
    return int(output.shape[0]) if output is not None and output.dim() else None


def _walk_pictures(
    result: Mapping[str, Any], outputs: int, where: str, owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    if owner_of is None:
        yield Unchecked(PICTURE_IDENTITY, "whose they are can be told only by a stamp reader")
        return
    for k in range(min(_count(result["output"]) or 0, outputs)):
        wanted = f"client {result['request']}'s picture {k}"
        origins = owner_of([int(pixel) for pixel in result["output"][k].flatten().tolist()])
        foreign = [o for o in origins if o is None or o.owner != wanted]
        if foreign:
            said = "no known stamp" if foreign[0] is None else str(foreign[0].owner)
            yield Violation(PICTURE_IDENTITY, f"{where}[{k}]", wanted, said)


CONTRACT = Contract(
    "ar-distributed-output",
    "The head of a distributed GLM-Image answers its clients with what the denoisers made.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
