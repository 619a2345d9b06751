"""Delay: the answer is right, and comes too late or too slowly."""

from dataclasses import replace

from simulators.http_answer import Answer, Trickle, Wire

#: Seconds: over the read timeout that the harness gives the stage, and well under it.
OVER_TIMEOUT_S = 0.8
UNDER_TIMEOUT_S = 0.05
#: A piece of the body comes before each read times out, for far longer than one timeout.
TRICKLE = Trickle(piece_bytes=16, pause_s=0.2)


def late(answer: Answer) -> Answer:
    """Return the answer, after the read timeout."""
    return replace(answer, wire=Wire(delay_s=OVER_TIMEOUT_S))


def slow(answer: Answer) -> Answer:
    """Return the answer, late and still in time."""
    return replace(answer, wire=Wire(delay_s=UNDER_TIMEOUT_S))


def trickling(answer: Answer) -> Answer:
    """Return the answer in small pieces, each just in time."""
    return replace(answer, wire=Wire(trickle=TRICKLE))
