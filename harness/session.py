"""A fault-injection session: the simulated AR server in the foreground, and its record.

Each exchange is one line of JSON in the record, written as it happens and whole, so that a kill
at any moment loses nothing but the exchange under way.
"""

import asyncio
import json
import os
import signal
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.given_faults import fault_named
from harness.telling import Say
from simulators.ar_server import ArSimulator, Dose, Exchange, Injection, Plan, listen, serve
from simulators.faults import Place


class Record:
    """The record of a session: one line for each exchange.

    Args:
        file: Where it is appended to; None keeps none.
        say: Told each exchange in a few words.

    Raises:
        UsageError: if the file cannot be written.
    """

    def __init__(self, file: Path | None, say: Say) -> None:
        self._say = say
        self._started = time.monotonic()
        self._descriptor: int | None = None
        self.counted: Counter[str] = Counter()
        if file is not None:
            try:
                self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            except OSError as error:
                raise UsageError(f"--record {file}: cannot be written: {error.strerror}") from error

    def add(self, exchange: Exchange) -> None:
        """Write down one exchange."""
        told = "faulted" if exchange.injected else "honest"
        self.counted[told] += 1
        answer = exchange.answer
        sent = f"{answer.status}, {len(answer.framed_body)} bytes"
        self._say(f"{exchange.index:>5}  {exchange.method} {exchange.path}  {sent}  {told}")
        if self._descriptor is not None:
            line = json.dumps(self._line(exchange), ensure_ascii=False, default=repr) + "\n"
            os.write(self._descriptor, line.encode())

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _line(self, exchange: Exchange) -> dict[str, Any]:
        answer = exchange.answer
        return {
            "index": exchange.index,
            "at_s": round(time.monotonic() - self._started, 6),
            "method": exchange.method,
            "path": exchange.path,
            "injected": exchange.injected,
            "request": exchange.request,
            "status": answer.status,
            "headers": dict(answer.all_headers),
            "wire": {key: value for key, value in asdict(answer.wire).items() if value},
            "body": answer.framed_body.decode("utf-8", errors="backslashreplace"),
        }


def plan_of(faults: list[str], dose: str, seed: int) -> Plan:
    """Return the plan that a user has named.

    Args:
        faults: Names, each with its place behind a colon where it is not the first:
            `reordering`, `reordering:0,2`.
        dose: As `simulators.ar_server.dose.Dose.parse` takes it.
        seed: Seed of the dose and of the faults.

    Raises:
        UsageError: if a fault, a place or the dose is none.
    """
    if dose == "until-healed":
        raise UsageError("--dose until-healed: nothing heals a server that runs by itself")
    try:
        return Plan(tuple(map(_injection, faults)), Dose.parse(dose), seed)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _injection(text: str) -> Injection:
    name, _, place = text.partition(":") if "::" not in text else (text, "", "")
    fault = fault_named(name)
    if not place:
        return Injection(fault, None)
    numbers = place.split(",")
    if not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--fault {text}: {place!r} is no list of record numbers")
    at: Place = tuple(int(number) for number in numbers)
    if not any(at in fault.places(count) for count in range(1, 65)):
        raise UsageError(f"--fault {text}: {name} has no such place in any reply")
    return Injection(fault, at)


def run(host: str, port: int, release: str, plan: Plan, record: Record, say: Say) -> None:
    """Serve until a signal comes; then nothing is left.

    Raises:
        UsageError: if the port is taken, or the host is not this machine's.
    """
    try:
        listener = listen(host, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        said = f"cannot listen on {host} port {port}: {why}; name another with --port or --host"
        raise UsageError(said) from error
    simulator = ArSimulator(release, plan, kept_exchanges=1, listener=record.add)
    name, bound = listener.getsockname()[:2]
    say(f"an AR server like SGLang {release}'s answers at http://{name}:{bound}; Ctrl-C ends it")

    async def until_signalled() -> None:
        serving = asyncio.ensure_future(serve(simulator, listener))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, serving.cancel)
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(until_signalled())
    counts = record.counted
    say(f"ended: {counts['faulted']} faulted and {counts['honest']} honest exchanges")
