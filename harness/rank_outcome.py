"""What a group of ranks did, as one outcome: the worst of its ranks', and a line for each.

A death is worse than a hang, a hang than an error, and an error than an output, for that is the
order in which the others of the group are spared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

from harness.outcome import Ending, Outcome, RankOutcome
from harness.ranks import Drive, RankEnd, Ranks
from harness.upstream.loading import Upstream

#: Characters of an error's text in a rank's line; the report has the whole of it.
_WORDS = 140
_WORST_FIRST = (Ending.CRASHED, Ending.HUNG, Ending.RAISED, Ending.ACCEPTED)


def of_group(
    upstream: Upstream, device: str, dims: Mapping[str, str], count: int, drive: Drive
) -> Outcome:
    """Return what a fresh group of ranks made of one drive.

    Args:
        upstream: Whose tree it is.
        device: Where the ranks' tensors live.
        dims: `after=stays` lets a rank that raised stay.
        count: How many ranks.
        drive: What each rank does.
    """
    leaves = dims.get("after") != "stays"
    return together(Ranks(count, upstream.tree, device, leaves).run(drive))


def together(ends: Sequence[RankEnd]) -> Outcome:
    """Return the outcome of a group.

    A rank that was told to stay away, or to die, has none of its own: what the others made of it
    counts.
    """
    known = [end for end in ends if end.outcome is not None]
    outcomes = [end.outcome for end in known if end.outcome is not None]
    ranks = tuple(RankOutcome(e.rank, e.outcome, _said(e)) for e in known if e.outcome is not None)
    ranks += tuple(
        RankOutcome(e.rank, Outcome(Ending.ACCEPTED), f"rank {e.rank}: {e.step}")
        for e in ends
        if e.outcome is None
    )
    ranks = tuple(sorted(ranks, key=lambda one: one.rank))
    if not outcomes:
        return Outcome(Ending.ACCEPTED, unsure=("no rank was left to do its part",), ranks=ranks)
    on_card = any(o.on_card for o in outcomes)
    return replace(_worst(outcomes, ranks), on_card=on_card)


def _worst(outcomes: Sequence[Outcome], ranks: tuple[RankOutcome, ...]) -> Outcome:
    unsure = tuple(dict.fromkeys(said for o in outcomes for said in o.unsure))
    worst = next(e for e in _WORST_FIRST if any(o.ending is e for o in outcomes))
    alike = [o for o in outcomes if o.ending is worst]
    if worst in (Ending.CRASHED, Ending.HUNG):
        # Which of several ranks a group loses first is chance.
        death = " and ".join(sorted({_by_any_signal(o.death) for o in alike}))
        stack = "\n\n".join(o.stack for o in alike if o.stack)
        return Outcome(worst, unsure=unsure, death=f"a rank {death}", stack=stack, ranks=ranks)
    if worst is Ending.RAISED:
        first = next((o.raised for o in alike if o.raised is not None), None)
        return Outcome(worst, first, unsure=unsure, ranks=ranks)
    spans = tuple(span for o in outcomes for span in o.spans)
    facts = {place: said for o in outcomes for place, said in o.facts.items()}
    return Outcome(worst, None, spans, facts, unsure, ranks=ranks)


def _by_any_signal(death: str) -> str:
    # What memory that is no longer whole ends in, an abort or a fault, is chance; the rank's line
    # has it.
    return "died by a signal" if death.startswith("died by ") else death


def _said(end: RankEnd) -> str:
    assert end.outcome is not None
    did = _did(end.outcome)
    later = "" if end.outcome.ending is Ending.ACCEPTED else f", when it was about to {end.step}"
    return f"rank {end.rank}: {did}{later}"


def _did(outcome: Outcome) -> str:
    if outcome.unsure:
        return "cannot be judged"
    if outcome.ending in (Ending.CRASHED, Ending.HUNG):
        return outcome.death
    if outcome.raised is not None:
        place = outcome.raised.frames[-1] if outcome.raised.frames else None
        where = f" in {place[2]} of {place[0].rpartition('/')[2]}" if place else ""
        words = shorten(outcome.raised.message, _WORDS, placeholder=" ...")
        return f"raised {outcome.raised.type}{where}: {words}"
    wrong = sum(span.count for span in outcome.spans if not span.right)
    rows = sum(span.count for span in outcome.spans)
    return f"returned, {wrong} of {rows} rows wrong" if wrong else "returned"
