"""Loads upstream's kernels of linear attention (FLA), and what they need without a card.

Provided: torch's release, by name, for the module that asks for it. Where Triton's interpreter
runs the kernels: a device context that does nothing, and `exp`, which upstream takes out of
Triton as it imports and the interpreter replaces only later.
"""

import contextlib
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
import triton.language as tl

from harness.kernels.launch import provide_host
from harness.upstream.hermetic import provide
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names

FLA = "sglang.kernels.ops.attention.fla"
_UTILS = f"{FLA}.utils"


def load_fla(upstream: Upstream, module: str, device: str, real: Sequence[str] = ()) -> ModuleType:
    """Return one of upstream's modules with kernels of linear attention.

    Args:
        upstream: The loader.
        module: Its name.
        device: Where tensors live; on `cpu` the interpreter runs the kernels.
        real: Further upstream modules to load for real.
    """
    release = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    provided = {"sglang.srt.utils.common": {"torch_release": release}}
    needs = Needs(module, (_UTILS, f"{FLA}.op", *real), provided=provided)
    loaded = upstream.load(needs)
    provide_host(device)
    if device == "cpu":
        provide(sys.modules[_UTILS], custom_device_ctx=lambda index: contextlib.nullcontext())
        if "exp" in names(loaded):
            provide(loaded, exp=_exp)
    return loaded


def _exp(x: Any) -> Any:
    return tl.exp(x)
