"""Every kernel compiles for a card, which needs none: the interpreter takes what Triton refuses."""

from pathlib import Path
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from harness.kernels.audit import _read_rows_kernel
from harness.kernels.audit_ids import _read_ids_kernel
from harness.kernels.stamp import _stamp_ids_kernel, _stamp_rows_kernel, tile_of
from harness.kernels.tally import _tally_kernel

pytestmark = pytest.mark.skipif(
    triton.knobs.runtime.interpret, reason="the interpreter is on, which compiles nothing"
)
HOPPER = GPUTarget("cuda", 90, 32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken from an earlier run, and nothing left."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def compiled(kernel: Any, constants: dict[str, int], **pointers: str) -> str:
    """Return the PTX of a kernel.

    Args:
        kernel: Which.
        constants: Its constexprs, by name.
        pointers: Types of pointers that are not to int64, by name.
    """
    kinds = {
        name: "constexpr"
        if name in constants
        else pointers.get(name, "*i64" if name.endswith("_ptr") else "i32")
        for name in kernel.arg_names
    }
    # As at a launch: pointers from an allocator, and widths that are multiples of 16.
    even = [
        place
        for place, name in enumerate(kernel.arg_names)
        if name.endswith("_ptr") or name in ("width", "stride")
    ]
    source = ASTSource(
        fn=kernel,
        signature=kinds,
        constexprs=constants,
        attrs={(place,): [["tt.divisibility", 16]] for place in even},
    )
    made = triton.compile(source, target=HOPPER)
    assert "cubin" in made.asm
    return str(made.asm["ptx"])


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("fp32", 9), ("fp16", 1000), ("bf16", 8192), ("bf16", 1024), ("i32", 8), ("i64", 4096)],
)
def test_stamps_of_rows(dtype: str, width: int) -> None:
    """Sixteen bytes are stored at once."""
    tall, periods = tile_of(width)
    constants = {"STEPS": 8, "ROWS": tall, "PERIODS": periods}

    ptx = compiled(_stamp_rows_kernel, constants, out_ptr=f"*{dtype}")

    assert "st.global.v4.b32" in ptx or "st.global.v2.b64" in ptx


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("fp32", 9), ("fp16", 1000), ("bf16", 8192), ("bf16", 20_000), ("i32", 8), ("i64", 4096)],
)
def test_audits_of_rows(dtype: str, width: int) -> None:
    """Sixteen bytes are loaded at once, and places are lowered by an atomic minimum."""
    tall, periods = tile_of(width)
    blocks = triton.cdiv(width, 8 * periods)
    constants = {"STEPS": 8, "ROWS": tall, "PERIODS": periods, "BLOCKS": blocks}

    ptx = compiled(_read_rows_kernel, constants, rows_ptr=f"*{dtype}", kind_ptr="*i8")

    assert "ld.global.v4.b32" in ptx or "ld.global.v2.b64" in ptx
    assert ".min.s64" in ptx


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_ids_and_counts(dtype: str) -> None:
    """Stamps and audits of ids, and the counts of both audits."""
    compiled(_stamp_ids_kernel, {"STEPS": 8, "IDS": 1024}, out_ptr=f"*{dtype}")
    compiled(
        _read_ids_kernel,
        {"PAIR_STEPS": 24, "STEPS": 8, "IDS": 1024},
        ids_ptr=f"*{dtype}",
        kind_ptr="*i8",
    )
    ptx = compiled(_tally_kernel, {"STEPS": 8, "ROWS": 1024}, kind_ptr="*i8")

    assert ".add.u64" in ptx
    assert ".min.s64" in ptx
