"""kernel-gdn-states: upstream's kernels of the gated delta rule go on from stored states.

Driven: `fused_recurrent_gated_delta_rule` (entry `recurrent`; each sequence's state is taken out
of the pool first), `fused_recurrent_gated_delta_rule_update` (`update`; the kernel itself takes
it, and puts it back) and `chunk_gated_delta_rule` (`chunk`; so does this). Read: which request's
tokens each output was made of, and from whose state, by the rule itself in float64; the same of
the states afterwards, of every slot of the pool; and whether anything beside the tensors was
written.

Provided: see `harness.kernels.fla`. In Triton's interpreter, chunk's kernels are barred where the
calibration does not trust it with block pointers: the checks before them run.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch

from harness.consumers.consumer import Lie, Output, outcome_of
from harness.kernels.fla import FLA, load_fla
from harness.kernels.launch import bar_all, beside, rows_of
from harness.kernels.margins import Margins
from harness.kernels.trust import trust
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.payload import Payload
from simulators.state_runs import Rows, Runs, run_name
from simulators.stateful_sequences import (
    Sizes,
    honest_sequences,
    owner_reader,
    runs,
    slot_name,
    slots_told,
    starts_told,
    states_told,
)

_CHUNK = f"{FLA}.chunk"
#: What chunk's module loads its kernels from.
_CHUNK_PARTS = tuple(
    f"{FLA}.{name}"
    for name in ("index", "cumsum", "l2norm", "wy_fast", "chunk_delta_h", "chunk_fwd", "chunk_o")
)
_CHUNK_KERNELS = ("chunk_local_cumsum", "l2norm_fwd")
_WHY = "chunk's kernels take block pointers, with which Triton's interpreter cannot be trusted"
_NEEDS = ("block pointer bfloat16", "dot bfloat16")
#: Stands in the margins of slots and starts: what is read there leads to other margins.
_POISON = -1
#: Stands in those of numbers: no NaN, so that what is written there is seen too.
_HALF = 0.5
#: How far a number may be off that is rounded to a dtype, or computed in float32.
_NEAR = {"float32": 2e-5, "float16": 1e-3, "bfloat16": 4e-3}
_NEAR_CHUNK = 5e-2
_TENSORS = ("q", "k", "v", "g", "beta")


class KernelGdnStates:
    """The consumer of kernel-gdn-states."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._device = torch.device(device)
        self._recurrent = load_fla(upstream, module, device)
        self._chunk = load_fla(upstream, _CHUNK, device, _CHUNK_PARTS)
        if device == "cpu":
            bar_all(self._chunk, _CHUNK_KERNELS, _WHY if trust().lacks(_NEEDS) else "")

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would be told."""
        return _passed(lie.told(_honest(dims)), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what became of the sequences."""
        payload = lie.told(_honest(dims))

        def call() -> Output:
            margins = Margins()
            named = {
                name: margins.around(payload.beside[name].to(self._device), name, _HALF)
                for name in _TENSORS
            }
            with margins:
                made, states = self._called(margins, payload, dims, named)
            found = _read(made, states, dims)
            said = {"the form of the outputs": f"{tuple(made.shape)}, {made.dtype}"}
            return Output((*found, *beside(margins.written())), said, (made, states))

        return Run(outcome_of(self._upstream, call), _passed(payload, dims))

    def _called(
        self,
        margins: Margins,
        payload: Payload,
        dims: Mapping[str, str],
        named: dict[str, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs, and the states afterwards."""
        entry = dims["entry"]
        states = margins.around(
            states_told(payload, entry == "recurrent").to(self._device), "the states", _HALF
        )
        starts = self._told(margins, starts_told(payload), "the starts")
        every: dict[str, Any] = {
            **named,
            "scale": payload.beside["scale"],
            "cu_seqlens": starts,
            "use_qk_l2norm_in_kernel": dims["norm"] == "l2",
        }
        if entry == "recurrent":
            made, after = self._recurrent.fused_recurrent_gated_delta_rule(
                **every, initial_state=states, output_final_state=True
            )
            return made, after
        slots = self._told(margins, slots_told(payload), "the slots")
        if entry == "chunk":
            made, _, _ = self._chunk.chunk_gated_delta_rule(
                **every, initial_state=states, initial_state_indices=slots
            )
            return made, states
        places = payload.beside["places"]
        made = self._recurrent.fused_recurrent_gated_delta_rule_update(
            **every,
            initial_state_source=states,
            initial_state_indices=slots,
            intermediate_state_indices=None if places is None else torch.tensor(places),
        )
        return made, states

    def _told(self, margins: Margins, told: torch.Tensor | None, name: str) -> Any:
        return None if told is None else margins.around(told.to(self._device), name, _POISON)


def _sizes(dims: Mapping[str, str]) -> Sizes:
    heads, shared = int(dims["heads"]), int(dims["shared"])
    lengths = tuple(int(length) for length in dims["lengths"].split(","))
    return Sizes(lengths, heads, heads * shared, int(dims["keys"]), int(dims["values"]))


def _honest(dims: Mapping[str, str]) -> Payload:
    return honest_sequences(_sizes(dims), dims["dtype"])


@lru_cache(maxsize=16)
def _runs(sizes: Sizes, dtype: str, is_normalised: bool) -> Runs:
    return runs(sizes, honest_sequences(sizes, dtype), is_normalised)


def _passed(payload: Payload, dims: Mapping[str, str]) -> Passed:
    sizes, honest = _sizes(dims), _honest(dims)
    told = {
        "states": states_told(payload, dims["entry"] == "recurrent"),
        "slots": slots_told(payload),
        "starts": starts_told(payload),
        "batch": payload.beside["q"].shape[0],
        "tokens": payload.beside["q"].shape[1],
        "dtype": str(payload.beside["q"].dtype),
        "scale": payload.beside["scale"],
        "places": payload.beside["places"],
    }
    request = {
        "entry": dims["entry"],
        "starts": sizes.starts,
        "slots": honest.records,
        "shape": (sizes.value_heads, sizes.values, sizes.keys),
        "scale": honest.beside["scale"],
    }
    return Passed(told, request, owner_reader(sizes))


def _read(made: torch.Tensor, states: torch.Tensor, dims: Mapping[str, str]) -> list[Span]:
    sizes = _sizes(dims)
    known = _runs(sizes, dims["dtype"], dims["norm"] == "l2")
    is_chunk = dims["entry"] == "chunk"
    near = _NEAR_CHUNK if is_chunk else _NEAR[dims["dtype"]]
    has = _whose(made.flatten(0, 1), known.outputs, near)
    found: list[Span] = []
    for i, (start, end) in enumerate(pairwise(sizes.starts)):
        wants = [Whose(_own(i), token) for token in range(start, end)]
        found += rows_of(f"the output of request {i}", wants, has[start:end], "tokens")
    found += rows_of("the output behind the last request", [], has[sizes.starts[-1] :], "tokens")
    is_pool = dims["entry"] != "recurrent"
    if is_pool and states.numel() == sizes.slots * known.states.values[0].numel():
        # However it is told, the kernels take it as this.
        states = states.reshape(sizes.slots, *known.states.values.shape[1:])
    left = _whose(states, known.states, _NEAR_CHUNK if is_chunk else _NEAR["float32"])
    count = len(sizes.lengths)
    for i in range(count):
        at = 2 * i + 1 if is_pool else i
        place = f"the state of request {i} afterwards"
        found += rows_of(place, [_left(sizes, i)], left[at : at + 1], "states")
    others = range(0, sizes.slots, 2) if is_pool else range(0)
    for at in others:
        wanted = Whose(f"{slot_name(at)}, untouched", 0)
        found += rows_of("another batch's slot", [wanted], left[at : at + 1], "states")
    beyond = left[sizes.slots if is_pool else count :]
    return [*found, *rows_of("the states behind the last", [], beyond, "states")]


def _own(request: int) -> str:
    return run_name(f"request {request}", slot_name(2 * request + 1))


def _left(sizes: Sizes, request: int) -> Whose:
    """Return whose state a request should leave: that of its last token, if it has any."""
    if not sizes.lengths[request]:
        return Whose(f"{slot_name(2 * request + 1)}, untouched", 0)
    return Whose(_own(request), sizes.starts[request + 1] - 1)


def _whose(rows: torch.Tensor, known: Rows, near: float) -> list[Whose | None]:
    origins = [known.origin(row, near) for row in rows]
    return [Whose(str(o.owner), o.position) if o is not None else None for o in origins]
