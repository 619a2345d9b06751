"""The contract of kernel-causal-pad, alone: a cache, a chunk and padding, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_causal_pad
from contracts.contract import Answer, Violation
from simulators.chunked_frames import CACHED, NEW, OLDER, Sizes, frame_reader, laid_out, stamped

SIZES = Sizes()
X, CACHE = stamped(NEW, SIZES, 2), stamped(CACHED, SIZES, 2)
ENTRIES = ("pad", "caller", "keep")
REQUEST = {
    "shape": SIZES.shape,
    "cached": 2,
    "padding": SIZES.padding,
    "dtype": "torch.float32",
}


def check(entry: str, **told: Any) -> list[Violation]:
    """Return the violations of an honest payload with some of it changed."""
    payload = {"x": X, "cache_x": CACHE, "padding": [1, 1, 1, 1, 2, 0], **told}
    request = {**REQUEST, "entry": entry}
    return list(kernel_causal_pad.check(payload, request, frame_reader(SIZES)))


def accident(found: list[Violation]) -> str:
    """Return the error that ends the call by accident, empty if none does."""
    last = ending(found, "0.5.23")
    return " or ".join(last.accident("0.5.23")) if last is not None else ""


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_honest_payload_breaks_nothing(entry: str) -> None:
    """Each new frame and each cached one in its place."""
    assert check(entry) == []


ASSERTED = ("AssertionError", "", "")
#: What is told, the clauses that it breaks, and what `pad`, `caller` and `keep` end in.
LIES: list[tuple[dict[str, Any], list[str], tuple[str, str, str]]] = [
    ({"cache_x": None}, ["cache-kind", "cached-asked"], ("AttributeError", "", "")),
    ({"cache_x": "Rep"}, ["cache-kind", "cached-asked"], ("AttributeError", "AttributeError", "")),
    (
        {"cache_x": CACHE[:, :, 0]},
        ["cache-kind", "cached-asked"],
        ("AssertionError", "RuntimeError", "RuntimeError"),
    ),
    (
        {"cache_x": CACHE.to("meta")},
        ["cache-here"],
        ("NotImplementedError or ValueError", "NotImplementedError", "NotImplementedError"),
    ),
    (
        {"x": X[:, :, 0]},
        ["chunk-form", "shape-asked"],
        ("ValueError", "RuntimeError", "IndexError"),
    ),
    (
        {"padding": [1, 1, 1, 1, 2]},
        ["padding-six"],
        ("ValueError", "ValueError", "ValueError"),
    ),
    (
        {"padding": [1.0, 1.0, 1.0, 1.0, 2.0, 0.0]},
        ["padding-whole"],
        ("TypeError", "TypeError", "TypeError"),
    ),
    (
        {"padding": [1, 2, 1, 1, 2, 0]},
        ["padding-even", "padding-asked"],
        ("AssertionError", "", ""),
    ),
    (
        {"padding": [1, 1, 1, 1, 2, 1]},
        ["padding-even", "padding-asked"],
        ("AssertionError", "", ""),
    ),
    ({"padding": [1, 1, 1, 1, 1, 0]}, ["front-holds", "padding-asked"], ASSERTED),
    ({"padding": [2, 2, 1, 1, 2, 0]}, ["padding-asked"], ("", "", "")),
    (
        {"cache_x": CACHE[:, :, :, :2].contiguous()},
        ["cache-fits"],
        ("", "RuntimeError", "RuntimeError"),
    ),
    (
        {"cache_x": CACHE[:1]},
        ["cache-fits"],
        ("", "RuntimeError", "RuntimeError"),
    ),
    ({"cache_x": CACHE.half()}, ["dtype-one", "dtype-asked"], ("", "", "")),
    ({"cache_x": CACHE[:, :, 1:].contiguous()}, ["cached-asked", "cache-identity"], ("", "", "")),
    ({"x": X[:, :, :1].contiguous()}, ["shape-asked"], ("", "", "")),
    ({"cache_x": CACHE.flip(2)}, ["cache-identity"], ("", "", "")),
    ({"cache_x": stamped(CACHED, SIZES, 2, request=1)}, ["cache-identity"], ("", "", "")),
    ({"cache_x": stamped(OLDER, SIZES, 2)}, ["cache-identity"], ("", "", "")),
    ({"x": X.flip(0)}, ["chunk-identity"], ("", "", "")),
    ({"x": X.flip(4)}, ["chunk-identity"], ("", "", "")),
]


@pytest.mark.parametrize(("told", "clauses", "errors"), LIES)
def test_each_clause_is_broken_by_its_own_lie(
    told: dict[str, Any], clauses: list[str], errors: tuple[str, str, str]
) -> None:
    """Whatever the entry; what it ends in is the entry's."""
    for entry, error in zip(ENTRIES, errors, strict=True):
        found = check(entry, **told)
        assert list(dict.fromkeys(v.clause.name for v in found)) == clauses
        assert accident(found) == error


@pytest.mark.parametrize("word", ["channels-last", "turned", "columns-apart", "view"])
def test_only_the_kernel_alone_needs_elements_side_by_side(word: str) -> None:
    """The callers look at strides."""
    names = [v.clause.name for v in check("pad", x=laid_out(X, word))]

    assert names == ["no-gaps"]
    assert [v.clause.name for v in check("pad", cache_x=laid_out(CACHE, word))] == ["no-gaps"]
    assert check("caller", x=laid_out(X, word)) == check("keep", x=laid_out(X, word)) == []


def test_offsets_that_outgrow_32_bits_break_a_clause_of_keep() -> None:
    """The third row of a batch whose rows lie 2**30 elements apart."""
    sizes = Sizes(batch=3)
    honest = stamped(NEW, sizes, 2, "int8")
    pool = torch.empty(2**31 + honest[0].numel(), dtype=torch.int8)
    far = pool.as_strided(honest.shape, (2**30, *honest.stride()[1:]))
    far.copy_(honest)
    cache = stamped(CACHED, sizes, 2, "int8")
    payload = {"x": far, "cache_x": cache, "padding": [1, 1, 1, 1, 2, 0]}
    request = {**REQUEST, "entry": "keep", "shape": sizes.shape, "dtype": "torch.int8"}
    found = list(kernel_causal_pad.check(payload, request, frame_reader(sizes)))

    assert [v.clause.name for v in found] == ["near"]
    assert accident(found) == ""
    two = {"x": far[:2], "cache_x": cache[:2], "padding": [1, 1, 1, 1, 2, 0]}
    request["shape"] = (2, *sizes.shape[1:])
    assert list(kernel_causal_pad.check(two, request, frame_reader(sizes))) == []


def test_a_tuple_matters_only_where_torch_takes_over() -> None:
    """The kernel's branch leaves the padding alone; the other writes into it."""
    told = (1, 1, 1, 1, 2, 0)

    assert accident(check("caller", padding=told)) == ""
    assert accident(check("caller", padding=told, x=laid_out(X, "view"))) == "TypeError"
    assert accident(check("caller", padding=told, cache_x=None)) == ""
    assert check("pad", padding=told) == check("keep", padding=told) == []


def test_without_frames_in_front_a_cache_that_does_not_fit_is_no_accident() -> None:
    """The callers leave it out."""
    told = {"padding": [1, 1, 1, 1, 0, 0], "cache_x": CACHE[:1]}

    assert accident(check("caller", **told)) == accident(check("keep", **told)) == ""
    assert accident(check("pad", **told)) == "AssertionError"


def test_without_a_reader_identity_is_unchecked() -> None:
    """And is not said to hold."""
    payload = {"x": X, "cache_x": CACHE, "padding": [1, 1, 1, 1, 2, 0]}
    said = kernel_causal_pad.answers(payload, {**REQUEST, "entry": "pad"})

    assert said["chunk-identity"] == said["cache-identity"] == Answer.UNCHECKED
    assert {v for k, v in said.items() if "identity" not in k} == {Answer.HELD}


def test_the_one_guard_cannot_be_reached() -> None:
    """Who asks for the kernel asks first whether there is one."""
    assert kernel_causal_pad.FUSED.guard("0.5.23") is None
    assert kernel_causal_pad.FUSED.dead_guard("0.5.23") is not None
