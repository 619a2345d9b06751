"""The dose of a fault: which requests it hits. It is no business of the fault's own."""

from dataclasses import dataclass
from typing import Final

from simulators.rng import stream

#: The forms that `Dose.parse` takes.
FORMS: Final = (
    "always",
    "nth:3",
    "first:2",
    "every:3",
    "match:TEXT",
    "probability:0.25",
    "until-healed",
)
_BARE = ("always", "until-healed")
_COUNTED = ("nth", "first", "every")


@dataclass(frozen=True)
class Dose:
    """Which requests are hit; made by `parse`."""

    kind: str = "always"
    #: The request number, the count of requests, or the probability.
    amount: float = 0
    #: What a request must contain.
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> "Dose":
        """Return the dose that a text names.

        Args:
            text: One of the `FORMS`. `nth:3` is the third request alone, `every:3` the third,
                sixth and so on, `first:2` the first two; `match:TEXT` is each request whose
                body contains TEXT; `until-healed` is every one until the simulator is healed.

        Raises:
            ValueError: if the text has none of the forms, or a number that makes no sense.
        """
        kind, _, rest = text.partition(":")
        if text in _BARE:
            return cls(kind)
        if kind in _COUNTED and rest.isdecimal() and int(rest) > 0:
            return cls(kind, int(rest))
        if kind == "match" and rest:
            return cls(kind, text=rest)
        if kind == "probability" and (chance := _chance(rest)) is not None:
            return cls(kind, chance)
        forms = ", ".join(FORMS)
        raise ValueError(
            f"{text!r} is no dose: expected one of {forms}; "
            "counts from 1, probabilities from 0 to 1"
        )

    def hits(self, index: int, body: bytes, seed: int, healed: bool) -> bool:
        """Return whether a request is hit.

        Args:
            index: 0-based index of the request among those that could be hit.
            body: The bytes of its body.
            seed: The plan's seed; with the index it decides a probability, so that the same
                requests are hit in every run.
            healed: Whether the simulator has been healed.
        """
        match self.kind:
            case "until-healed":
                return not healed
            case "nth":
                return index + 1 == self.amount
            case "first":
                return index < self.amount
            case "every":
                return (index + 1) % self.amount == 0
            case "match":
                return self.text in body.decode(errors="replace")
            case "probability":
                return stream(seed, "dose", index).random() < self.amount
            case _:
                return True

    def __str__(self) -> str:
        if self.kind in _BARE:
            return self.kind
        return f"{self.kind}:{self.text or f'{self.amount:g}'}"


def _chance(text: str) -> float | None:
    try:
        chance = float(text)
    except ValueError:
        return None
    return chance if 0 <= chance <= 1 else None


ALWAYS: Final = Dose()
