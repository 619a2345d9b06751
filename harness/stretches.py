"""Stretches: the provenance of many neighbouring rows in few words, whatever their number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.outcome import NOTHING, Span, Whose


@dataclass(frozen=True)
class Stretch:
    """Neighbouring rows of one owner: row i stands at `whose.position + i` of its rows.

    `whose` is None for rows that carry no known stamp, and NOTHING where there are none.
    """

    whose: Whose | None
    count: int

    def after(self, count: int) -> "Stretch":
        """Return what is left of it after its first rows."""
        if self.whose is None or self.whose == NOTHING:
            return Stretch(self.whose, self.count - count)
        begin = Whose(self.whose.owner, self.whose.position + count)
        return Stretch(begin, self.count - count)

    def continues(self, whose: Whose | None) -> bool:
        """Return whether a row right behind it belongs to it."""
        return _continue(self.whose, self.count, whose)


def stretched(whose: Iterable[Whose | None]) -> list[Stretch]:
    """Return the stretches of rows that are told one by one."""
    found: list[Stretch] = []
    first: Whose | None = None
    count = 0
    for one in whose:
        if count and _continue(first, count, one):
            count += 1
        else:
            if count:
                found.append(Stretch(first, count))
            first, count = one, 1
    return [*found, Stretch(first, count)] if count else found


def _continue(first: Whose | None, count: int, one: Whose | None) -> bool:
    if first is None or one is None or first is NOTHING or one is NOTHING:
        return first == one
    if first.position + count != one.position:
        return first == one == NOTHING
    return first.owner == one.owner


def spans_between(
    place: str, wants: Sequence[Stretch], has: Sequence[Stretch], unit: str
) -> tuple[Span, ...]:
    """Return the runs of one provenance in one output; see `harness.consumers.consumer.spans`."""
    found: list[Span] = []
    index, rest = 0, [one for one in has if one.count]
    for want in wants:
        while want.count:
            got = rest[0] if rest else Stretch(NOTHING, want.count)
            count = min(want.count, got.count)
            assert want.whose is not None
            _append(found, Span(place, index, count, want.whose, got.whose, unit))
            index, want = index + count, want.after(count)
            if rest:
                rest[:1] = [got.after(count)] if got.count > count else []
    return tuple(found)


def _append(found: list[Span], span: Span) -> None:
    last = found[-1] if found else None
    if (
        last is not None
        and Stretch(last.wants, last.count).continues(span.wants)
        and Stretch(last.has, last.count).continues(span.has)
    ):
        found[-1] = Span(
            last.place, last.first, last.count + span.count, last.wants, last.has, last.unit
        )
    else:
        found.append(span)
