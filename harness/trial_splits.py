"""A trial of splits: a user's own, told to the ranks of a real group, held against the contract."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.case import Case, Step, seam_named
from harness.device import CPU, choose
from harness.errors import UsageError
from harness.given_splits import Splits
from harness.runner import Report, run_one
from harness.seam import Seam
from harness.telling import Say, unheard
from harness.trial_settings import chosen_dims, every_dim

#: The dimension that `--lengths` gives.
_ROWS = "rows"


@dataclass(frozen=True)
class AskedSplits:
    """What a user asks for, as typed; None for an option that is not there."""

    #: Told to every rank.
    splits: str | None = None
    #: Told to each rank its own, parted by `/`.
    rank_splits: str | None = None
    #: Rows that each rank holds, in rank order.
    lengths: str | None = None
    #: `KEY=VALUE` for other dimensions of the seam.
    settings: Sequence[str] = ()

    def typed(self, seam: str) -> str:
        """Return the command that asks for it."""
        options = {
            "--splits": self.splits,
            "--rank-splits": self.rank_splits,
            "--lengths": self.lengths,
        }
        words = [
            word for key, value in options.items() if value is not None for word in (key, value)
        ]
        words += [word for setting in self.settings for word in ("--set", setting)]
        return f"try {seam} {shlex.join(words)}"


def trial_of_splits(
    source: str, seam: str, asked: AskedSplits, device: str = CPU, say: Say = unheard
) -> tuple[Report, Case]:
    """Return what upstream did on every rank with splits of a user's own.

    Args:
        source: A release, a path, `git:PATH@REF` or `installed`.
        seam: A seam at which splits are told.
        asked: The splits, and what the ranks hold.
        device: One of `harness.device.CHOICES`.
        say: Told what is being done.

    Raises:
        UsageError: if the splits, the lengths or a setting cannot be understood, or do not fit.
        SourceError: if there is no such source.
    """
    case = _case(seam_named(seam), asked)
    tree, result = run_one(source, case, device, say)
    shown = replace(result, fault="your-splits", case=asked.typed(seam))
    return Report(tree, choose(device), (shown,)), case


def _case(seam: Seam, asked: AskedSplits) -> Case:
    lengths = _lengths(seam, asked)
    ranks = lengths.count(",") + 1
    given = _given(seam, asked, ranks)
    chosen = chosen_dims(
        seam, asked.settings, {_ROWS: lengths}, {_ROWS: "--lengths says what the ranks hold"}
    )
    if "heads" in seam.dims:
        # The question is about splits: the ranks divide the heads, unless it is said otherwise.
        chosen.setdefault("heads", str(-(-int(seam.dims["heads"].default or 1) // ranks) * ranks))
    dims = every_dim(seam, chosen)
    if misfit := seam.misfit(dict(dims)):
        raise UsageError(f"{asked.typed(seam.name)}: {misfit}")
    _refuse_senseless(seam, asked, given, dict(dims))
    return Case(seam.name, (Step(given.fault.name),), dims)


def _lengths(seam: Seam, asked: AskedSplits) -> str:
    if asked.lengths is None:
        raise UsageError(
            f"try {seam.name} needs --lengths, the rows that each rank holds: --lengths 4,4"
        )
    lengths = ",".join(length.strip() for length in asked.lengths.split(","))
    if not seam.dims[_ROWS].accepts(lengths):
        raise UsageError(f"--lengths {asked.lengths}: expected {seam.dims[_ROWS].meaning}")
    return lengths


def _given(seam: Seam, asked: AskedSplits, ranks: int) -> Splits:
    if asked.splits is not None and asked.rank_splits is not None:
        raise UsageError("--splits and --rank-splits both say what the ranks are told: give one")
    if asked.splits is not None:
        if "/" in asked.splits:
            raise UsageError(f"--splits {asked.splits}: --rank-splits tells each rank its own")
        return Splits(asked.splits)
    if asked.rank_splits is None:
        raise UsageError(
            f"try {seam.name} needs --splits, told to every rank, or --rank-splits, one list a rank"
        )
    count = asked.rank_splits.count("/") + 1
    if count != ranks:
        raise UsageError(
            f"--rank-splits {asked.rank_splits}: {count} lists, parted by /, for the {ranks} ranks "
            f"of --lengths {asked.lengths}"
        )
    return Splits(asked.rank_splits)


def _refuse_senseless(seam: Seam, asked: AskedSplits, given: Splits, dims: dict[str, str]) -> None:
    told, entry = dims["told"], dims.get("entry")
    if asked.rank_splits is not None and told != "all":
        raise UsageError(f"--set told={told}: --rank-splits says already what each rank is told")
    if entry is None:
        return
    if entry.startswith("fixed"):
        raise UsageError(f"--set entry={entry} takes no splits: varlen-in and varlen-out do")
    if given.is_omitted:
        # A function that is called directly has no batch whose field could be missing.
        raise UsageError(f"omitted: {seam.name} takes splits as an argument: none tells a null")
