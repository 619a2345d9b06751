"""Fuzzing: Hypothesis over requests, payloads and compositions of faults.

A space of cases is enumerated; this goes where no enumeration does, and ends in the smallest
case that has the verdict that is looked for.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from hypothesis import HealthCheck, Phase, assume, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from harness.case import GOLDEN, Case, Step
from harness.pool import Pool
from harness.result import CaseResult
from harness.seam import Seam
from harness.telling import Progress, unheard
from harness.verdict import Promise, Verdict
from simulators.faults import FAULTS, Place

#: Faults in one payload, at most.
_STEPS = 3

#: Says whether a result is what is looked for.
Wanted = Callable[[CaseResult], bool]


@dataclass
class Search:
    """What a search has tried, and the smallest case that it found."""

    tried: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    found: CaseResult | None = None


def _values(seam: Seam, name: str) -> list[str]:
    # Smallest first, and the default before all: a case is made smaller towards the first.
    there = {value for space in seam.spaces for value in space.dims.get(name, ())}
    default = seam.dims[name].default
    ordered = sorted(there - {default}, key=_size)
    return ordered if default is None else [default, *ordered]


def _size(value: str) -> tuple[int, str]:
    return math.prod(int(number) for number in re.findall(r"\d+", value)), value


@lru_cache(maxsize=256)
def _fitting(forms: tuple[str, ...], count: int) -> tuple[tuple[str, tuple[Place, ...]], ...]:
    rows = ((name, fault, tuple(fault.places(count))) for name, fault in FAULTS.items())
    return tuple(
        (name, places) for name, fault, places in rows if places and set(fault.forms) & set(forms)
    )


@st.composite
def fuzzed_cases(draw: st.DrawFn, seam: Seam) -> Case:
    """Draw a case of a seam: any size that its spaces have, one to three faults, any seed."""
    dims = tuple((name, draw(st.sampled_from(_values(seam, name)))) for name in seam.dims)
    assume(not seam.misfit(dict(dims)))
    count = seam.count(dict(dims))
    fitting = _fitting(seam.forms, count)
    steps = draw(
        st.lists(
            st.sampled_from(fitting).flatmap(
                lambda row: st.sampled_from(row[1]).map(lambda at: Step(row[0], at))
            ),
            min_size=1,
            max_size=_STEPS,
        )
    )
    kept = tuple(step for step in steps if step.fault != GOLDEN) or (Step(GOLDEN),)
    return Case(seam.name, kept, dims, draw(st.integers(0, 2**32 - 1)))


def search(
    pool: Pool,
    seam: Seam,
    wanted: Wanted,
    examples: int,
    seed: int,
    progress: Progress = unheard,
) -> Search:
    """Return what a search for a result found.

    Args:
        pool: Workers with the tree under test.
        seam: The seam whose payloads are fuzzed.
        wanted: Says whether a result is what is looked for.
        examples: How many cases are tried before giving up.
        seed: Equal seeds try equal cases.
        progress: Told how many cases were tried; making a case smaller tries more.
    """
    done = Search()

    def seen(case: Case) -> bool:
        (result,) = pool.run([case], whole=True)
        done.tried += 1
        done.verdicts[result.verdict] += 1
        progress(done.tried, max(examples, done.tried))
        if wanted(result):
            done.found = result
            return True
        return False

    try:
        smallest = find(
            fuzzed_cases(seam),
            seen,
            random=Random(seed),
            settings=settings(
                max_examples=examples,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
    except NoSuchExample:
        done.found = None
        return done
    (done.found,) = pool.run([smallest], whole=True)
    return done


def unfit(result: CaseResult) -> bool:
    """Return whether a result is one that no release and no tool should give."""
    return result.promise is Promise.BROKEN or result.verdict is Verdict.INCONCLUSIVE


def with_verdict(verdicts: Collection[Verdict]) -> Wanted:
    """Return the test for a result with one of some verdicts."""
    return lambda result: result.verdict in verdicts


def pasteable_test(result: CaseResult) -> str:
    """Return a pytest test that holds a case to its verdict, to paste."""
    name = f"test_{result.seam}_{result.fault}".replace("-", "_").replace("+", "_then_")
    return (
        f"def {name}(run_case):\n"
        f'    """{result.detail or result.verdict}"""\n'
        f'    result = run_case("{result.case}")\n'
        f'    assert result.verdict == "{result.verdict}"\n'
    )
