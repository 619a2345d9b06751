"""What the consumers of ranks share: a batch is told to each rank, and a fresh group drives it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from harness.consumers.consumer import Lie
from harness.consumers.parallel_state import ParallelState
from harness.outcome import Outcome, Passed, Run
from harness.rank_outcome import of_group
from harness.ranks import Rank
from harness.upstream.loading import Upstream
from simulators.scheduler import Told, honest_batch, told_ranks

#: Heads of a row where a seam has no dimension for them.
_ONE_HEAD = "1"


class RankConsumer(ABC):
    """Drives one seam's real function on every rank of a group.

    A subclass loads upstream in its `__init__`, before there is any rank.
    """

    def __init__(self, upstream: Upstream, device: str) -> None:
        self.upstream = upstream
        #: Where tensors are wanted; in a rank, where its own live.
        self.device = device
        self.state = ParallelState()

    @abstractmethod
    def be(self, rank: Rank, told: Sequence[Told], dims: Mapping[str, str]) -> Outcome:
        """Return what upstream did on one rank; called in the rank's own process."""

    @abstractmethod
    def passed(self, told: Sequence[Told], dims: Mapping[str, str]) -> Passed:
        """Return what the ranks were told and hold, as the contract takes it."""

    def close(self) -> None:  # noqa: B027 - there is nothing to override it for
        """Do nothing: every group is over when its drive is."""

    def preview(self, dims: Mapping[str, str], lie: Lie, golden: Run) -> Passed:
        """Return what the ranks would be told."""
        return self.passed(told_by(dims, lie), dims)

    def drive(self, dims: Mapping[str, str], lie: Lie) -> Run:
        """Return what the ranks made of what they were told."""
        told = told_by(dims, lie)

        def be(rank: Rank) -> Outcome:
            # In the rank's own process, which shares nothing with the worker.
            self.device = rank.device
            return self.be(rank, told, dims)

        outcome = of_group(self.upstream, self.device, dims, len(told), be)
        return Run(outcome, self.passed(told, dims))


def told_by(dims: Mapping[str, str], lie: Lie) -> list[Told]:
    """Return what each rank is told: `told` in the dimensions says who hears the lie."""
    rows = [int(count) for count in dims["rows"].split(",")]
    heads, strategy = dims.get("heads", _ONE_HEAD), dims.get("strategy", "ulysses")
    honest = honest_batch(rows, int(heads), strategy)
    liars = range(len(rows)) if dims["told"] == "all" else [int(dims["told"])]
    return told_ranks(honest, lie.told(honest), liars)
