"""Contracts as executable specifications: clauses, documented refusals and violations.

A contract says what must hold when one payload passes a seam. Checking it never raises for a
bad payload: each broken clause is yielded as a `Violation`, in the order in which upstream
would meet it, so that the first one that ends the call is the ending to expect.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from contracts.releases import EVER, Span
from contracts.source import Source


class Origin(NamedTuple):
    """Whose a token is and where it stands in its owner's sequence, read from its stamp."""

    #: 0-based index of the record in the request, or the name of an outsider.
    owner: int | str
    #: 0-based position in the owner's sequence.
    position: int


#: Reads the origin of each token of one record; `None` for a token that carries no known stamp.
OwnerOf = Callable[[Any], "list[Origin | None]"]


class Answer(StrEnum):
    """What a clause says of one payload."""

    HELD = "held"
    VIOLATED = "violated"
    UNCHECKED = "unchecked"


#: `Guard.error` of a refusal that is returned and not raised: an answer's field says it.
RETURNED = "error field"


@dataclass(frozen=True)
class Guard:
    """Upstream's own check of a clause, with the error that it documents.

    `text` is contained in the error's message. Its `{names}` are filled from the fields of the
    violation, so that a message with false numbers is told from a true one.
    """

    error: str
    text: str
    span: Span
    source: Source
    #: Platforms on which the check runs; empty means on every one.
    platforms: tuple[str, ...] = ()
    #: True where no entry in service reaches the check and cases call its function.
    direct: bool = False
    #: The error that upstream catches, logs and raises again, where that is the check.
    caught: str = ""
    #: The function that words the error, or the variable that holds its text, where it is not
    #: worded where it is raised.
    maker: str = ""
    #: Which of several statements in its function that say the same, counted from 0.
    which: int = 0
    #: Functions whose refusals it passes on in its own: without it they are not heard.
    passes_on: tuple[str, ...] = ()
    #: Why no entry can reach the check; the clause is then assumed, and the check is listed.
    unreachable: str = ""

    def holds(self, release: str, platform: str) -> bool:
        """Return whether the check runs in this release on this platform."""
        there = release in self.span and (not self.platforms or platform in self.platforms)
        return there and not self.unreachable


@dataclass(frozen=True)
class Clause:
    """One checkable sentence of a contract.

    Guarded where a guard holds for the release and the platform; assumed everywhere else.
    """

    name: str
    sentence: str
    guards: tuple[Guard, ...] = ()
    #: Types of the errors that upstream meets by accident when the clause is broken.
    #: Empty: the broken payload is accepted.
    incidental: tuple[str, ...] = ()
    #: The releases in which the accident happens; before them nothing looks at it.
    accidents: Span = EVER
    #: True for a clause about whose record it is: it needs a stamp reader.
    identity: bool = False

    def guard(self, release: str, platform: str = "cpu") -> Guard | None:
        """Return the guard that runs in this release on this platform, if one does."""
        return next((g for g in self.guards if g.holds(release, platform)), None)

    def dead_guard(self, release: str) -> Guard | None:
        """Return the guard that stands in this release and that no entry can reach, if one does."""
        return next((g for g in self.guards if g.unreachable and release in g.span), None)


@dataclass(frozen=True)
class Violation:
    """One clause broken by one payload."""

    clause: Clause
    #: Place in the payload, as a JSON path: `$`, `$[2].output_ids`.
    where: str
    expected: str
    actual: str
    #: Values for the placeholders of the guard's text.
    fields: Mapping[str, object] = field(default_factory=dict)
    #: Overrides the clause's incidental errors where they depend on the value.
    incidental: tuple[str, ...] | None = None
    #: The rank that meets it, where one of a group does; None where all do.
    rank: int | None = None

    def accident(self, release: str) -> tuple[str, ...]:
        """Return the types of the errors that this causes where its clause is assumed."""
        if release not in self.clause.accidents:
            return ()
        return self.clause.incidental if self.incidental is None else self.incidental

    def refusal(self, guard: Guard) -> str:
        """Return the guard's text with this violation's values in it."""
        return guard.text.format(**self.fields)

    def ends_call(self, release: str, platform: str = "cpu") -> bool:
        """Return whether upstream stops at this violation, by a guard or by accident."""
        guarded = self.clause.guard(release, platform) is not None
        return guarded or bool(self.accident(release))

    def __str__(self) -> str:
        return f"{self.clause.name} at {self.where}: expected {self.expected}, got {self.actual}"


@dataclass(frozen=True)
class Unchecked:
    """A clause that could not be judged on this payload, and why."""

    clause: Clause
    reason: str


Walk = Callable[[Any, Any, "OwnerOf | None"], Iterator["Violation | Unchecked"]]


@dataclass(frozen=True)
class Contract:
    """All that must hold at one seam."""

    seam: str
    summary: str
    clauses: tuple[Clause, ...]
    walk: Walk = field(repr=False)

    def check(
        self, payload: Any, request: Any, owner_of: OwnerOf | None = None
    ) -> Iterator[Violation]:
        """Yield every violation, in the order in which upstream would meet them.

        Args:
            payload: What passes the seam; its form is described by the contract's module.
            request: What was asked for.
            owner_of: Reads the stamps of a record. Without it the identity clauses stay
                unchecked; `answers` says so.
        """
        return (v for v in self.walk(payload, request, owner_of) if isinstance(v, Violation))

    def answers(
        self, payload: Any, request: Any, owner_of: OwnerOf | None = None
    ) -> dict[str, Answer]:
        """Return what each clause says of the payload, in the contract's order of clauses."""
        said = {clause.name: Answer.HELD for clause in self.clauses}
        for finding in self.walk(payload, request, owner_of):
            if isinstance(finding, Violation):
                said[finding.clause.name] = Answer.VIOLATED
            elif said[finding.clause.name] is Answer.HELD:
                said[finding.clause.name] = Answer.UNCHECKED
        return said

    def clause(self, name: str) -> Clause:
        """Return the clause of that name.

        Raises:
            KeyError: if the contract has none.
        """
        return {clause.name: clause for clause in self.clauses}[name]


def ending(violations: list[Violation], release: str, platform: str = "cpu") -> Violation | None:
    """Return the violation at which upstream stops, or `None` if the payload goes through."""
    return next((v for v in violations if v.ends_call(release, platform)), None)
