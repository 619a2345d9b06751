"""The parallel state that upstream asks for, as one rank of a real group answers it.

Provided by name: the sizes and indices of the groups, the group itself, and the gather of equal
shards, as upstream's group coordinator does it on a CPU. There is one group: sequence-parallel and
Ulysses ranks are the same, ring and tensor-parallel groups have one rank.
"""

import torch
import torch.distributed as dist

from harness.ranks import Rank
from harness.upstream.touches import Provided
from simulators.scheduler import AWAY, DIES


class _SpGroup(Provided):
    """The group of ranks, as far as the exchanges look at it; who looks has come to one."""

    def __init__(self, state: "ParallelState") -> None:
        super().__init__("the group of ranks", ulysses_shm_handle=None)
        self.__dict__["_state"] = state

    @property
    def ulysses_group(self) -> dist.ProcessGroup:
        """The group that heads and rows are exchanged in."""
        return self.__dict__["_state"].come()  # type: ignore[no-any-return]

    @property
    def device_group(self) -> dist.ProcessGroup:
        """The group that rows are gathered in."""
        return self.__dict__["_state"].come()  # type: ignore[no-any-return]


class ParallelState:
    """What one rank answers; `enter` makes a process that rank."""

    def __init__(self) -> None:
        self._rank: Rank | None = None
        self._fate = ""
        self._doing = ""
        self._group = _SpGroup(self)

    def enter(self, rank: Rank, fate: str) -> None:
        """Be a rank, with what it is told to do instead of its part: `AWAY`, `DIES` or nothing."""
        self._rank, self._fate = rank, fate

    def begin(self, what: str) -> None:
        """Begin a call into upstream, named as what it does."""
        self._doing = what
        self._now.about_to(what)

    @property
    def _now(self) -> Rank:
        assert self._rank is not None
        return self._rank

    def come(self) -> dist.ProcessGroup:
        """Come to an exchange; what the rank was told to do instead is done here."""
        if self._fate == AWAY:
            self._now.stay_away()
        if self._fate == DIES:
            self._now.die()
        self._now.about_to(f"exchange rows to {self._doing}")
        return self._now.group

    def group(self) -> _SpGroup:
        """Return the group."""
        return self._group

    def ranks(self) -> int:
        """Return how many ranks the group has."""
        return self._now.count

    def rank(self) -> int:
        """Return which rank of the group this is."""
        return self._now.index

    def gathered(self, rows: torch.Tensor, dim: int = -1) -> torch.Tensor:
        """Return the equal shards of all ranks, one after the other along a dimension."""
        shape = list(rows.shape)
        shards = rows.new_empty([self._now.count * shape[0], *shape[1:]])
        dist.all_gather_into_tensor(shards, rows.contiguous(), group=self.come())
        shards = shards.reshape([self._now.count, *shape]).movedim(0, dim)
        shape[dim] *= self._now.count
        return shards.reshape(shape)


def one() -> int:
    """Return the size of a group that has one rank."""
    return 1


def none() -> int:
    """Return the index of the only rank of a group."""
    return 0
