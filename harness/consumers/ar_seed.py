"""ar-seed: upstream's GLM-Image stage asks the AR server with the seeds of its outputs.

Driven: `forward` with one or several outputs, and `run_grouped_requests` with two prompts, of
which the first has the seed under test. Read: the `sampling_seed` of each item in the request
that reached the simulated AR server. What a server then draws is another matter: SGLang's own
heeds the seed only with `--enable-deterministic-inference`. The stage of 0.5.16 and 0.5.17 has no
word for a seed in its requests, so the seam is not there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.ar_seed import due
from contracts.contract import Origin
from harness.consumers.ar_exchange import ArExchange
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.glm_image_stage import PROMPTS, request, seed_of, server_args
from harness.outcome import Passed, Run, Span, Whose
from harness.upstream.loading import Upstream
from simulators.seed_values import honest_seeds, owners, seed

_SIZE = (64, 96)
#: Far from the seeds under test.
_OTHER_PROMPT = 500


class ArSeed:
    """The consumer of ar-seed."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._ar = ArExchange(upstream, module, device)

    def close(self) -> None:
        """Stop the AR server."""
        self._ar.close()

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the seed as the stage would receive it."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return the seeds with which the stage asked."""
        passed = _passed(dims, lie)
        self._ar.plan(Lie((), lie.rng))
        outcome = outcome_of(self._upstream, lambda: self._asked(dims, passed.payload))
        return Run(outcome, passed)

    def _asked(self, dims: Mapping[str, str], value: Any) -> Output:
        outputs, args = int(dims["outputs"]), server_args(self._ar.url)
        first = request(PROMPTS[0], *_SIZE, outputs, value)
        dues = [(i, number) for i, number in enumerate(_due(dims))]
        if dims["entry"] == "forward":
            self._ar.stage.forward(first, args)
        else:
            other = seed_of(dims, _OTHER_PROMPT, outputs)
            second = request(PROMPTS[1], *_SIZE, outputs, other)
            self._ar.stage.run_grouped_requests([first, second], args)
            theirs = due(other, outputs) or [None] * outputs
            dues += [(outputs + i, number) for i, number in enumerate(theirs)]
        return _read(self._sent(), dict(dues), owners(dims["seeds"], outputs))

    def _sent(self) -> list[Any]:
        seen = self._ar.exchange()
        params = seen.request["sampling_params"] if seen is not None else []
        every = params if isinstance(params, list) else [params]
        return [one.get("sampling_seed") for one in every]


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    kind, outputs = dims["seeds"], int(dims["outputs"])
    known = owners(kind, outputs)

    def owner_of(seeds: Sequence[Any]) -> list[Origin | None]:
        return [known.get(value) if type(value) is int else None for value in seeds]

    asked = {"outputs": outputs, "seeded": kind != "none"}
    return Passed(seed(lie.told(honest_seeds(kind, outputs))), asked, owner_of)


def _due(dims: Mapping[str, str]) -> list[Any]:
    outputs = int(dims["outputs"])
    return due(seed(honest_seeds(dims["seeds"], outputs)), outputs) or [None] * outputs


def _read(sent: Sequence[Any], dues: Mapping[int, Any], known: Mapping[int, Origin]) -> Output:
    whose = {value: _named(origin) for value, origin in known.items()}
    whose |= {value: f"output {index}" for index, value in dues.items() if value is not None}
    found: list[Span] = []
    for index, value in dues.items():
        wants = [Whose("nobody" if value is None else f"output {index}", 0)]
        has = [_whose(one, whose) for one in sent[index : index + 1]]
        found += spans(f"output {index}", wants, has, unit="seeds")
    facts = {f"seed of item {index}": repr(value) for index, value in enumerate(sent)}
    return Output(tuple(found), {"count of items": str(len(sent)), **facts}, list(sent))


def _whose(value: Any, known: Mapping[int, str]) -> Whose | None:
    if value is None:
        return Whose("nobody", 0)
    return Whose(known[value], 0) if type(value) is int and value in known else None


def _named(origin: Origin) -> str:
    return f"output {origin.owner}" if isinstance(origin.owner, int) else str(origin.owner)
