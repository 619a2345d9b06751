"""ar-seed: a request's seed becomes the sampling seed of each of its outputs.

- The seed is null, a whole number, or a list of whole numbers. A number stands for itself and
  the ones behind it; a list has one seed for each output; null leaves every output to chance.
- Every seed is 0 to 2**63 - 1: the AR server holds them in 64 bits with a sign, and from 0.5.21
  on refuses what does not fit.
- The outputs of one request have seeds of their own, and output i is asked with seed i.

The stage checks none of it. In service the head refuses what is no whole number or is under zero
before a request is made of it (`SamplingParams._validate`); nobody counts the list, since this
pipeline has no stage that validates its input.

The payload is the request's seed. The request says `outputs`, how many are asked for, and
`seeded`, whether they are to be asked with seeds at all.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.contract import Clause, Contract, OwnerOf, Unchecked, Violation
from contracts.releases import Span

_LIMIT = 2**63

SEED_GIVEN = Clause("seed-given", "Where outputs are to be repeatable, there is a seed.")
SEEDS_INTEGERS = Clause(
    "seeds-integers",
    "Every seed is a whole number, written as one.",
    incidental=("TypeError", "ValueError"),
)
SEEDS_COUNT = Clause("seeds-count", "A list has one seed for each output.")
SEEDS_RANGE = Clause(
    "seeds-range",
    "Every seed is 0 to 2**63 - 1.",
    # The AR server's 400, as the stage hears it.
    incidental=("HTTPError",),
    accidents=Span("0.5.21"),
)
SEEDS_DISTINCT = Clause("seeds-distinct", "The outputs of one request have seeds of their own.")
SEED_IDENTITY = Clause("seed-identity", "Output i is asked with seed i.", identity=True)


def due(seed: Any, outputs: int) -> list[Any]:
    """Return the seed that each output is due, as far as the request has one for it."""
    if isinstance(seed, list):
        return seed[:outputs]
    if type(seed) is int:
        return [seed + i for i in range(outputs)]
    return [] if seed is None else [seed]


def _walk(
    seed: Any, request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    outputs = request["outputs"]
    if request["seeded"] and seed in (None, []):
        yield Violation(SEED_GIVEN, "$", "a seed", "null" if seed is None else "an empty list")
    seeds = due(seed, outputs)
    # A list is read as far as there are outputs: the first seed that cannot be read ends it.
    wrong = [(i, s) for i, s in enumerate(seeds) if type(s) is not int]
    if wrong:
        index, value = wrong[0]
        accident = next((a for _, s in wrong if (a := _accident(s))), ())
        yield Violation(
            SEEDS_INTEGERS, _at(seed, index), "a whole number", repr(value), incidental=accident
        )
    if isinstance(seed, list) and len(seed) != outputs:
        yield Violation(SEEDS_COUNT, "$", f"{outputs} seeds", str(len(seed)))
    outside = next((i for i, s in enumerate(seeds) if type(s) is int and not 0 <= s < _LIMIT), None)
    if outside is not None:
        numbers = [s for s in seeds if type(s) is int]
        # Under zero is a seed to the server, and beyond 64 bits is none.
        refused = None if any(not -_LIMIT <= s < _LIMIT for s in numbers) else ()
        at, said = _at(seed, outside), str(seeds[outside])
        yield Violation(SEEDS_RANGE, at, "0 to 2**63 - 1", said, incidental=refused)
    twin = next((i for i, s in enumerate(seeds) if s in seeds[:i]), None)
    if twin is not None:
        said = f"that of output {seeds.index(seeds[twin])} again"
        yield Violation(SEEDS_DISTINCT, _at(seed, twin), "a seed of its own", said)
    if owner_of is None:
        yield Unchecked(SEED_IDENTITY, "whose seeds they are can be told only by a stamp reader")
        return
    origins = owner_of(seeds)
    # What is no number is nobody's, and broken already.
    numbers = [i for i, s in enumerate(seeds) if type(s) is int]
    moved = next((i for i in numbers if (o := origins[i]) is None or o.owner != i), None)
    if moved is not None:
        origin = origins[moved]
        said = "an unknown seed" if origin is None else f"that of {origin.owner}"
        yield Violation(SEED_IDENTITY, _at(seed, moved), f"the seed of output {moved}", said)


def _at(seed: Any, index: int) -> str:
    return f"$[{index}]" if isinstance(seed, list) else "$"


def _accident(value: Any) -> tuple[str, ...]:
    # What Python's int() takes is a seed to the stage, which reads each one with it.
    if isinstance(value, str):
        return () if value.strip().lstrip("+-").isdecimal() else ("ValueError",)
    return () if isinstance(value, int | float) else ("TypeError",)


CONTRACT = Contract(
    "ar-seed",
    "A request's seed becomes the sampling seed of each of its outputs.",
    (
        SEED_GIVEN,
        SEEDS_INTEGERS,
        SEEDS_COUNT,
        SEEDS_RANGE,
        SEEDS_DISTINCT,
        SEED_IDENTITY,
    ),
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
