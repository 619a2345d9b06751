"""What upstream did with one payload, as read back from its real output."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from contracts.clauses.http_reply import Heard
from contracts.contract import OwnerOf


class Ending(StrEnum):
    """How a call into upstream ended."""

    ACCEPTED = "accepted"
    RAISED = "raised"
    CRASHED = "crashed"
    HUNG = "hung"


@dataclass(frozen=True)
class Raised:
    """An error that upstream ended in."""

    type: str
    message: str
    #: Whose code raised it: `upstream`, or the package's name.
    origin: str
    #: File, line and function of each upstream frame, outermost first.
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True)
class Whose:
    """The owner of a token, in words, and its position in the owner's sequence."""

    owner: str
    position: int


#: Where a token should be and there is none.
NOTHING = Whose("nothing", -1)


@dataclass(frozen=True)
class Span:
    """A run of neighbouring tokens in one output that have one provenance.

    Token i of the run should be at `wants.position + i` of `wants.owner`, and is at
    `has.position + i` of `has.owner`. `has` is None where no known stamp was found.
    """

    place: str
    first: int
    count: int
    wants: Whose
    has: Whose | None
    #: What the tokens are called in words, where they are something else.
    unit: str = "tokens"

    @property
    def right(self) -> bool:
        """Whether the tokens are whose they should be."""
        return self.wants == self.has


@dataclass(frozen=True)
class Outcome:
    """How the call ended, whose tokens came out, and what else can be seen of the output."""

    ending: Ending
    raised: Raised | None = None
    spans: tuple[Span, ...] = ()
    #: Anything else that a golden and a faulty run can be compared by, by its place.
    facts: Mapping[str, str] = field(default_factory=dict)
    #: Why the case cannot be judged: stubs reached, the tool's own errors.
    unsure: tuple[str, ...] = ()
    #: How a crashed process died, or where a hung call stood, in words without line numbers.
    death: str = ""
    #: The stack that a hung call stood in, one frame a line, innermost first.
    stack: str = ""
    #: Of a group of ranks, how each one ended, and what each did in words.
    ranks: "tuple[RankOutcome, ...]" = ()
    #: What this machine lacks to go on where the call stood; empty where it could.
    lacks: str = ""
    #: Whether the call had every check of upstream's behind it when it came to what is lacking.
    past_checks: bool = False
    #: Whether the process that made the call had used a card by its end.
    on_card: bool = False

    @property
    def errors(self) -> tuple[tuple[int | None, Raised], ...]:
        """Every error that it ended in, each with its rank; without ranks it has none."""
        if self.ranks:
            return tuple((r.rank, r.outcome.raised) for r in self.ranks if r.outcome.raised)
        return ((None, self.raised),) if self.raised is not None else ()


@dataclass(frozen=True)
class RankOutcome:
    """How one rank of a group ended."""

    rank: int
    outcome: Outcome
    #: What it did and was about to do, as a line.
    said: str


@dataclass(frozen=True)
class Passed:
    """What passed the seam: the payload, what was asked for, and who reads its stamps."""

    payload: Any
    request: Any
    owner_of: OwnerOf | None = None
    #: What came over the wire, where the payload is a reply.
    heard: Heard | None = None


@dataclass(frozen=True)
class Run:
    """One drive of a consumer: what came out, and what passed (None: nothing was asked for)."""

    outcome: Outcome
    passed: Passed | None = None
