"""What a card asks of the harness, as far as a machine without one can show it."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.case import Case, cases
from harness.consumers.consumer import Output, outcome_of
from harness.device import CUDA, NATIVE, ON_CPU, Device
from harness.outcome import Ending, Outcome
from harness.pool import PRELOADED, Pool
from harness.rank_outcome import together
from harness.ranks import Place, Rank, RankEnd, Ranks, place_of
from harness.report.machine import case_document
from harness.result import CaseResult
from harness.seam import Seam
from harness.seams import SEAMS
from harness.snapshot import read
from harness.upstream.source import Tree
from harness.verdict import Promise, Verdict

A_CARD = Device(CUDA, NATIVE, "a card")
#: Seams whose payload passes between the processes of a group.
GROUPS = (
    "encoder-tp-layout shard-all-to-all shard-gather shard-kv-guard shard-splits shard-strategy"
).split()


@pytest.mark.parametrize(
    ("device", "cards", "count", "places"),
    [
        ("cpu", 8, 2, [Place("cpu", "gloo")] * 2),
        ("cuda", 0, 2, [Place("cpu", "gloo")] * 2),
        ("cuda", 1, 2, [Place("cpu", "gloo")] * 2),
        ("cuda", 3, 4, [Place("cpu", "gloo")] * 4),
        ("cuda", 2, 2, [Place(f"cuda:{rank}", "cpu:gloo,cuda:nccl") for rank in range(2)]),
        ("cuda", 8, 4, [Place(f"cuda:{rank}", "cpu:gloo,cuda:nccl") for rank in range(4)]),
    ],
)
def test_each_rank_has_a_card_of_its_own_or_none_has_one(
    device: str, cards: int, count: int, places: Sequence[Place]
) -> None:
    """Cards that do not suffice are not shared."""
    assert [place_of(rank, count, device, cards) for rank in range(count)] == places


def test_a_group_that_has_no_cards_is_one_of_the_cpu(newest: Tree) -> None:
    """Whatever was wanted; each rank is told where its tensors live."""

    def tell(rank: Rank) -> Outcome:
        return Outcome(Ending.ACCEPTED, facts={"device": rank.device})

    ends = Ranks(2, newest, "cuda").run(tell)

    assert [end.outcome and end.outcome.facts for end in ends] == [{"device": "cpu"}] * 2


def test_a_worker_that_forks_ranks_uses_no_card(newest: Tree) -> None:
    """It is told to want one, and torch here raises where one is used. The ranks look for cards."""
    wanted = [case for seam in GROUPS for case in _golden_and_faulty(SEAMS[seam])]
    with Pool(newest, A_CARD, workers=1) as pool:
        results = pool.run(wanted)

    committed = [read(newest.release, SEAMS[one.seam]).cases[one.line] for one in wanted]
    assert [one.verdict for one in results] == [entry["verdict"] for entry in committed]
    assert [one.verdict for one in results[::2]] == [Verdict.UPHELD] * len(GROUPS)
    assert not any(one.on_card for one in results)


def _golden_and_faulty(seam: Seam) -> tuple[Case, Case]:
    able = [case for case in cases(seam) if not seam.lacks(dict(case.dims), A_CARD)]
    faulty = (c for c in able if not c.is_golden and c.steps[0].fault not in _SLOW)
    return next(c for c in able if c.is_golden), next(faulty)


#: Faults after which a group is waited for.
_SLOW = ("rank-away",)


def test_the_exchange_of_a_cards_rows_finds_its_fast_way_closed(newest: Tree) -> None:
    """Upstream imports it as rows are exchanged, when a stub would be in the way."""
    code = f"""
import importlib, sys
from harness.consumers.lingbot_ranks import USP, load_usp
from harness.consumers.parallel_state import ParallelState
from harness.upstream.hermetic import Hermetic
from harness.upstream.source import find
from harness.upstream.touches import LEDGER

load_usp(Hermetic(find({newest.release!r})), ParallelState())
parts = USP.partition(".layers")[0] + ".distributed.device_communicators.ipc_a2a"
for name in ("ipc_a2a", "ipc_a2a_multi"):
    print(getattr(importlib.import_module(parts[:-7] + name), name + "_ready")(None), LEDGER.take())
"""
    done = _run(code)

    assert done.stdout == "False []\n" * 2, done.stderr


def test_the_fork_server_asks_for_no_card() -> None:
    """A process that has asked takes the cards from all that it forks."""
    code = f"""
import importlib, torch
def asked(*args): raise SystemExit("asked for a card")
for name in ("_is_compiled", "is_available", "device_count", "_lazy_init"):
    setattr(torch.cuda, name, asked)
for name in ("is_available", "device_count", "current_accelerator"):
    setattr(torch.accelerator, name, asked)
for name in {PRELOADED!r}: importlib.import_module(name)
print("none")
"""
    done = _run(code)

    assert done.stdout == "none\n", done.stderr


#: A call that leaves something on a card, which says how it ended when it is waited for.
LEFT = """
import torch
from pathlib import Path
from harness.consumers.consumer import Output, outcome_of
from harness.upstream.hermetic import Hermetic
from harness.upstream.source import Tree

torch.cuda.is_initialized = lambda: True
def wait():
    {wait}
torch.cuda.synchronize = wait
def call():
    {call}
print(outcome_of(Hermetic(Tree("a tree", Path("/nowhere"), "0.5.23")), call))
"""
FAULT = 'raise torch.AcceleratorError("CUDA error: device-side assert triggered", 710)'


@pytest.mark.parametrize("call", ["return Output()", FAULT, "raise ValueError('no rows')"])
def test_a_fault_on_a_card_takes_the_process_with_it(call: str) -> None:
    """Whether the call saw it or not: what it broke is no later case's business."""
    assert _run(LEFT.format(wait=FAULT, call=call)).returncode == -6


def test_what_a_card_has_done_is_told() -> None:
    """The outcome says that a card was used; the oracle does not look at it."""
    done = _run(LEFT.format(wait="pass", call="return Output()"))

    assert "on_card=True" in done.stdout, done.stderr
    assert "unsure=()" in done.stdout


def test_a_card_without_memory_is_no_finding() -> None:
    """Others may use it too."""
    done = _run(LEFT.format(wait="pass", call="raise torch.OutOfMemoryError('CUDA out of memory')"))

    assert "unsure=('the card had no memory left',)" in done.stdout, done.stderr


def test_a_call_that_used_no_card_says_so(newest: Tree) -> None:
    """As all do here."""

    class Upstream:
        tree = newest

    assert not outcome_of(Upstream(), Output).on_card  # type: ignore[arg-type]


def test_a_report_says_of_each_case_whether_a_card_was_used() -> None:
    """Which the device that was asked for does not."""
    result = CaseResult("ar-split", "noop", "a line", Verdict.UPHELD, Promise.KEPT)

    assert case_document(result)["on_card"] is False
    assert case_document(replace(result, on_card=True))["on_card"] is True


def test_a_group_has_used_a_card_if_one_rank_has() -> None:
    """The others may have ended before."""
    used, not_used = Outcome(Ending.ACCEPTED, on_card=True), Outcome(Ending.ACCEPTED)

    assert together([RankEnd(0, not_used, ""), RankEnd(1, used, "")]).on_card
    assert not together([RankEnd(0, not_used, ""), RankEnd(1, not_used, "")]).on_card


def test_a_worker_whose_seam_is_done_leaves_its_memory_on_a_card(newest: Tree) -> None:
    """Idle workers are kept on the CPU, where they cost nothing."""
    every = [next(iter(cases(SEAMS[name]))) for name in ("ar-split", "ar-seed", "image-crop")]
    counts = []
    for device in (ON_CPU, A_CARD):
        with Pool(newest, device, workers=1) as pool:
            pool.run(every)
            counts.append(len(pool.pids))

    assert counts == [3, 1]


def test_kernels_that_are_compiled_have_time_for_it(newest: Tree) -> None:
    """In the interpreter, and at other seams, a case has its own deadline."""
    deadlines = []
    for seam, device in (
        ("kernel-pack-qkv", A_CARD),
        ("kernel-pack-qkv", ON_CPU),
        ("ar-split", A_CARD),
    ):
        pool = Pool(newest, device, workers=1)
        worker = pool._worker(seam)
        deadlines.append(worker._deadline_s - SEAMS[seam].deadline_s)
        worker.stop()

    assert deadlines == [60.0, 0.0, 0.0]


def _run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
