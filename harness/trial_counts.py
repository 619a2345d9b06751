"""A trial of counts and rows: a user's own, on the real consumer, held against the contract."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.case import Case, Step, seam_named
from harness.device import CPU, choose
from harness.errors import UsageError
from harness.given_counts import Counts, counts_of, rows_of
from harness.runner import Report, run_one
from harness.seam import Seam
from harness.telling import Say, unheard
from harness.trial_settings import chosen_dims, every_dim
from simulators.encoder import MOST_TOKENS
from simulators.payload import PLACEHOLDERS

#: Dimensions that say how many items there are.
_OF_COUNT = ("records", "requests")


@dataclass(frozen=True)
class AskedCounts:
    """What a user asks for, as typed; None for an option that is not there."""

    #: Told of each item, or its placeholders in the prompt.
    counts: str | None = None
    #: How many rows there are: of each item, or one number for all.
    rows: str | None = None
    #: `KEY=VALUE` for other dimensions of the seam.
    settings: Sequence[str] = ()

    def typed(self, seam: str) -> str:
        """Return the command that asks for it."""
        options = {"--counts": self.counts, "--rows": self.rows}
        words = [
            word for key, value in options.items() if value is not None for word in (key, value)
        ]
        words += [word for setting in self.settings for word in ("--set", setting)]
        return f"try {seam} {shlex.join(words)}"


def trial_of_counts(
    source: str, seam: str, asked: AskedCounts, device: str = CPU, say: Say = unheard
) -> tuple[Report, Case]:
    """Return what upstream did with counts and rows of a user's own.

    Args:
        source: A release, a path, `git:PATH@REF` or `installed`.
        seam: A seam at which items are counted, and rows made for them.
        asked: The counts and rows.
        device: One of `harness.device.CHOICES`.
        say: Told what is being done.

    Raises:
        UsageError: if the counts, the rows or a setting cannot be understood, or do not fit.
        SourceError: if there is no such source.
    """
    case = _case(seam_named(seam), asked)
    tree, result = run_one(source, case, device, say)
    shown = replace(result, fault="your-counts", case=asked.typed(seam))
    return Report(tree, choose(device), (shown,)), case


def _case(seam: Seam, asked: AskedCounts) -> Case:
    if asked.counts is None:
        raise UsageError(f"try {seam.name} needs --counts, one of each item: --counts 2,4")
    told = counts_of(asked.counts)
    placed = PLACEHOLDERS in seam.forms
    sizes = "sizes" if placed else "pictures"
    due = _due(asked, told, "" if placed else sizes)
    made = _made(asked, due)
    given = Counts(() if placed else told, made)
    by = dict.fromkeys(_OF_COUNT, "--counts says how many items there are")
    if placed:
        by = {"records": by["records"], sizes: "--counts says how large they are"}
    said = {sizes: ",".join(map(str, due)), **_shape(seam, asked.settings, len(told))}
    dims = every_dim(seam, chosen_dims(seam, asked.settings, said, by))
    if misfit := seam.misfit(dict(dims)):
        raise UsageError(f"{asked.typed(seam.name)}: {misfit}")
    return Case(seam.name, (Step(given.fault.name),), dims)


def _due(asked: AskedCounts, told: Sequence[float], sizes: str) -> list[int]:
    """Return how many rows each item should have: what is counted, if it is not set."""
    own = _set_to(asked.settings, sizes)
    counts = counts_of(own) if own[:1].isdigit() else told
    due = [int(count) for count in counts if count % 1 == 0 and 0 < count <= MOST_TOKENS]
    if len(due) != len(told):
        mend = f"; say how many each has: --set {sizes}={','.join('4' * len(told))}"
        raise UsageError(
            f"--counts {asked.counts}: not every item can have so many rows, 1 to {MOST_TOKENS}"
            f"{mend if sizes else ''}"
        )
    return due


def _set_to(settings: Sequence[str], dim: str) -> str:
    found = [s.removeprefix(f"{dim}=") for s in settings if s.startswith(f"{dim}=")]
    return found[0] if found else ""


def _made(asked: AskedCounts, due: Sequence[int]) -> tuple[int, ...]:
    """Return the rows of each item: of one number for all, the last item has more or fewer."""
    if asked.rows is None:
        return tuple(due)
    made = rows_of(asked.rows, MOST_TOKENS)
    if len(made) == 1:
        left = made[0]
        shared = []
        for count in due:
            shared.append(min(count, left))
            left -= shared[-1]
        return (*shared[:-1], shared[-1] + left)
    if len(made) != len(due):
        raise UsageError(
            f"--rows {asked.rows}: {len(made)} numbers for the {len(due)} items of "
            f"--counts {asked.counts}; one number alone is the rows of all"
        )
    return made


def _shape(seam: Seam, settings: Sequence[str], items: int) -> Mapping[str, str]:
    if "each" not in seam.dims:
        return {"records": str(items)}
    each = _set_to(settings, "each") or "1"
    if not each.isdecimal() or int(each) == 0 or items % int(each):
        raise UsageError(f"--set each={each}: {items} items cannot be shared out so")
    return {"requests": str(items // int(each)), "each": each}
