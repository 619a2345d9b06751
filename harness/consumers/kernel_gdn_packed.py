"""kernel-gdn-packed: upstream's kernels decode one token of each request of a packed batch.

Driven: `fused_recurrent_gated_delta_rule_packed_decode` (entry `gdn`),
`fused_recurrent_kda_packed_decode` (`kda`) and `helion_fused_recurrent_kda_packed_decode`
(`helion`, from 0.5.18 on). Read: which request's token each output was made of, and from whose
state, by the rule itself in float64; the same of every slot of the pool afterwards; and whether
anything beside the tensors was written.

Provided: see `harness.kernels.fla`. Helion's kernels are barred where Helion is missing, or where
there is no card for what it compiles: the checks before them run.
"""

import importlib.util
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from harness.consumers.consumer import Lacking, Lie, Output, outcome_of
from harness.kernels.fla import load_fla
from harness.kernels.launch import bar_all, beside, rows_of
from harness.kernels.margins import Margins
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Needs, Upstream
from harness.upstream.stub_names import names
from simulators.decode_batch import (
    Batch,
    decode_reader,
    decode_runs,
    honest_decode,
    index_told,
)
from simulators.payload import Payload
from simulators.state_runs import Rows, Runs, run_name
from simulators.stateful_sequences import slot_name

_HELION = "sglang.kernels.ops.attention.helion"
_KERNEL = "_helion_fused_recurrent_kda_packed_decode"
_WHY = "Helion's kernels need Helion, and a card that it compiles for"
_ENTRIES = {
    "gdn": "fused_recurrent_gated_delta_rule_packed_decode",
    "kda": "fused_recurrent_kda_packed_decode",
    "helion": "helion_fused_recurrent_kda_packed_decode",
}
#: Stands in the margins of slots: it is skipped by design.
_SKIPPED = -1
#: Stands in those of numbers: no NaN, so that what is written there is seen too.
_HALF = 0.5
#: How far a number may be off that is rounded to a dtype, or computed in float32.
_NEAR = {"float32": 2e-5, "float16": 1e-3, "bfloat16": 4e-3}
_TENSORS = ("mixed_qkv", "a", "b", "A_log", "dt_bias", "initial_state", "out")


class KernelGdnPacked:
    """The consumer of kernel-gdn-packed."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        has_helion = importlib.util.find_spec("helion") is not None
        fused = load_fla(upstream, module, device)
        self._modules = {"gdn": fused, "kda": fused}
        name = f"{_HELION}.kda_decode"
        if upstream.tree.file_of(name) is None:
            return
        helion = upstream.load(Needs(name, (_HELION,)))
        if device == "cpu" or not has_helion:
            kernels = [n for n in names(helion) if n.startswith(_KERNEL) and n[-5:] != "_body"]
            bar_all(helion, kernels, _WHY)
        self._modules["helion"] = helion

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be told."""
        return _passed(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what became of the batch."""
        payload = lie.told(_honest(dims))

        def call() -> Output:
            entry = dims["entry"]
            if entry not in self._modules:
                raise Lacking(f"this release has no {_ENTRIES[entry]}")
            decode = getattr(self._modules[entry], _ENTRIES[entry])
            margins = Margins()
            told = {name: self._around(margins, payload.beside[name], name) for name in _TENSORS}
            slots = self._around(margins, index_told(payload), "the slots")
            with margins:
                made, states = decode(
                    **told,
                    scale=payload.beside["scale"],
                    ssm_state_indices=slots,
                    use_qk_l2norm_in_kernel=dims["norm"] == "l2",
                )
            found = _read(made, states, dims)
            said = {"the form of the outputs": str(tuple(made.shape))}
            return Output((*found, *beside(margins.written())), said, (made, states))

        return Run(outcome_of(self._upstream, call), _passed(payload, dims))

    def _around(self, margins: Margins, tensor: torch.Tensor, name: str) -> torch.Tensor:
        if tensor.is_meta:
            return tensor
        poison = _HALF if tensor.is_floating_point() else _SKIPPED
        return margins.around(tensor.to(self._device), name, poison)


def _batch(dims: Mapping[str, str]) -> Batch:
    heads, shared = int(dims["heads"]), int(dims["shared"])
    sizes = int(dims["keys"]), int(dims["values"])
    return Batch(int(dims["records"]), heads, heads * shared, *sizes, dims["entry"] != "gdn")


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_decode(_batch(dims), dims["dtype"])


@lru_cache(maxsize=16)
def _runs(batch: Batch, dtype: str, is_normalised: bool) -> Runs:
    return decode_runs(batch, honest_decode(batch, dtype), is_normalised)


def _passed(payload: Payload, dims: Mapping[str, str]) -> Passed:
    batch = _batch(dims)
    told: dict[str, Any] = {name: payload.beside[name] for name in (*_TENSORS, "scale")}
    request = {
        "entry": dims["entry"],
        "heads": batch.heads,
        "scale": batch.keys**-0.5,
        "dtypes": {"out": f"torch.{dims['dtype']}", "initial_state": "torch.float32"},
    }
    return Passed({**told, "ssm_state_indices": index_told(payload)}, request, decode_reader(batch))


def _read(made: torch.Tensor, states: torch.Tensor, dims: Mapping[str, str]) -> list[Span]:
    batch = _batch(dims)
    known = _runs(batch, dims["dtype"], dims["norm"] == "l2")
    has = _whose(made.flatten(0, 1), known.outputs, _NEAR[dims["dtype"]])
    left = _whose(states, known.states, _NEAR["float32"])
    found: list[Span] = []
    for i in range(batch.requests):
        own = [Whose(run_name(f"request {i}", slot_name(2 * i + 1)), i)]
        found += rows_of(f"the output of request {i}", own, has[i : i + 1], "tokens")
        slot = left[2 * i + 1 : 2 * i + 2]
        found += rows_of(f"the state of request {i} afterwards", own, slot, "states")
    found += rows_of("the output behind the last request", [], has[batch.requests :], "tokens")
    for at in range(0, batch.slots, 2):
        wanted = [Whose(f"{slot_name(at)}, untouched", 0)]
        found += rows_of("another batch's slot", wanted, left[at : at + 1], "states")
    return [*found, *rows_of("the states behind the last", [], left[batch.slots :], "states")]


def _whose(rows: torch.Tensor, known: Rows, near: float) -> list[Whose | None]:
    origins = [known.origin(row, near) for row in rows]
    return [Whose(str(o.owner), o.position) if o is not None else None for o in origins]
