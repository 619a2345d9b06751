"""What the AR server is to do wrong: faults with their places, the dose, the seed, the wire."""

from dataclasses import dataclass
from typing import Final

from simulators.ar_server.dose import ALWAYS, Dose
from simulators.faults import Fault, Place
from simulators.http_answer import Wire
from simulators.payload import ANSWER, REPLY, Payload
from simulators.rng import stream


@dataclass(frozen=True)
class Injection:
    """One fault at one place of the reply; without a place, at the first that the reply has.

    Raises:
        ValueError: if the fault cannot change a reply.
    """

    fault: Fault
    at: Place | None = ()

    def __post_init__(self) -> None:
        if not {REPLY, ANSWER} & set(self.fault.forms):
            raise ValueError(
                f"the fault {self.fault.name} changes {', '.join(self.fault.forms)}, not a reply"
            )


@dataclass(frozen=True)
class Plan:
    """What goes wrong and when; empty, the simulator is honest.

    A request of another size may lack a place; there that injection does nothing.
    """

    injections: tuple[Injection, ...] = ()
    dose: Dose = ALWAYS
    seed: int = 0
    #: How the bytes of a hit answer go out, whatever it says; `None` leaves them as they are.
    wire: Wire | None = None

    def changed(self, payload: Payload, index: int) -> Payload | None:
        """Return the payload after each injection of its form; `None` if none has its place.

        Args:
            payload: The honest reply, or the answer that carries it.
            index: 0-based index of the request, which the faults' randomness depends on.
        """
        applied = 0
        for step, injection in enumerate(self.injections):
            fault, at = injection.fault, injection.at
            if at is None:
                at = next(fault.places(len(payload.records)), ())
            if payload.form in fault.forms and fault.fits(payload, at):
                rng = stream(self.seed, "fault", fault.name, step, index)
                payload = fault.done(payload, at, rng)
                applied += 1
        return payload if applied else None


#: Nothing goes wrong.
HONEST: Final = Plan()
