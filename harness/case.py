"""One case: a seam, what is done to its payload and where, and the size of the request.

A case is one line that replays it:

    ar-batch reordering records=3 shape=64x96 at=0,2 seed=7

Faults joined by `+` are done one after the other; their places are then parted by `;`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from harness.errors import UsageError, unknown
from harness.given_faults import fault_named
from harness.seam import Seam, Space
from harness.seams import SEAMS
from simulators.faults import FAULTS, Fault, Place

GOLDEN = "noop"
_DEFAULT_SEED = 0


@dataclass(frozen=True)
class Step:
    """One fault at one place."""

    fault: str
    at: Place = ()


@dataclass(frozen=True)
class Case:
    """One case; `dims` has a value for each of its seam's dimensions, in their order."""

    seam: str
    steps: tuple[Step, ...]
    dims: tuple[tuple[str, str], ...]
    seed: int = _DEFAULT_SEED

    @property
    def fault(self) -> str:
        """The name of the fault, or several joined by `+`."""
        return "+".join(step.fault for step in self.steps)

    @property
    def is_golden(self) -> bool:
        """Whether nothing is done to the payload."""
        return self.fault == GOLDEN

    @property
    def golden(self) -> "Case":
        """The same case without its fault."""
        known = SEAMS[self.seam].dims
        dims = ((k, known[k].default or "" if known[k].of_lie else v) for k, v in self.dims)
        return Case(self.seam, (Step(GOLDEN),), tuple(dims))

    @property
    def line(self) -> str:
        """The line that replays the case."""
        seam = SEAMS[self.seam]
        words = [self.seam, self.fault]
        words += [f"{k}={v}" for k, v in self.dims if seam.dims[k].default != v]
        places = ";".join(",".join(map(str, step.at)) for step in self.steps)
        if places.strip(";"):
            words.append(f"at={places}")
        if self.seed != _DEFAULT_SEED:
            words.append(f"seed={self.seed}")
        return " ".join(words)


def cases(seam: Seam, given: Sequence[Fault] = ()) -> Iterator[Case]:
    """Yield every case of a seam, golden runs first within one size of request.

    Args:
        seam: Whose cases.
        given: Faults that are run beside those of the table.
    """
    seen: set[Case] = set()
    for space in seam.spaces:
        for values in product(*space.dims.values()):
            chosen = dict(zip(space.dims, values, strict=True))
            dims = tuple((k, chosen.get(k, d.default or "")) for k, d in seam.dims.items())
            if seam.misfit(dict(dims)):
                continue
            for steps in _steps(seam, space, seam.count(dict(dims)), given):
                case = Case(seam.name, steps, dims)
                case = case.golden if case.is_golden else case
                if case not in seen:
                    seen.add(case)
                    yield case


def _steps(
    seam: Seam, space: Space, count: int, given: Sequence[Fault]
) -> Iterator[tuple[Step, ...]]:
    for fault in (*FAULTS.values(), *given):
        name = fault.name
        if seam.forms[0] not in fault.forms or not space.has(name, fault.scope):
            continue
        places = list(fault.places(count))
        if not space.every_place and len(places) > 2:
            places = [places[0], places[-1]]
        yield from ((Step(name, at),) for at in places)
    for composite in space.composites:
        steps = tuple(Step(name, at) for name, at in composite)
        if all(step.at in FAULTS[step.fault].places(count) for step in steps):
            yield steps


def parse(line: str) -> Case:
    """Return the case that a line names.

    Raises:
        UsageError: if the line names an unknown seam, fault or dimension, or a value or place
            that there is not; the text says which, and what there is.
    """
    words = line.split()
    if len(words) < 2:
        raise UsageError(
            f"case {line!r} is too short: expected a seam, a fault and its sizes, as in "
            "'ar-batch reordering records=3 shape=64x96 at=0,2'"
        )
    seam = seam_named(words[0])
    pairs = [_pair(line, word) for word in words[2:]]
    given = dict(pairs)
    if len(given) < len(pairs):
        twice = next(key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1)
        raise UsageError(f"case {line!r}: {twice}= stands twice")
    at, seed = given.pop("at", ""), given.pop("seed", str(_DEFAULT_SEED))
    if not seed.isdecimal():
        raise UsageError(f"case {line!r}: seed={seed} is no whole number")
    for key in given:
        if key not in seam.dims:
            raise unknown(f"dimension of {seam.name}", key, [*seam.dims, "at", "seed"])
    dims = tuple((name, _value(line, seam, name, given)) for name in seam.dims)
    if misfit := seam.misfit(dict(dims)):
        raise UsageError(f"case {line!r}: {misfit}")
    steps = _parse_steps(line, seam, words[1], at, seam.count(dict(dims)))
    return Case(seam.name, steps, dims, int(seed))


def seam_named(name: str) -> Seam:
    """Return a seam by its name.

    Raises:
        UsageError: if there is none of that name, with the near ones.
    """
    if name not in SEAMS:
        raise unknown("seam", name, SEAMS)
    return SEAMS[name]


def _pair(line: str, word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not value:
        raise UsageError(f"case {line!r}: {word!r} is no key=value")
    return key, value


def _value(line: str, seam: Seam, name: str, given: Mapping[str, str]) -> str:
    dim = seam.dims[name]
    value = given.get(name, dim.default)
    if value is None:
        raise UsageError(f"case {line!r}: {name}= is missing ({dim.meaning})")
    if not dim.accepts(value):
        raise UsageError(f"case {line!r}: {name}={value}: expected {dim.meaning}")
    return value


def _parse_steps(line: str, seam: Seam, faults: str, at: str, count: int) -> tuple[Step, ...]:
    names, places = faults.split("+"), at.split(";")
    places += [""] * (len(names) - len(places))
    if len(places) > len(names):
        raise UsageError(f"case {line!r}: {len(places)} places for {len(names)} faults")
    return tuple(
        _parse_step(line, seam, name, place, count)
        for name, place in zip(names, places, strict=True)
    )


def _parse_step(line: str, seam: Seam, name: str, place: str, count: int) -> Step:
    fault = fault_named(name)
    if not set(seam.forms) & set(fault.forms):
        raise UsageError(f"case {line!r}: {name} has no meaning for {seam.name}'s payload")
    numbers = place.split(",") if place else []
    if not all(number.isdecimal() for number in numbers):
        raise UsageError(f"case {line!r}: at={place} is no list of record numbers")
    at = tuple(int(number) for number in numbers)
    there = list(fault.places(count))
    if at in there:
        return Step(name, at)
    if not at and there:
        # A place left out means the first one, so that a line can be typed by hand.
        return Step(name, there[0])
    shown = ", ".join(",".join(map(str, p)) for p in there[:6] if p) or "none"
    raise UsageError(
        f"case {line!r}: {name} has no place {place!r} in {count} records; places: {shown}"
    )
