"""A stand-in for the external AR server: SGLang's native /generate, honest or at fault.

Where to read first: `simulator` (a request in, an answer out), then `request` (what is refused)
and `items` (what is said), `plan` and `dose` (what goes wrong, and when), `connection`
(how the bytes go out). `respx_routes` is imported on its own: it needs httpx.
"""

from simulators.ar_server.dose import Dose
from simulators.ar_server.exchange import Exchange
from simulators.ar_server.plan import Injection, Plan
from simulators.ar_server.serving import ArServer, listen, serve
from simulators.ar_server.simulator import ArSimulator
from simulators.http_answer import CHUNKED, OMIT, Answer, Trickle, Wire

__all__ = [
    "CHUNKED",
    "OMIT",
    "Answer",
    "ArServer",
    "ArSimulator",
    "Dose",
    "Exchange",
    "Injection",
    "Plan",
    "Trickle",
    "Wire",
    "listen",
    "serve",
]
