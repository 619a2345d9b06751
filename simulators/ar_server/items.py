"""Honest reply items: stamped tokens in the form of SGLang's native reply.

Each item is encoded once. Whose tokens it holds can be read back from its `output_ids`, and a
foreign item is one of the same shape whose owner is no prompt of the request.

Source: sglang 0.5.23, srt/managers/tokenizer_manager.py, TokenizerManager._handle_batch_output
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from contracts.clauses.prior_tokens import END_OF_IMAGE
from simulators.ar_server.request import Prompt
from simulators.http_answer import encode_json
from simulators.packed_rows import Item
from simulators.payload import JsonItem
from simulators.stamp import mix, owner_number, stamped_ids

#: Seconds that every item claims to have taken; a constant, so that replies are reproducible.
E2E_LATENCY_S = 0.25


def honest_items(prompts: Sequence[Prompt]) -> list[JsonItem]:
    """Return one item for each prompt, in order."""
    pairs = zip(_honest(prompts), prompts, strict=True)
    return [_item(stamp, prompt.rid) for stamp, prompt in pairs]


def foreign_items(prompts: Sequence[Prompt]) -> list[JsonItem]:
    """Return one item for each prompt, of the same shape, that belongs to another request."""
    return [_item(stamp, None) for stamp in _foreign(prompts)]


def known_sequences(prompts: Sequence[Prompt]) -> dict[int | str, tuple[int, ...]]:
    """Return the ids of every honest item by its index, and of every foreign one by its name."""
    known: dict[int | str, tuple[int, ...]] = {}
    for index, stamp in enumerate(_honest(prompts)):
        known[index] = _ids(stamp)
    for index, stamp in enumerate(_foreign(prompts)):
        known[foreign_label(index)] = _ids(stamp)
    return known


def honest_sequences(prompts: Sequence[Prompt]) -> list[Item]:
    """Return whose ids every honest item has, and how many of them are stamps."""
    return [
        Item(stamp.owner, stamp.occurrence, max(0, stamp.new_tokens - stamp.image))
        for stamp in _honest(prompts)
    ]


def foreign_label(index: int) -> str:
    """Return the name of the owner of a foreign item."""
    return f"another request's prompt {index}"


class _Stamp(NamedTuple):
    """Whose an item is, and its shape."""

    owner: int
    #: Which of several equal prompts of the request.
    occurrence: int
    prompt_tokens: int
    new_tokens: int
    image: bool


def _honest(prompts: Sequence[Prompt]) -> list[_Stamp]:
    return _stamps(prompts, [owner_number(prompt.ids) for prompt in prompts])


def _foreign(prompts: Sequence[Prompt]) -> list[_Stamp]:
    owners = [owner_number(prompt.ids) for prompt in prompts]
    return _stamps(prompts, [_stranger(owner, set(owners)) for owner in owners])


def _stamps(prompts: Sequence[Prompt], owners: Sequence[int]) -> list[_Stamp]:
    return [
        _Stamp(
            owner,
            owners[:index].count(owner),
            len(prompt.ids),
            prompt.max_new_tokens,
            prompt.image,
        )
        for index, (owner, prompt) in enumerate(zip(owners, prompts, strict=True))
    ]


def _stranger(owner: int, taken: set[int]) -> int:
    salt = 1
    while (candidate := mix(owner, 0, salt)) in taken:
        salt += 1
    return candidate


def _ids(stamp: _Stamp) -> tuple[int, ...]:
    if not stamp.image or not stamp.new_tokens:
        return stamped_ids(stamp.owner, stamp.occurrence, stamp.new_tokens)
    return (*stamped_ids(stamp.owner, stamp.occurrence, stamp.new_tokens - 1), END_OF_IMAGE)


@lru_cache(maxsize=1024)
def _item(stamp: _Stamp, rid: str | None) -> JsonItem:
    part = partial(mix, stamp.owner, stamp.occurrence)
    meta = {
        "id": rid or "".join(f"{part(~position):08x}" for position in range(4)),
        "finish_reason": {"type": "length", "length": stamp.new_tokens},
        "prompt_tokens": stamp.prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "completion_tokens": stamp.new_tokens,
        "cached_tokens": 0,
        "e2e_latency": E2E_LATENCY_S,
    }
    # The ids of an image are no text: upstream's detokenizer skips them.
    value = {"text": "", "output_ids": list(_ids(stamp)), "meta_info": meta}
    return JsonItem(value, encode_json(value))
