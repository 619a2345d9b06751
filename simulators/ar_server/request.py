"""A /generate request, read and refused as the real server does.

Three checks in upstream's order: the types of the fields (`shape`), the published schema from
0.5.22 on (`gate`), and the rules that make one request a batch (here). Not spoken, and answered
as if they were not asked for: sessions, log-probabilities, beam search, LoRA. Of a text and ids
beside it the text is answered; upstream takes either, by the kind of its processor.

Source: sglang 0.5.23, srt/managers/io_struct.py, GenerateReqInput.normalize_batch_and_arguments,
and srt/entrypoints/http_server.py, serve_generate_request
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from contracts.releases import Span
from simulators.ar_server.gate import gate_error
from simulators.ar_server.shape import shape_errors, truth
from simulators.http_answer import (
    CHUNKED,
    Answer,
    Wire,
    encode_json,
    json_answer,
    stream_answer,
    text_answer,
)

#: Source: sglang 0.5.23, srt/sampling/sampling_params.py, SamplingParams
DEFAULT_MAX_NEW_TOKENS = 128

DONE = b"[DONE]"


@dataclass(frozen=True)
class Prompt:
    """What is asked of one item of the reply."""

    #: Token ids; a text prompt counts as its UTF-8 bytes, since there is no tokenizer.
    ids: tuple[int, ...]
    max_new_tokens: int
    #: Whether image data came with the prompt: its tokens end with the end of an image.
    image: bool
    #: The request id that the client chose, if it did.
    rid: str | None = None


@dataclass(frozen=True)
class GenerateRequest:
    """A request that the server accepts."""

    json: dict[str, Any]
    #: One for each item of the reply, in its order: prompt 0 sample 0 .. n-1, prompt 1 ...
    prompts: tuple[Prompt, ...]
    #: Whether the reply is a list, be it of one item.
    batch: bool
    stream: bool


@dataclass(frozen=True)
class Refusal:
    """A request that the server does not accept, and what it answers instead of items."""

    #: The parsed JSON body; `None` where it is no JSON.
    json: Any
    answer: Answer


#: Releases that look at a sampling seed before they hand it on.
_SEEDS_READ = Span("0.5.21")


class _InvalidError(ValueError):
    """Upstream raises ValueError: status 400 with the text."""


class _UnhandledError(Exception):
    """Upstream fails by accident: status 500, "Internal Server Error"."""


def read_request(body: bytes, release: str) -> GenerateRequest | Refusal:
    """Return the request in a body, or the refusal of it.

    Args:
        body: The bytes of the HTTP body, taken as JSON whatever its content type.
        release: The release that answers.
    """
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        return Refusal(None, _unparsed(_json_findings(body, error)))
    except UnicodeDecodeError:
        return Refusal(None, json_answer(400, {"detail": "There was an error parsing the body"}))
    findings = shape_errors(value)
    if findings:
        return Refusal(value, _unparsed(findings))
    gated = gate_error(value, release)
    if gated is not None:
        return Refusal(value, json_answer(400, {"error": gated}))
    stream = truth(value.get("stream", False))
    try:
        prompts, batch = _prompts(value, release)
    except _InvalidError as error:
        return Refusal(value, _invalid(str(error), stream))
    except _UnhandledError:
        return Refusal(value, _unhandled(stream))
    return GenerateRequest(value, tuple(prompts), batch, stream)


def _json_findings(body: bytes, error: json.JSONDecodeError) -> list[dict[str, Any]]:
    if not body:
        return [{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}]
    finding = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error"}
    return [finding | {"input": {}, "ctx": {"error": error.msg}}]


def _unparsed(findings: list[dict[str, Any]]) -> Answer:
    # Newer FastAPI writes the findings twice, with the path of the server's own file between.
    fields = {"message": str(findings), "type": "Bad Request", "param": None, "code": 400}
    return json_answer(400, {"object": "error", **fields})


def _invalid(text: str, stream: bool) -> Answer:
    if not stream:
        return json_answer(400, {"error": {"message": text}})
    # The status has gone out before the request is looked at, so the error is an event.
    error = {"message": text, "type": "invalid_request_error", "code": 400, "retryable": False}
    return stream_answer([encode_json({"error": error}), DONE])


def _unhandled(stream: bool) -> Answer:
    if not stream:
        return text_answer(500, "Internal Server Error")
    return replace(stream_answer([]), wire=Wire(content_length=CHUNKED, cut_at=0))


def _prompts(body: dict[str, Any], release: str) -> tuple[list[Prompt], bool]:
    inputs, batch = _inputs(body)
    params = body.get("sampling_params")
    samples = _sample_count(params)
    batch = batch or samples > 1
    count = len(inputs)
    if batch and count and samples < 1:
        raise _UnhandledError
    # With several samples a prompt, upstream gives each one a fresh id.
    rids = _rids(body.get("rid"), count, batch, samples)
    images = _images(body.get("image_data"), count, batch)
    if isinstance(body.get("rid"), list):
        _refuse_twins(body["rid"])
    prompts = []
    for index, (ids, image, rid) in enumerate(zip(inputs, images, rids, strict=True)):
        own = _params(params, index, batch, samples)
        prompts.append(Prompt(tuple(ids), _max_new_tokens(own), image, rid))
        if release in _SEEDS_READ:
            _refuse_seed(own.get("sampling_seed"))
    return [prompt for prompt in prompts for _ in range(max(samples, 1))], batch


def _inputs(body: dict[str, Any]) -> tuple[list[Any], bool]:
    text, ids, embeds = (body.get(name) for name in ("text", "input_ids", "input_embeds"))
    given = sum(part is not None for part in (text, ids, embeds))
    if given in (0, 3):
        raise _InvalidError("Either text, input_ids or input_embeds should be provided.")
    if text is not None:
        batch = isinstance(text, list)
        return [part.encode() for part in (text if batch else [text])], batch
    if ids is None:
        raise _InvalidError(
            "input_embeds is provided while disable_radix_cache is False. "
            "Please add `--disable-radix-cache` when you launch the server "
            "if you want to use input_embeds as inputs."
        )
    if not ids:
        raise _InvalidError("input_ids cannot be empty.")
    batch = isinstance(ids[0], list)
    return (ids if batch else [ids]), batch


def _sample_count(params: Any) -> int:
    if params == []:
        raise _UnhandledError
    each = params if isinstance(params, list) else [params or {}]
    counts = [one.get("n", 1) for one in each]
    if any(count != counts[0] for count in counts):
        raise _InvalidError(
            "The parallel_sample_num should be the same for all samples in sample params."
        )
    if not isinstance(counts[0], int):
        raise _UnhandledError
    return counts[0]


def _rids(rid: Any, count: int, batch: bool, samples: int) -> list[str | None]:
    if isinstance(rid, list) and batch and len(rid) != count:
        raise _InvalidError(
            "The specified rids length mismatch with the batch_size for batch processing."
        )
    if rid is None or samples > 1:
        return [None] * count
    if isinstance(rid, list):
        return rid if batch else [None]
    return [f"{rid}_{index}" for index in range(count)] if batch else [rid]


def _refuse_twins(rids: list[str]) -> None:
    twins = [rid for rid in dict.fromkeys(rids) if rids.count(rid) > 1]
    if twins:
        raise _InvalidError(f"Duplicate request IDs detected within the request: {twins}")


def _images(images: Any, count: int, batch: bool) -> list[bool]:
    if not batch or not images or not isinstance(images, list):
        return [bool(images)] * count
    if len(images) != count:
        raise _InvalidError("The length of image_data should be equal to the batch size.")
    return [image not in (None, [], [None]) for image in images]


def _params(params: Any, index: int, batch: bool, samples: int) -> dict[str, Any]:
    if not isinstance(params, list):
        return params or {}
    # No list fits one prompt; one that is too short is found out when its item is taken, after
    # it has been repeated for the samples.
    if not batch or index >= len(params) * samples:
        raise _UnhandledError
    found: dict[str, Any] = params[index % len(params)]
    return found


def _max_new_tokens(params: dict[str, Any]) -> int:
    count = params.get("max_new_tokens")
    if count is None:
        return DEFAULT_MAX_NEW_TOKENS
    if not isinstance(count, int):
        raise _UnhandledError
    if count < 0:
        raise _InvalidError(f"max_new_tokens must be at least 0, got {count}.")
    return int(count)


def _refuse_seed(seed: Any) -> None:
    if seed is not None and not isinstance(seed, int):
        raise _InvalidError(f"sampling_seed must be an integer, got {type(seed).__name__}.")
    if seed is not None and not -(2**63) <= seed < 2**63:
        raise _InvalidError(f"sampling_seed must be in [-2**63, 2**63 - 1], got {seed}.")
