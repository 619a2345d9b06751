"""What differs from another source.

Its committed snapshots serve if they have today's cases, and where the seam ran as they were made:
with tensors on the CPU, and kernels in Triton's interpreter. Else it is run, where the first was.
"""

from collections.abc import Callable

from contracts.releases import RELEASES
from harness.device import CPU, Device
from harness.errors import SnapshotError
from harness.runner import Report, Selection
from harness.seam import Seam
from harness.snapshot import Difference, Snapshot, differences, read
from harness.telling import Say, unheard
from harness.upstream.source import find


def compare(
    report: Report, against: str, selection: Selection, run: Callable[[str], Report]
) -> list[Difference]:
    """Return what the report says otherwise than another source does, worst first by seam.

    Args:
        report: What was found.
        against: The other source.
        selection: Which cases are compared.
        run: Checks the other source on the same device; called only where its snapshots do not
            serve.
    """
    other: Report | None = None
    found: list[Difference] = []
    for seam in selection.chosen_seams():
        before = _committed(against, seam, report.device)
        if before is None:
            other = other or run(against)
            before = Snapshot.of(seam.name, other.release, other.results)
        after = Snapshot.of(seam.name, report.release, report.results)
        found += differences(_only(before, selection), after)
    return found


def prepare(against: str, selection: Selection, device: Device, say: Say = unheard) -> None:
    """See before a long run that the other source can be compared with.

    Args:
        against: The other source.
        selection: Which cases will be compared.
        device: Where they will run.
        say: Told what is being fetched.

    Raises:
        SourceError: if it has no snapshots that serve and there is no such source.
    """
    if any(_committed(against, seam, device) is None for seam in selection.chosen_seams()):
        find(against, say)


def _committed(source: str, seam: Seam, device: Device) -> Snapshot | None:
    if source not in RELEASES or device.of(seam.kernel) != CPU:
        return None
    try:
        snapshot = read(source, seam)
    except SnapshotError:
        return None
    return snapshot if snapshot.covers_today() else None


def _only(snapshot: Snapshot, selection: Selection) -> Snapshot:
    if selection.is_whole:
        return snapshot
    chosen = {case.line for case in selection.chosen()}
    kept = {line: entry for line, entry in snapshot.cases.items() if line in chosen}
    return Snapshot(snapshot.seam, snapshot.release, kept, snapshot.absent)
