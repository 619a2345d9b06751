"""ar-distributed-output: upstream's head answers its clients with what the denoisers made.

Driven, on a `DiffusionServer` of its own constructor: `_process_glm_ar_batch_result_if_ready`
with the end of an AR batch, and `_handle_role_result` with each message of a denoiser, as the
head's loop calls them. An error that leaves them ends the loop, and with it every answer. The
head's time-out, ten minutes, is not waited for: a client that has no answer by then has none.

Provided, by name: the two sockets, the clients' requests, and the AR batch's end.
"""

import pickle
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from types import ModuleType
from typing import Any

from contracts.contract import RETURNED, Origin
from harness.consumers.consumer import Lie, Output, outcome_of, spans
from harness.consumers.disaggregation import load_disaggregated
from harness.outcome import Ending, Outcome, Passed, Raised, Run, Span, Whose
from harness.upstream.loading import Upstream
from harness.upstream.touches import Provided
from simulators.denoiser_results import (
    PIXELS,
    frames_of,
    honest_results,
    picture_name,
    sequences,
)
from simulators.stamp import StampReader


class ArDistributedOutput:
    """The consumer of ar-distributed-output."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._orchestrator = load_disaggregated(upstream, module)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what would reach the head."""
        return _passed(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the head answered."""
        passed = _passed(dims, lie)
        refusals: dict[int, str] = {}
        head = Head(self._orchestrator, passed.request["clients"], passed.request["outputs"])

        def call() -> Output:
            head.end_ar_batch(passed.payload["ar_error"])
            for result in passed.payload["results"]:
                head.hear(result)
            return _read(head, passed, refusals)

        try:
            outcome = outcome_of(self._upstream, call)
        finally:
            head.close()
        return Run(_with_refusals(outcome, refusals), passed)


def _passed(dims: Mapping[str, str], lie: Lie) -> Passed:
    clients, outputs = int(dims["records"]), int(dims["outputs"])
    payload = lie.told(honest_results(clients, outputs))
    reader = StampReader(sequences(clients, outputs))
    reaching = {"ar_error": payload.beside["ar_error"], "results": list(payload.records)}
    return Passed(reaching, {"clients": clients, "outputs": outputs}, reader)


class Head:
    """Upstream's head with requests of so many clients, each on a denoiser of its own."""

    def __init__(self, orchestrator: ModuleType, clients: int, outputs: int) -> None:
        self._upstream = orchestrator
        workers = [f"inproc://denoiser-{index}" for index in range(clients)]
        results = [f"inproc://{role}-results" for role in ("encoder", "denoiser", "decoder")]
        self.server = orchestrator.DiffusionServer("inproc://head", [], workers, [], *results)
        self.server._frontend = Provided("frontend", send_multipart=self._keep)
        self.state = orchestrator._GlmDistributedModeState(
            server_args=None,
            ar_stage=None,
            executor=None,
            denoiser_worker_available=[True] * clients,
        )
        self.server._glm_distributed_state = self.state
        self.requests = [self._asked(index, outputs) for index in range(clients)]
        self.sent: list[tuple[int, Any]] = []

    def close(self) -> None:
        """Close what the server's constructor opened."""
        self.server._context.destroy(linger=0)

    def end_ar_batch(self, error: str | None) -> None:
        """End the AR batch of all requests, and give each request to a denoiser."""
        future: Future[None] = Future()
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(RuntimeError(error))
        self.state.active_ar_batch = (future, self.requests)
        self.server._process_glm_ar_batch_result_if_ready()
        while self.state.pending_denoiser_requests:
            request = self.state.pending_denoiser_requests.popleft()
            request.worker_idx = self.requests.index(request)
            self.server._denoiser_free_slots[request.worker_idx] = 0
            self._become(request.client_request_id, "DENOISING_RUNNING")

    def hear(self, result: dict[str, Any]) -> None:
        """Have the server hear one denoiser's message."""
        named = result["request"]
        if isinstance(named, int):
            named = self.requests[named].req.request_id
        frames = frames_of(result, named)
        socket = Provided("result_pull", recv_multipart=lambda flags, copy: frames)
        self.server._handle_role_result(socket, self._upstream.RoleType.DENOISER)

    def _asked(self, index: int, outputs: int) -> Any:
        name = f"client {index}"
        self.server._tracker.submit(name)
        self._become(name, "ENCODER_WAITING")
        self._become(name, "ENCODER_RUNNING")
        self.server._pending[name] = str(index).encode()
        asked = Provided("Req", num_outputs_per_prompt=outputs, request_id=name)
        return self._upstream._GlmDistributedRequest(name, asked, 0.0)

    def _become(self, name: str, state: str) -> None:
        self.server._tracker.transition(name, self._upstream.RequestState[state])

    def _keep(self, parts: list[bytes], *flags: int) -> None:
        # What was pickled a moment ago by upstream, of tensors and texts that we gave it.
        self.sent.append((int(parts[0]), pickle.loads(parts[-1])))


def _read(head: Head, passed: Passed, refusals: dict[int, str]) -> Output:
    clients, outputs = passed.request["clients"], passed.request["outputs"]
    reader = passed.owner_of
    assert isinstance(reader, StampReader)
    found: list[Span] = []
    answers = [[answer for whose, answer in head.sent if whose == i] for i in range(clients)]
    for client, got in enumerate(answers):
        first = got[0] if got else None
        if first is not None and first.error:
            refusals[client] = first.error
        else:
            found += _of_client(client, first.output if first else None, outputs, reader)
    free = sum(head.server._denoiser_free_slots)
    facts = {
        "count of answers": str([len(got) for got in answers]),
        "count of denoisers free again": f"{free} of {clients}",
    }
    return Output(tuple(found), facts, [answer.output for _, answer in head.sent])


def _of_client(client: int, output: Any, outputs: int, reader: StampReader) -> list[Span]:
    wants = [Whose(picture_name(client, k), p) for k in range(outputs) for p in range(PIXELS)]
    has: list[Whose | None] = []
    for k, picture in enumerate(output if output is not None else []):
        pixels = [int(pixel) for pixel in picture.flatten().tolist()]
        origins = reader.read(pixels, Origin(picture_name(client, k), 0))
        has += [Whose(str(o.owner), o.position) if o else None for o in origins]
    return list(spans(f"client {client}", wants, has, unit="pixels"))


def _with_refusals(outcome: Outcome, refusals: Mapping[int, str]) -> Outcome:
    # Wrong pictures that were accepted weigh more than a refusal beside them.
    wrong = any(not span.right for span in outcome.spans)
    if outcome.ending is not Ending.ACCEPTED or outcome.unsure or not refusals or wrong:
        return outcome
    said = "; ".join(f"client {client}: {text}" for client, text in refusals.items())
    return replace(outcome, ending=Ending.RAISED, raised=Raised(RETURNED, said, "upstream"))
