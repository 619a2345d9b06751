"""Honest groups of requests: descriptions of one size, each with a prompt of its own."""

from typing import Any

from simulators.payload import GROUP, Payload


def honest_group(prompts: list[str], height: int, width: int, outputs: int) -> Payload:
    """Return one request for each of the first half of the prompts; the others are foreign.

    Args:
        prompts: An even count of different prompts.
        height: Pixels, for every request.
        width: Likewise.
        outputs: How many outputs each request wants.
    """
    half = len(prompts) // 2
    requests = [_request(i, prompt, height, width, outputs) for i, prompt in enumerate(prompts)]
    return Payload(GROUP, tuple(requests[:half]), tuple(requests[half:]))


def _request(index: int, prompt: str, height: int, width: int, outputs: int) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "height": height,
        "width": width,
        "outputs": outputs,
        "seed": 100 + 10 * index,
        "image": None,
    }
