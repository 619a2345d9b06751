"""What must hold of one prompt's sampling parameters, tried when its turn comes.

- There is no field that their class has not.
- They ask for a number of ids, no less than none.
- A sampling seed is an integer of 64 bits with a sign (from 0.5.21 on).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses.generate_columns import KNOWN_PARAMS, params_of
from contracts.contract import Clause, Guard, Violation
from contracts.releases import Span
from contracts.source import Source

_INT64 = 2**63


def _verifying(text: str, span: Span) -> Guard:
    path = "srt/sampling/sampling_params.py"
    return Guard("ValueError", text, span, Source("0.5.23", path, "SamplingParams.verify"))


FIELDS_TAKEN = Clause(
    "fields-taken",
    "A prompt's parameters have no field that their class has not.",
    incidental=("TypeError",),
)
BUDGET = Clause(
    "budget",
    "A prompt asks for no less than no ids.",
    guards=(_verifying("max_new_tokens must be at least 0, got {got}.", Span("0.5.16")),),
)
BUDGET_NUMBER = Clause(
    "budget-number", "What a prompt asks for is a number.", incidental=("TypeError",)
)
SEED_INTEGER = Clause(
    "seed-integer",
    "A sampling seed is an integer.",
    guards=(_verifying("sampling_seed must be an integer, got {got}.", Span("0.5.21", "0.5.22")),),
)
SEED_INT64 = Clause(
    "seed-int64",
    "A sampling seed has 64 bits with a sign.",
    guards=(
        _verifying("sampling_seed must be in [-2**63, 2**63 - 1], got {got}.", Span("0.5.21")),
    ),
)
CLAUSES = (FIELDS_TAKEN, BUDGET_NUMBER, BUDGET, SEED_INTEGER, SEED_INT64)


def walk(body: Mapping[str, Any], count: int) -> Iterator[Violation]:
    """Yield what is refused of each prompt's parameters, when its turn comes."""
    params = body.get("sampling_params")
    listed = isinstance(params, list)
    for index, one in enumerate(params_of(body)[: count if listed else 1]):
        if isinstance(one, dict):
            at = f"[{index}]" if listed else ""
            yield from _walk_one(one, f"$.sampling_params{at}")


def _walk_one(params: Mapping[str, Any], where: str) -> Iterator[Violation]:
    strange = next((name for name in params if name not in KNOWN_PARAMS), None)
    if strange is not None:
        yield Violation(FIELDS_TAKEN, f"{where}.{strange}", "a field of the class", strange)
    budget, seed = params.get("max_new_tokens"), params.get("sampling_seed")
    if isinstance(budget, int | float) and budget < 0:
        at = f"{where}.max_new_tokens"
        yield Violation(BUDGET, at, "0 or more", str(budget), {"got": budget})
    elif budget is not None and not isinstance(budget, int | float):
        yield Violation(BUDGET_NUMBER, f"{where}.max_new_tokens", "a number", repr(budget))
    if seed is None:
        return
    at, got = f"{where}.sampling_seed", type(seed).__name__
    if not isinstance(seed, int):
        yield Violation(SEED_INTEGER, at, "an integer", got, {"got": got})
    elif not -_INT64 <= seed < _INT64:
        yield Violation(SEED_INT64, at, "64 bits", str(seed), {"got": seed})
