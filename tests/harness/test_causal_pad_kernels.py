"""kernel-causal-pad stands on upstream's kernels: damage to one is seen, and a card counts alike.

The callers fall back to torch, which is right too: a golden run alone does not say that a kernel
was launched.
"""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from harness.case import parse
from harness.runner import run_cases
from harness.upstream.source import Tree, find
from harness.verdict import Verdict

LAYOUT = Path("sglang/kernels/ops/diffusion/layout")
PAD = LAYOUT / "causal_conv3d_cat_pad_triton.py"
KEEP = LAYOUT / "wan_causal_cache_triton.py"
NOOP = "kernel-causal-pad noop entry={}"


def damaged(newest: Tree, root: Path, file: Path, before: str, after: str) -> Path:
    """Return the newest tree with a part of one file replaced; the rest of it is links."""
    for folder in reversed(file.parents[:-1]):
        (root / folder).mkdir(parents=True)
        for there in (newest.root / folder).iterdir():
            if there.name not in (*file.parts, "__pycache__"):
                (root / folder / there.name).symlink_to(there)
    text = (newest.root / file).read_text()
    assert text.count(before) == 1
    (root / file).write_text(text.replace(before, after))
    return root


@pytest.mark.parametrize(
    ("file", "before", "after", "entries"),
    [
        (PAD, "from_cache = src_t < cache_t", "from_cache = src_t < 0", ("pad", "caller")),
        (KEEP, "(it >= 0) & (it < cache_t)", "(it >= 0) & (it < 0)", ("keep",)),
        (KEEP, "ct = o_t - (out_t - KEEP_T)", "ct = o_t - (out_t - 1)", ("keep",)),
    ],
)
def test_a_kernel_that_errs_is_seen_by_its_entries_alone(
    newest: Tree, tmp_path: Path, file: Path, before: str, after: str, entries: tuple[str, ...]
) -> None:
    """So each entry's golden run is the kernel's, and not what torch makes instead."""
    tree = damaged(newest, tmp_path, file, before, after)
    every = ("pad", "caller", "keep")

    results = run_cases(find(str(tree)), [parse(NOOP.format(entry)) for entry in every])

    wanted = [Verdict.SILENT if entry in entries else Verdict.UPHELD for entry in every]
    assert [result.verdict for result in results] == wanted


@pytest.mark.skipif(
    triton.knobs.runtime.interpret, reason="the interpreter is on, which compiles nothing"
)
@pytest.mark.parametrize(("kind", "bits"), [("i32", 32), ("i64", 64)])
def test_a_card_forms_offsets_in_the_bits_of_a_stride(
    newest: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, bits: int
) -> None:
    """A stride that fits into 32 bits is multiplied in 32: what the interpreter shows is no lie."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    spec = importlib.util.spec_from_file_location("wan_causal_cache", newest.root / KEEP)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module._cat_pad_cl3d_gather_kernel
    constants = {"HAS_CACHE": True, "KEEP_T": 2, "IDX64": False, "BLOCK": 512}
    types = dict.fromkeys(kernel.arg_names, "i32") | dict.fromkeys(constants, "constexpr")
    types |= {name: "*i8" for name in kernel.arg_names if name.endswith("_ptr")}
    source = ASTSource(fn=kernel, signature=types | {"sxb": kind}, constexprs=constants)

    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))

    lines = made.asm["ttir"].splitlines()
    products = [line for line in lines if "arith.muli %ob" in line or "arith.muli %x_off" in line]
    assert f"tensor<512xi{bits}>" in products[0]
    loaded = next(line for line in lines if "%vals" in line and "tt.addptr" in line)
    assert f"tensor<512xi{bits}>" in loaded
