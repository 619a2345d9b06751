"""One exchange of GLM-Image's AR stage with a simulated AR server, over real HTTP.

The stage is upstream's; the server is `simulators.ar_server`. What came out is read back from
the stamps in the stage's real output.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch

from contracts.clauses.http_reply import Heard, parsed
from contracts.clauses.prior_tokens import CODEBOOK_SIZE, PriorShape, prior_shape
from contracts.contract import Origin
from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.glm_image_stage import load_stage, size_of
from harness.kernels.provenance import are_whole
from harness.outcome import Outcome, Passed, Run, Span, Whose
from harness.stretches import Stretch, spans_between, stretched
from harness.upstream.loading import Upstream
from simulators.ar_server import ArServer, ArSimulator, Exchange, Injection, Plan
from simulators.http_answer import Answer
from simulators.packed_rows import Item
from simulators.prior_grid import prior_grids
from simulators.stamp import StampReader

#: Ids of all outputs from which on they are audited on the CPU too; fewer are read faster.
_MANY_IDS = 1 << 16


class Seen(Protocol):
    """What was asked of a server, what it answered, and with which stamps."""

    @property
    def request(self) -> Any:
        """The parsed JSON body of the request."""

    @property
    def reply(self) -> Any:
        """The parsed JSON body of the reply as it was sent."""

    @property
    def sequences(self) -> Mapping[int | str, Sequence[int]]:
        """The true ids by owner: an item's index, or an outsider's name."""


class Produced:
    """The stage's output: one row of prior tokens and one usage record for each output."""

    def __init__(self, rows: Sequence[Any], usages: Sequence[Any]) -> None:
        self.rows = list(rows)
        self.usages = list(usages)

    @classmethod
    def of_requests(cls, requests: Sequence[Any]) -> "Produced":
        """Return what stands in requests that went through the stage."""
        rows = [row for one in requests for row in one.prior_token_id.split(1)]
        return cls(rows, [usage for one in requests for usage in one.extra["usage_by_output"]])


#: Drives the stage against a server's base URL.
Call = Callable[[str], Produced]


class ArExchange:
    """The stage and the server, ready for one exchange after another."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self.upstream = upstream
        self.device = torch.device(device)
        self.module, self.stage = load_stage(upstream, module, self.device)
        self.simulator = ArSimulator(upstream.tree.release, kept_exchanges=16)
        self._server = ArServer(self.simulator)
        self._server.__enter__()

    def close(self) -> None:
        """Stop the AR server."""
        self._server.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """The server's base URL."""
        return self._server.url

    def exchange(self) -> Exchange | None:
        """Return the first exchange since the plan was set, or None if nothing was asked."""
        kept = self.simulator.exchanges
        return kept[0] if kept else None

    def plan(self, lie: Lie) -> None:
        """Have the server tell a lie from now on."""
        self.simulator.plan = Plan(tuple(Injection(fault, at) for fault, at in lie.steps))
        self.simulator.forget()

    def ask(self, lie: Lie, request: Any) -> Exchange | None:
        """Return the exchange that a request makes under a lie, without the stage."""
        self.plan(lie)
        self.simulator.answer("POST", "/generate", json.dumps(request).encode())
        return self.exchange()

    def drive(self, lie: Lie, dims: Mapping[str, str], call: Call) -> Run:
        """Return what the stage did with the reply of our server under a lie."""
        self.plan(lie)
        return self.drive_against(self.url, dims, call, self.exchange)

    def drive_against(
        self,
        url: str,
        dims: Mapping[str, str],
        call: Call,
        exchange: Callable[[], Seen | None],
    ) -> Run:
        """Return what the stage did with the reply of any server.

        Args:
            url: The server's base URL.
            dims: Size of the request: `shape`, and `records` where there are several.
            call: Drives the stage.
            exchange: Returns what was asked and answered, once the call is over.
        """
        outcome = self.outcome(url, dims, call, exchange)
        return Run(outcome, passed(exchange(), url))

    def outcome(
        self,
        url: str,
        dims: Mapping[str, str],
        call: Call,
        exchange: Callable[[], Seen | None],
    ) -> Outcome:
        """Return how the stage ended with a server's reply, and what came out."""
        outcome = outcome_of(self.upstream, lambda: _output(call(url), dims, exchange()))
        # A fault that fails is the tool's mistake; the stage saw a lost connection.
        self._server.raise_failure()
        return outcome


def passed(seen: Seen | None, url: str = "") -> Passed | None:
    """Return what passed in an exchange, for the contract."""
    if seen is None:
        return None
    wire = heard(url, seen) if isinstance(seen, Exchange) else None
    payload = seen.reply if wire is None else parsed(wire)
    return Passed(payload, seen.request, StampReader(seen.sequences), wire)


def heard(url: str, seen: Exchange) -> Heard:
    """Return what comes to a client in an exchange with our server."""
    answer = seen.answer
    wire, pause_s = answer.wire, answer.wire.trickle.pause_s if answer.wire.trickle else 0.0
    piece = wire.trickle.piece_bytes if wire.trickle else 0
    pieces = -(-len(answer.render()) // piece) if piece else 1
    declared = dict(answer.all_headers).get("content-length")
    chunked = "transfer-encoding" in dict(answer.all_headers)
    return Heard(
        url=url,
        status=answer.status,
        headers=dict(answer.all_headers),
        body=answer.body if chunked else answer.framed_body,
        declared=int(declared) if declared is not None else None,
        reset=_reset(answer),
        wait_s=wire.delay_s,
        pause_s=pause_s,
        whole_s=wire.delay_s + pause_s * (pieces - 1),
    )


def _reset(answer: Answer) -> str:
    at, head = answer.wire.reset_at, len(answer.head)
    if at is None or at >= head + len(answer.framed_body):
        return ""
    return "before" if at < head else "within"


def _output(produced: Produced, dims: Mapping[str, str], seen: Seen | None) -> Output:
    count = int(dims.get("records", "1"))
    found = _of_rows(produced.rows[:count], prior_shape(prior_grids(*size_of(dims))), seen)
    facts = {"count of outputs": str(len(produced.rows))}
    for index, row in enumerate(produced.rows):
        facts[f"shape of output {index}"] = str(tuple(row.shape))
        facts[f"dtype of output {index}"] = str(row.dtype)
    for index, usage in enumerate(produced.usages):
        facts[f"usage of output {index}"] = json.dumps(usage, sort_keys=True)
    return Output(tuple(found), facts, [produced.rows, produced.usages])


def _of_rows(rows: Sequence[Any], shape: PriorShape, seen: Seen | None) -> Iterator[Span]:
    outputs = [_undoubled(row, shape) for row in rows]
    whole = _whole(outputs, shape, seen)
    reader = StampReader(seen.sequences if seen is not None else {})
    for index, (ids, is_whole) in enumerate(zip(outputs, whole, strict=True)):
        place, start = f"output {index}", shape.offset
        wants = [Stretch(Whose(f"prompt {index}", start), shape.height * shape.width)]
        has = wants if is_whole else []
        if ids is not None and not is_whole:
            has = stretched(map(_whose, reader.read(ids.tolist(), Origin(index, start))))
        yield from spans_between(place, wants, has, "tokens")


def _whole(
    outputs: Sequence[torch.Tensor | None], shape: PriorShape, seen: Seen | None
) -> list[bool]:
    """Return whether each output is its prompt's, where a device tells it faster than the host."""
    count = shape.height * shape.width
    read = [(i, ids) for i, ids in enumerate(outputs) if ids is not None]
    whole = [False] * len(outputs)
    if not read or not (read[0][1].is_cuda or count * len(read) >= _MANY_IDS):
        return whole
    known = seen.items if isinstance(seen, Exchange) else []
    if len(known) < len(outputs):
        return whole
    items = [Item(known[i].owner, known[i].occurrence, count, shape.offset) for i, _ in read]
    for (i, _), is_whole in zip(
        read, are_whole([ids for _, ids in read], items, CODEBOOK_SIZE), strict=True
    ):
        whole[i] = is_whole
    return whole


def _undoubled(row: torch.Tensor, shape: PriorShape) -> torch.Tensor | None:
    """Return the ids of an output, each of which stands in a square of four; else None."""
    if row.numel() != 4 * shape.height * shape.width:
        return None
    doubled = row.reshape(2 * shape.height, 2 * shape.width)
    blocks = doubled[::2, ::2]
    same = torch.equal(blocks.repeat_interleave(2, 0).repeat_interleave(2, 1), doubled)
    return blocks.flatten() if same else None


def _whose(origin: Origin | None) -> Whose | None:
    if origin is None:
        return None
    named = f"prompt {origin.owner}" if isinstance(origin.owner, int) else origin.owner
    return Whose(named, origin.position)
