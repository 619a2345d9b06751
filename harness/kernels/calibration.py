"""Calibration: what Triton can be trusted with, by micro-kernels that each have a twin in torch.

Run as a program of its own, with `TRITON_INTERPRET=1` set before Triton is imported. Prints one
JSON object: `triton`, its version, and `cells`, from `operation dtype` to why it cannot be
trusted; empty where it can. A twin is computed on the CPU, from numbers that are exact where they
should be: so what differs is wrong.

Triton 3.9's interpreter keeps bfloat16 as its bits and computes with them: moves are exact, sums
are not. It also runs no kernel whose mask is made of a number and a vector. Triton 3.6's runs no
loop whose end is loaded, with a numpy that takes no array of one number for a number.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl

#: Elements of each micro-kernel's vectors; sides of its matrices.
SIZE = 16
FLOATS = ("float32", "float16", "bfloat16")
DTYPES = (*FLOATS, "int32", "int64")
#: What may be moved, also where nothing is computed of it.
MOVED = (*DTYPES, "int8")

_FAR = 2**40
#: A stride that fits into 32 bits; twice that much does not.
_STRIDE = 2**30


@triton.jit
def _move(x, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def _masked(x, out, count, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(x + at, mask=at < count, other=0), mask=at < size)


@triton.jit
def _number_masked(x, row, out, count, size: tl.constexpr):
    at = tl.arange(0, size)
    here = tl.load(row).to(tl.int64) >= 0
    tl.store(out + at, tl.load(x + at, mask=(at < count) & here, other=0))


@triton.jit
def _loop(x, count, out, size: tl.constexpr):
    at = tl.arange(0, size)
    total = tl.zeros((size,), tl.int64)
    for step in range(0, tl.load(count)):
        total += tl.load(x + at) + step
    tl.store(out + at, total)


@triton.jit
def _add(x, y, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at))


@triton.jit
def _mul(x, y, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at))


@triton.jit
def _fma(x, y, out, size: tl.constexpr):
    at = tl.arange(0, size)
    wide = tl.load(x + at)
    tl.store(out + at, tl.fma(-wide, tl.load(y + at), wide))


@triton.jit
def _cast(x, out, size: tl.constexpr):
    at = tl.arange(0, size)
    wide = tl.load(x + at).to(tl.float32)
    tl.store(out + at, (wide * 0.5).to(out.dtype.element_ty))


@triton.jit
def _exp(x, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.exp(tl.load(x + at)))


@triton.jit
def _dot(x, y, out, size: tl.constexpr):
    at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


@triton.jit
def _reduce(x, out, size: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, size)), axis=0))


@triton.jit
def _scan(x, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def _atomic(x, out, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.atomic_add(out + at % 4, tl.load(x + at))


@triton.jit
def _block_pointer(x, out, size: tl.constexpr):
    block = tl.make_block_ptr(x, (size, size), (size, 1), (0, 8), (size, 8), (1, 0))
    at = tl.arange(0, size)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(out + at, tl.load(block))


@triton.jit
def _far(x, out, size: tl.constexpr, far: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) + tl.arange(0, size).to(tl.int64) + far
    tl.store(out + (at - far), tl.load(x + (at - far)) + at)


@triton.jit
def _wrap(out, stride, size: tl.constexpr):
    at = tl.arange(0, size)
    tl.store(out + at, at * stride + at)


def _vector(dtype: torch.dtype, first: int = 1) -> torch.Tensor:
    """Return small numbers that every dtype holds exactly, and so their sums and products."""
    return torch.arange(first, first + SIZE).remainder(11).to(dtype)


def _empty(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.full(shape or (SIZE,), 99, dtype=dtype)


def _same(got: torch.Tensor, twin: torch.Tensor, near: float = 0.0) -> str:
    if torch.equal(got, twin):
        return ""
    if near and torch.allclose(got.double(), twin.double(), rtol=near, atol=0.0):
        return ""
    index = int((got != twin).flatten().nonzero()[0])
    return f"{got.flatten()[index].item()} where torch has {twin.flatten()[index].item()}"


def _try_move(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype)
    _move[(1,)](x, out, SIZE)
    return _same(out, x)


def _try_masked(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype)
    _masked[(1,)](x, out, 5, SIZE)
    return _same(out, torch.where(torch.arange(SIZE) < 5, x, torch.zeros_like(x)))


def _try_number_masked(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype)
    _number_masked[(1,)](x, torch.tensor([3]), out, 5, SIZE)
    return _same(out, torch.where(torch.arange(SIZE) < 5, x, torch.zeros_like(x)))


def _try_loop(dtype: torch.dtype) -> str:
    x, out = _vector(torch.int64), _empty(torch.int64)
    _loop[(1,)](x, torch.tensor([3], dtype=dtype), out, SIZE)
    return _same(out, 3 * x + 3)


def _try_add(dtype: torch.dtype) -> str:
    x, y, out = _vector(dtype), _vector(dtype, 4), _empty(dtype)
    _add[(1,)](x, y, out, SIZE)
    return _same(out, x + y)


def _try_mul(dtype: torch.dtype) -> str:
    x, y, out = _vector(dtype), _vector(dtype, 4), _empty(dtype)
    _mul[(1,)](x, y, out, SIZE)
    return _same(out, x * y)


def _try_fma(dtype: torch.dtype) -> str:
    x, y, out = _vector(dtype), _vector(dtype, 4), _empty(dtype)
    _fma[(1,)](x, y, out, SIZE)
    return _same(out, x - x * y)


def _try_cast(dtype: torch.dtype) -> str:
    x, out = _vector(dtype) * 2, _empty(dtype)
    _cast[(1,)](x, out, SIZE)
    return _same(out, (x.float() / 2).to(dtype))


def _try_exp(dtype: torch.dtype) -> str:
    x, out = -_vector(dtype) / 8, _empty(dtype)
    _exp[(1,)](x, out, SIZE)
    return _same(out, x.exp(), near=4 * torch.finfo(dtype).eps)


def _try_dot(dtype: torch.dtype) -> str:
    x = torch.stack([_vector(dtype, row) for row in range(SIZE)])
    y, out = x.flip(0), _empty(torch.float32, SIZE, SIZE)
    _dot[(1,)](x, y, out, SIZE)
    return _same(out, x.float() @ y.float())


def _try_reduce(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype, 1)
    _reduce[(1,)](x, out, SIZE)
    return _same(out, x.sum().to(dtype).reshape(1))


def _try_scan(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype)
    _scan[(1,)](x, out, SIZE)
    return _same(out, x.cumsum(0).to(dtype))


def _try_atomic(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), torch.zeros(4, dtype=dtype)
    _atomic[(1,)](x, out, SIZE)
    return _same(out, x.reshape(4, 4).sum(0).to(dtype))


def _try_block_pointer(dtype: torch.dtype) -> str:
    x = torch.stack([_vector(dtype, row) for row in range(SIZE)])
    out = _empty(dtype, SIZE, 8)
    _block_pointer[(1,)](x, out, SIZE)
    return _same(out, x[:, 8:].contiguous())


def _try_far(dtype: torch.dtype) -> str:
    x, out = _vector(dtype), _empty(dtype)
    _far[(1,)](x, out, SIZE, _FAR)
    return _same(out, x + torch.arange(_FAR, _FAR + SIZE))


def _try_wrap(dtype: torch.dtype) -> str:
    out = _empty(dtype)
    _wrap[(1,)](out, _STRIDE, SIZE)
    wrapped = [(at * _STRIDE + at + 2**31) % 2**32 - 2**31 for at in range(SIZE)]
    return _same(out, torch.tensor(wrapped, dtype=dtype))


_TRIALS: dict[str, tuple[Callable[[torch.dtype], str], tuple[str, ...]]] = {
    "move": (_try_move, MOVED),
    "masked load": (_try_masked, MOVED),
    "mask of a number": (_try_number_masked, DTYPES),
    "loop of a loaded number": (_try_loop, ("int32", "int64")),
    "add": (_try_add, DTYPES),
    "mul": (_try_mul, DTYPES),
    "fma": (_try_fma, ("float32",)),
    "cast": (_try_cast, FLOATS),
    "exp": (_try_exp, ("float32",)),
    "dot": (_try_dot, FLOATS),
    "reduction": (_try_reduce, DTYPES),
    "scan": (_try_scan, DTYPES),
    "atomic": (_try_atomic, DTYPES),
    "block pointer": (_try_block_pointer, DTYPES),
    "int64 addressing": (_try_far, ("int64",)),
    "int32 wrap": (_try_wrap, ("int32",)),
}


def cells() -> Iterator[tuple[str, str]]:
    """Yield each operation with a dtype, as `add float16`, and why it cannot be trusted."""
    for operation, (trial, dtypes) in _TRIALS.items():
        for name in dtypes:
            yield f"{operation} {name}", _ended(trial, getattr(torch, name))


def _ended(trial: Callable[[torch.dtype], str], dtype: torch.dtype) -> str:
    try:
        return trial(dtype)
    except Exception as error:  # noqa: BLE001 - whatever it ends in, it cannot be trusted with it
        # What the interpreter raises wraps what happened in the kernel.
        met = error.__cause__ or error
        return f"{type(met).__name__}: {met}"


def main() -> None:
    """Print what was found."""
    found: dict[str, Any] = {"triton": triton.__version__, "cells": dict(cells())}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
