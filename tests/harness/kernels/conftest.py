"""Kernels run in Triton's interpreter, in a process of its own.

`TRITON_INTERPRET` counts only while Triton is imported, and then for the whole process.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch


@pytest.fixture(scope="session")
def interpreted() -> Iterator[Callable[..., Any]]:
    """Return a function that calls another one there, and returns what it returned.

    The function must be one of a module of Seamproof's, its arguments go by value: a tensor that
    it writes to is its own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        # It starts with the first call, and keeps the environment that it started with.
        assert process.submit(os.getenv, "TRITON_INTERPRET").result() == "1"

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        return process.submit(function, *arguments).result(timeout=120)

    yield call
    process.shutdown()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors are done sooner by one thread than by several that wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
