"""What each release does, held against the committed snapshots."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from contracts import CONTRACTS
from contracts.releases import RELEASES
from harness.runner import Report, check
from harness.seams import SEAMS
from harness.snapshot import Snapshot, parse
from harness.verdict import Promise, Verdict

# The snapshots lie beside the contracts, and are named for seams, not for tests.
pytestmark = pytest.mark.filterwarnings("ignore:\\s*Can not relate snapshot:UserWarning")

SNAPSHOTS = Path(__file__).parents[2] / "contracts" / "snapshots"


def extension(release: str) -> type[SingleFileSnapshotExtension]:
    """Return where and how syrupy keeps the snapshots of one release."""

    class OneSeam(SingleFileSnapshotExtension):
        _write_mode = WriteMode.TEXT
        file_extension = "json"

        @classmethod
        def dirname(cls, *, test_location: Any) -> str:
            return str(SNAPSHOTS / release)

        @classmethod
        def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
            return str(index)

        def serialize(self, data: Any, **kwargs: Any) -> str:
            return str(data)

    return OneSeam


@pytest.fixture(scope="module")
def report(release: str, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What the release does with every case; xdist's workers share one check of each release."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return check(release)
    # The other release is checked beside it.
    workers = os.cpu_count()
    kept = tmp_path_factory.getbasetemp().parent / f"report-{release}.pickle"
    with FileLock(kept.with_suffix(".lock")):
        if not kept.is_file():
            beside = kept.with_suffix(".writing")
            beside.write_bytes(pickle.dumps(check(release, workers=workers)))
            beside.replace(kept)
        found: Report = pickle.loads(kept.read_bytes())
    return found


@pytest.mark.parametrize("seam", SEAMS)
def test_the_release_does_what_its_snapshot_says(
    seam: str, release: str, report: Report, snapshot: SnapshotAssertion
) -> None:
    """Every verdict of every case is the committed one."""
    found = Snapshot.of(seam, release, report.results)

    assert found.text == snapshot(name=seam, extension_class=extension(release))


def test_nothing_is_broken_and_nothing_is_inconclusive(release: str, report: Report) -> None:
    """A published release keeps its promises, and every case that is there was judged."""
    unfit = [
        result.case
        for result in report.results
        if result.promise is Promise.BROKEN or result.verdict is Verdict.INCONCLUSIVE
    ]

    # A guard that no call can reach is listed, and no other one.
    there = dict.fromkeys(r.seam for r in report.results if r.verdict is not Verdict.ABSENT)
    dead = [
        f"{seam}/{clause.name}"
        for seam in there
        for clause in CONTRACTS[seam].clauses
        if clause.dead_guard(release)
    ]
    assert unfit == []
    assert sorted(report.unreachable) == sorted(dead)


@pytest.mark.parametrize("release_kept", RELEASES)
def test_every_release_has_one_whole_snapshot_for_each_seam(release_kept: str) -> None:
    """None is missing, stale, left over or edited by hand."""
    files = {file.stem: file for file in (SNAPSHOTS / release_kept).glob("*")}

    assert set(SEAMS) == set(files)
    for file in files.values():
        assert parse(file.read_text(), file.name).covers_today()
