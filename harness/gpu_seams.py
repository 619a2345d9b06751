"""The seams on a card: each verdict there, beside the committed one, which is of the CPU.

Two parts of the check of a card. The seams with kernels run whole. Of the others golden runs and
faults from all over the table run, with tensors on the card; which seams had any there is seen and
told: where none was, the card was not tried. A verdict that differs is a figure to read: only a
broken promise makes a part unfit, and a golden run that is not upheld is one.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from harness.case import Case, cases
from harness.errors import SnapshotError
from harness.gpu_part import Asked, Part
from harness.result import CaseResult
from harness.runner import run_cases
from harness.seam import Seam
from harness.seams import SEAMS
from harness.snapshot import Entry, read
from harness.upstream.source import Tree, find
from harness.verdict import Promise, Verdict

#: Processes with a card each: it takes one a second or two, and half a gigabyte, to begin.
_WORKERS = 4
#: Seams whose workers live at once, at most; see `_WORKERS`.
_AT_ONCE = 8
#: Faulty cases of a seam, and golden ones, at most.
_FAULTY, _GOLDEN = 40, 10
#: With `--small`: cases of each kind, and every which seam.
_FEW, _EVERY = 2, 8
#: Seconds after which no more seams are begun; what is left out is told.
ENOUGH_S = 110.0
_MOST_SAID = 20


def kernel_seams(asked: Asked) -> Part:
    """Run the seams with kernels: compiled for the card, or in the interpreter."""
    names = [name for name, seam in SEAMS.items() if seam.kernel]
    most = _FEW if asked.small else None
    return _part("kernel_seams", asked, names, (most, most), at_once=len(names))


def other_seams(asked: Asked) -> Part:
    """Run the other seams, with tensors on the card, or on the CPU."""
    names = [name for name, seam in SEAMS.items() if not seam.kernel]
    if asked.small:
        return _part("other_seams", asked, names[::_EVERY], (_FEW, _FEW), _AT_ONCE)
    return _part("other_seams", asked, names, (_GOLDEN, _FAULTY), _AT_ONCE)


def _part(
    name: str,
    asked: Asked,
    names: Sequence[str],
    most: tuple[int | None, int | None],
    at_once: int,
) -> Part:
    if asked.source is None:
        return Part(name, "unavailable", said=["no tree of SGLang was given"])
    tree = find(asked.source)
    until = time.monotonic() + ENOUGH_S
    results: list[CaseResult] = []
    left: list[str] = []
    for first in range(0, len(names), at_once):
        some = names[first : first + at_once]
        if time.monotonic() > until:
            left += some
            continue
        wanted = [case for one in some for case in chosen(SEAMS[one], *most)]
        results += run_cases(tree, wanted, asked.torch_device, workers=_WORKERS)
    return judged(name, tree, results, left)


def chosen(seam: Seam, golden: int | None, faulty: int | None) -> list[Case]:
    """Return so many golden and faulty cases of a seam, from all over its table; None is all."""
    every = list(cases(seam))
    goldens = [case for case in every if case.is_golden]
    return _spread(goldens, golden) + _spread([c for c in every if not c.is_golden], faulty)


def _spread(some: Sequence[Case], most: int | None) -> list[Case]:
    step = 1 if most is None else max(1, -(-len(some) // most))
    return list(some[::step])


def judged(name: str, tree: Tree, results: Sequence[CaseResult], left: Sequence[str] = ()) -> Part:
    """Return what the results of a part come to.

    Args:
        name: The part's.
        tree: Whose results they are: its release has the snapshots.
        results: One of each case.
        left: Seams that there was no time for.
    """
    broken = [_told(one) for one in results if one.promise is Promise.BROKEN]
    unsure = [_told(one) for one in results if one.verdict is Verdict.INCONCLUSIVE]
    unsure += [f"there was no time for {', '.join(left)}"] if left else []
    on_card = _seams(one for one in results if one.on_card)
    found = list(_differences(tree.release, results))
    figures: dict[str, object] = {
        "release": tree.release,
        "verdicts": dict(Counter(str(one.verdict) for one in results)),
        "differs": found,
        "unavailable": _first_of_each(results, Verdict.UNAVAILABLE),
        "absent": _first_of_each(results, Verdict.ABSENT),
        "on_card": on_card,
        "not_on_card": [name for name in _seams(results) if name not in on_card],
    }
    said = [*broken, *unsure][:_MOST_SAID]
    if found:
        said.append(f"{len(found)} verdicts are not the committed ones: see differs")
    state = "unfit" if broken else "inconclusive" if unsure else "fit"
    return Part(name, state, len(results), said, figures)


def _told(result: CaseResult) -> str:
    return f"{result.case}: {result.verdict} {result.promise or ''} {result.detail}".strip()


def _seams(results: Iterable[CaseResult]) -> list[str]:
    return sorted({one.seam for one in results})


def _first_of_each(results: Sequence[CaseResult], verdict: Verdict) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in results:
        if one.verdict is verdict:
            found.setdefault(one.seam, one.detail)
    return found


def _differences(release: str, results: Sequence[CaseResult]) -> Iterator[dict[str, str]]:
    committed = {name: _committed(release, SEAMS[name]) for name in _seams(results)}
    for one in results:
        entry = committed[one.seam].get(one.case)
        if entry is None or one.verdict in (Verdict.UNAVAILABLE, Verdict.ABSENT):
            continue
        cpu, here = _words(entry["verdict"], entry.get("promise")), _words(one.verdict, one.promise)
        if cpu != here:
            yield {"case": one.case, "cpu": cpu, "here": here, "detail": one.detail}


def _words(verdict: str, promise: str | None) -> str:
    return f"{verdict} {promise or ''}".strip()


def _committed(release: str, seam: Seam) -> dict[str, Entry]:
    try:
        return dict(read(release, seam).cases)
    except SnapshotError:
        return {}
