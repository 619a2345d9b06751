"""encoder-request: upstream looks at a request to encode before it gives it to the encoder.

Driven: `validate_encode_request`, which both of the encoder's servers ask first. A text that it
returns is what the client reads in the body of a 400. A request without one goes on as it is, so
what was asked for is read from the request itself. Loaded for real beside it: the modality.
"""

from collections.abc import Mapping

from contracts.contract import RETURNED
from harness.consumers.asked_request import passed_request, read_request
from harness.consumers.consumer import Lie, Output, outcome_of
from harness.consumers.encoder_receiver import load_with_modality
from harness.outcome import Ending, Outcome, Passed, Raised, Run
from harness.upstream.loading import Upstream


class EncoderRequest:
    """The consumer of encoder-request."""

    def __init__(self, upstream: Upstream, module: str, device: str) -> None:
        self._upstream = upstream
        self._runtime = load_with_modality(upstream, module)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return the request as it would be sent."""
        return passed_request(dims, lie)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what was said of the request."""
        passed = passed_request(dims, lie)
        said: list[str] = []

        def call() -> Output:
            text = self._runtime.validate_encode_request(passed.payload)
            if text is not None:
                said.append(text)
                return Output()
            return read_request(passed.payload, passed, self._runtime.Modality)

        outcome = outcome_of(self._upstream, call)
        if said and outcome.ending is Ending.ACCEPTED and not outcome.unsure:
            outcome = Outcome(Ending.RAISED, Raised(RETURNED, said[0], "upstream"))
        return Run(outcome, passed)
