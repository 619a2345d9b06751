"""The golden run's fault: nothing is changed. The template for a new fault."""

from random import Random

from simulators.faults.fault import Place
from simulators.payload import Payload


def noop(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> [a b c]"""
    return payload
