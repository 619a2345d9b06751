"""Ranks of a real group, driven with small functions: how each ends is told, whatever it does."""

import faulthandler
import os
import re
import signal
import threading
import time
from collections.abc import Sequence

import pytest
import torch
import torch.distributed as dist

from harness.outcome import Ending, Outcome, Raised
from harness.ranks import Drive, Rank, RankEnd, Ranks
from harness.stillness import Stillness
from harness.upstream.source import Tree

#: Far beyond what a group needs: only a test of the deadline waits for one.
_LONG_S = 30.0


def exchange(rank: Rank) -> list[int]:
    """Return what a rank has got of all ranks: from each its number, and whom it is for."""
    rank.about_to("exchange numbers")
    brought = torch.tensor([10 * rank.index + peer for peer in range(rank.count)])
    got = torch.empty_like(brought)
    dist.all_to_all_single(got, brought, group=rank.group)
    return got.tolist()  # type: ignore[no-any-return]


def exchanging(rank: Rank) -> Outcome:
    """Take part in the exchange; its error, if there is one, is the outcome."""
    try:
        return Outcome(Ending.ACCEPTED, facts={f"rank {rank.index}": repr(exchange(rank))})
    except RuntimeError as error:
        return Outcome(Ending.RAISED, Raised("RuntimeError", str(error), "torch"))


def first_does(what: Drive) -> Drive:
    """Return the drive in which rank 0 does something else than its part."""
    return lambda rank: what(rank) if rank.index == 0 else exchanging(rank)


def refuse(rank: Rank) -> Outcome:
    """End in an error before the exchange."""
    rank.about_to("look at the splits")
    return Outcome(Ending.RAISED, Raised("ValueError", "no splits", "upstream"))


def compute_for_ever(rank: Rank) -> Outcome:
    """Work, and never exchange."""
    rank.about_to("compute")
    while True:
        pass


def endings(ends: Sequence[RankEnd]) -> list[str]:
    """Return how each rank ended; a dash for one that has no outcome of its own."""
    return [str(end.outcome.ending) if end.outcome is not None else "-" for end in ends]


def outcome(end: RankEnd) -> Outcome:
    """Return the outcome of a rank that has one."""
    assert end.outcome is not None
    return end.outcome


@pytest.fixture
def stillness(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the group's watcher was told, each time that it asked whether all is still."""
    answers: list[bool] = []

    class Told(Stillness):
        def holds(self, pids: Sequence[int]) -> bool:
            answers.append(super().holds(pids))
            return answers[-1]

    monkeypatch.setattr("harness.ranks.Stillness", Told)
    return answers


@pytest.mark.parametrize("count", [2, 3, 4])
def test_an_honest_exchange_gives_the_outcome_of_each_rank(newest: Tree, count: int) -> None:
    """In rank order; each has got from every rank what was meant for it."""
    ends = Ranks(count, newest).run(exchanging)

    assert [end.rank for end in ends] == list(range(count))
    assert [outcome(end).facts for end in ends] == [
        {f"rank {rank}": repr([10 * peer + rank for peer in range(count)])} for rank in range(count)
    ]
    assert {end.step for end in ends} == {"exchange numbers"}


def test_every_drive_gets_a_group_of_its_own(newest: Tree) -> None:
    """What was left unread in one group does not reach the next."""
    ranks = Ranks(2, newest, deadline_s=_LONG_S)

    pids = [outcome(end).facts["pid"] for _ in range(2) for end in ranks.run(_tell_pid)]
    lost = ranks.run(first_does(refuse))

    assert len(set(pids)) == 4
    assert str(os.getpid()) not in pids
    assert endings(lost) == ["raised", "raised"]
    assert endings(ranks.run(exchanging)) == ["accepted", "accepted"]


def _tell_pid(rank: Rank) -> Outcome:
    return Outcome(Ending.ACCEPTED, facts={"pid": str(os.getpid())})


def test_a_rank_that_raised_leaves_and_its_peers_exchange_fails(newest: Tree) -> None:
    """The peer's own error is told, without the port of a connection."""
    first, second = Ranks(2, newest, deadline_s=_LONG_S).run(first_does(refuse))

    assert outcome(first).raised == Raised("ValueError", "no splits", "upstream")
    assert first.step == "look at the splits"
    lost = outcome(second).raised
    assert lost is not None
    assert lost.type == "RuntimeError"
    assert "peer" in lost.message
    assert re.search(r"127\.0\.0\.1\]:\d", lost.message) is None
    assert second.step == "exchange numbers"


@pytest.mark.parametrize("count", [2, 3])
def test_a_rank_that_raised_and_stays_leaves_its_peers_hanging(
    newest: Tree, stillness: list[bool], count: int
) -> None:
    """Where they stood, and what they were about to do, is told; nobody waits for the deadline."""
    ranks = Ranks(count, newest, leaves=False, deadline_s=_LONG_S)

    first, *peers = ranks.run(first_does(refuse))

    assert outcome(first).ending is Ending.RAISED
    assert endings(peers) == ["hung"] * (count - 1)
    for peer in peers:
        assert peer.step == "exchange numbers"
        assert outcome(peer).death == "hung in all_to_all_single of distributed_c10d.py"
        assert " in exchange\n" in outcome(peer).stack
    assert stillness[-1]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "died by SIGKILL"),
        (signal.SIGSEGV, "died by SIGSEGV"),
        (signal.SIGABRT, "died by SIGABRT"),
    ],
)
def test_a_rank_that_is_killed_crashed_by_that_signal(
    newest: Tree, number: signal.Signals, said: str
) -> None:
    """Its peer loses the connection, and says so itself."""

    def die(rank: Rank) -> Outcome:
        rank.about_to("die")
        faulthandler.disable()  # It would write down the stack of this test.
        os.kill(os.getpid(), number)
        raise AssertionError("it is dead")

    first, second = Ranks(2, newest, deadline_s=_LONG_S).run(first_does(die))

    assert (outcome(first).ending, outcome(first).death) == (Ending.CRASHED, said)
    assert first.step == "die"
    assert outcome(second).ending is Ending.RAISED


def test_a_rank_that_exits_crashed_with_its_code(newest: Tree) -> None:
    """Whatever it had in hand is not told any more."""
    first, _ = Ranks(2, newest, deadline_s=_LONG_S).run(first_does(lambda rank: os._exit(7)))

    assert (outcome(first).ending, outcome(first).death) == (Ending.CRASHED, "exited with code 7")


@pytest.mark.parametrize(
    ("sleep", "where"),
    [
        (lambda: time.sleep(1000), "hung in <lambda> of test_ranks.py"),
        (lambda: os.read(os.pipe()[0], 1), "hung in <lambda> of test_ranks.py"),
        (lambda: threading.Event().wait(), "hung in wait of threading.py"),
    ],
    ids=["sleep", "read", "event"],
)
def test_ranks_that_wait_for_ever_are_hung_where_they_stand(
    newest: Tree, stillness: list[bool], sleep: Drive, where: str
) -> None:
    """The group is still: that ends it, long before the deadline."""

    def wait(rank: Rank) -> Outcome:
        rank.about_to(f"wait as rank {rank.index}")
        sleep()  # type: ignore[call-arg]
        raise AssertionError("nothing wakes it")

    ends = Ranks(2, newest, deadline_s=_LONG_S).run(wait)

    assert [end.step for end in ends] == ["wait as rank 0", "wait as rank 1"]
    for end in ends:
        assert (outcome(end).ending, outcome(end).death) == (Ending.HUNG, where)
        frames = outcome(end).stack.splitlines()
        assert any(re.fullmatch(r"test_ranks\.py:\d+ in <lambda>", frame) for frame in frames)
        assert frames[-1].endswith(" in _be_rank")
    assert stillness[-1]


def test_a_rank_that_computes_is_ended_by_the_deadline_and_not_by_stillness(
    newest: Tree, stillness: list[bool]
) -> None:
    """As long as one works, the others may yet get an answer."""
    first, second = Ranks(2, newest, deadline_s=3.0).run(first_does(compute_for_ever))

    assert endings((first, second)) == ["hung", "hung"]
    assert outcome(first).death == "hung in compute_for_ever of test_ranks.py"
    assert outcome(second).death == "hung in all_to_all_single of distributed_c10d.py"
    assert stillness
    assert not any(stillness)


def test_a_rank_that_stays_away_has_no_outcome_of_its_own(
    newest: Tree, stillness: list[bool]
) -> None:
    """Its peer waits for it, and is still."""
    first, second = Ranks(2, newest, deadline_s=_LONG_S).run(
        first_does(lambda rank: rank.stay_away())  # type: ignore[arg-type, return-value]
    )

    assert (first.outcome, first.step) == (None, "stayed away, as it was told")
    assert outcome(second).ending is Ending.HUNG
    assert stillness[-1]


def test_a_rank_that_dies_as_it_was_told_has_no_outcome_of_its_own(newest: Tree) -> None:
    """What its peer makes of it is the peer's."""
    first, second = Ranks(2, newest, deadline_s=_LONG_S).run(
        first_does(lambda rank: rank.die())  # type: ignore[arg-type, return-value]
    )

    assert (first.outcome, first.step) == (None, "died, as it was told")
    assert outcome(second).ending is Ending.RAISED


def test_an_error_of_the_drive_is_the_tools_own(newest: Tree) -> None:
    """It says nothing of upstream: the outcome is unsure, and never a pass."""
    first, _ = Ranks(2, newest, deadline_s=_LONG_S).run(
        first_does(lambda rank: {}["splits"])  # type: ignore[arg-type]
    )

    assert outcome(first).raised is None
    assert outcome(first).unsure == ("the tool failed on rank 0: KeyError: 'splits'",)


def test_memory_that_nothing_has_filled_is_poisoned(newest: Tree) -> None:
    """What no exchange has written cannot look like the rows of an earlier case."""

    def look(rank: Rank) -> Outcome:
        # Freed memory that looks like a row is what an allocation is likely to get.
        for _ in range(4):
            rows = torch.ones(1024)
            del rows
        fresh, counted = torch.empty(1024), torch.empty(64, dtype=torch.int64)
        is_poison = bool(fresh.isnan().all()) and set(counted.tolist()) == {2**63 - 1}
        return Outcome(Ending.ACCEPTED, facts={"poison": str(is_poison)})

    ends = Ranks(2, newest).run(look)

    assert [outcome(end).facts for end in ends] == [{"poison": "True"}] * 2
    assert not torch.are_deterministic_algorithms_enabled()
