"""Rows misplaced on purpose, and what an audit must say of them, counted from names alone.

A planter moves names: (slot, position), or None for a row that nobody could read. The tensor is
made from the names, and so is what is expected, in plain Python, without a digit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import torch

from harness.kernels.tally import KINDS
from simulators.packed_rows import Item

Name = tuple[int, int] | None


@dataclass
class Planted:
    """Names in the order in which they stand, and how many slots are ours."""

    items: Sequence[Item]
    ours: int
    names: list[Name]
    #: What was done.
    done: list[str]

    @classmethod
    def honest(cls, items: Sequence[Item], ours: int) -> "Planted":
        """Return each row of ours where it belongs."""
        return cls(items, ours, _names(items[:ours]), [])


def _names(items: Sequence[Item]) -> list[Name]:
    return [
        (slot, item.first + row) for slot, item in enumerate(items) for row in range(item.count)
    ]


def swap(planted: Planted, rng: Random) -> None:
    """Two rows change places, of one item or of two."""
    one, two = rng.sample(range(len(planted.names)), 2)
    names = planted.names
    names[one], names[two] = names[two], names[one]


def double(planted: Planted, rng: Random) -> None:
    """A row is written over another one."""
    one, two = rng.sample(range(len(planted.names)), 2)
    planted.names[two] = planted.names[one]


def insert(planted: Planted, rng: Random) -> None:
    """A row comes twice, and all behind it are one place late."""
    place = rng.randrange(len(planted.names))
    planted.names.insert(place, planted.names[place])


def lose(planted: Planted, rng: Random) -> None:
    """A row is lost, and all behind it are one place early."""
    del planted.names[rng.randrange(len(planted.names))]


def truncate(planted: Planted, rng: Random) -> None:
    """The last rows are lost."""
    del planted.names[-rng.randint(1, len(planted.names)) :]


def turn(planted: Planted, rng: Random) -> None:
    """A run of rows is turned by some places."""
    low, high = sorted(rng.sample(range(len(planted.names) + 1), 2))
    by = rng.randint(1, max(1, high - low - 1))
    run = planted.names[low:high]
    planted.names[low:high] = run[by:] + run[:by]


def intrude(planted: Planted, rng: Random) -> None:
    """A run of another request's rows is written over ours, or comes after them."""
    others = _names(planted.items)[len(_names(planted.items[: planted.ours])) :]
    first = rng.randrange(len(others))
    run = others[first : first + rng.randint(1, 4)]
    place = rng.randint(0, len(planted.names))
    planted.names[place : place + len(run)] = run


def corrupt(planted: Planted, rng: Random) -> None:
    """A row becomes unreadable."""
    planted.names[rng.randrange(len(planted.names))] = None


FAULTS: tuple[Callable[[Planted, Random], None], ...] = (
    swap, double, insert, lose, truncate, turn, intrude, corrupt,
)  # fmt: skip


def some_items(rng: Random) -> tuple[list[Item], list[Item]]:
    """Return a few items of ours, some empty, and two of another request."""
    ours = [
        Item(rng.randrange(2**32), slot, rng.choice((0, 1, 1, 2, 5, 9)), first=rng.choice((0, 300)))
        for slot in range(rng.randint(1, 5))
    ]
    return ours, [Item(rng.randrange(2**32), 50 + slot, rng.randint(1, 6)) for slot in range(2)]


def planting(ours: list[Item], others: list[Item], rng: Random) -> Planted:
    """Return the rows of some items with one to three faults."""
    planted = Planted.honest([*ours, *others], len(ours))
    for _ in range(rng.randint(1, 3)):
        fault = rng.choice(FAULTS)
        # What needs two rows leaves fewer alone.
        if len(planted.names) >= 2:
            fault(planted, rng)
            planted.done.append(fault.__name__)
    return planted


def expected(planted: Planted) -> tuple[list[list[int]], list[list[int]]]:
    """Return the counts and first places that are to be found, as an audit's two tables."""
    ours = planted.ours
    wanted = _names(planted.items[:ours])
    counts = [[0] * len(KINDS) for _ in range(ours + 1)]
    first = [[-1] * len(KINDS) for _ in range(ours + 1)]

    def say(slot: int, kind: str, place: int) -> None:
        column = KINDS.index(kind)
        counts[slot][column] += 1
        if first[slot][column] < 0:
            first[slot][column] = place

    met: set[Name] = set()
    for place, name in enumerate(planted.names):
        belongs = wanted[place] if place < len(wanted) else None
        slot = belongs[0] if belongs else ours
        if name is None:
            say(slot, "corrupted", place)
            continue
        if name == belongs:
            say(slot, "right", place)
        else:
            say(slot, "shifted" if belongs and name[0] == slot else "foreign", place)
        if name[0] < ours and name in met:
            say(name[0], "repeated", place)
        met.add(name)
    for place, name in enumerate(wanted):
        if name is not None and name not in met:
            say(name[0], "missing", place)
    return counts, first


def rows_of(planted: Planted, stamped: torch.Tensor, rng: Random) -> torch.Tensor:
    """Return the rows that the names stand for; an unreadable one in one of many ways.

    Args:
        planted: What stands where.
        stamped: (rows of all items, width), the honest rows of ours and of others.
        rng: Draws which numbers of an unreadable row are changed, and how.
    """
    at = {name: row for row, name in enumerate(_names(planted.items))}
    rows = stamped[[at.get(name, 0) for name in planted.names]].clone()
    for place, name in enumerate(planted.names):
        if name is None:
            rows[place] = _unreadable(stamped[rng.randrange(len(stamped))], rng)
    return rows


def _unreadable(row: torch.Tensor, rng: Random) -> torch.Tensor:
    row = row.clone()
    way = rng.randrange(4)
    if way == 0:
        return row.zero_()
    if way == 1:
        # One number of one column, by one.
        column = rng.randrange(len(row))
        row[column] = row[column] + 1 if row[column] < 256 else 1
    elif way == 2:
        row[rng.randrange(len(row))] = float("nan") if row.is_floating_point() else -1
    else:
        # Two digits change places in every period: all columns agree, and the mix does not.
        digits = row[:8].clone()
        one, two = next((a, b) for a in range(5) for b in range(5, 8) if digits[a] != digits[b])
        digits[one], digits[two] = row[two], row[one]
        row = digits.repeat(-(-len(row) // 8))[: len(row)]
    return row


def ids_of(planted: Planted, stamped: torch.Tensor, rng: Random) -> torch.Tensor:
    """Return the ids that the names stand for; an unreadable one is in no item, or no code.

    Args:
        planted: What stands where.
        stamped: (rows of all items,), the honest ids of ours and of others.
        rng: Draws the unreadable ones.
    """
    at = {name: row for row, name in enumerate(_names(planted.items))}
    nobodys = (-1, stamped.max().item() // 2, torch.iinfo(stamped.dtype).max)
    return torch.tensor(
        [rng.choice(nobodys) if n is None else stamped[at[n]].item() for n in planted.names],
        dtype=stamped.dtype,
    )


def read_by_pairs(planted: Planted) -> Planted:
    """Return the names as they can be read from ids: what is wrong, and alone, is nobody's."""
    rows = _names(planted.items)
    at = {name: row for row, name in enumerate(rows)}
    places = [at[name] if name else None for name in planted.names]
    wanted = len(_names(planted.items[: planted.ours]))
    read = []
    for place, row in enumerate(places):
        before = places[place - 1] if place else None
        after = places[place + 1] if place + 1 < len(places) else None
        paired = row is not None and (before == row - 1 or after == row + 1)
        right = place == row and place < wanted
        read.append(planted.names[place] if right or paired else None)
    return Planted(planted.items, planted.ours, read, planted.done)
