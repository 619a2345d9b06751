"""The kernels beside their twins, on the device that runs them: random sizes and planted faults.

Each function yields a sentence where something is not as it should be; `Cases` counts what was
compared.
"""

import contextlib
from collections.abc import Iterator
from random import Random

import torch

from contracts.contract import Origin
from harness.kernels.audit import audit_rows, audit_rows_torch, read_rows
from harness.kernels.audit_ids import audit_ids, audit_ids_torch
from harness.kernels.items import ItemTable, table_of
from harness.kernels.planting import expected, ids_of, planting, read_by_pairs, rows_of, some_items
from harness.kernels.provenance import known, targets_torch
from harness.kernels.stamp import (
    ID_DTYPES,
    MOST_CODES,
    ROW_DTYPES,
    stamp_ids,
    stamp_ids_torch,
    stamp_rows,
    stamp_rows_torch,
)
from harness.kernels.tally import Audit
from simulators.packed_rows import MOST_POSITIONS, Item, PackedReader, stamped_rows

#: Rows and columns that are more numbers than 32 bits can tell apart, in bfloat16.
FAR_ROWS, FAR_WIDTH = 262_149, 8192
#: Columns, and rows of an item; the interpreter gets the first three. Few widths, since each
#: compiles a kernel of its own in each dtype.
_WIDTHS = (8, 9, 333, 1024, 2048, 8200)
_COUNTS = (1, 5, 40, 300, 2000)


class Cases:
    """How many cases were compared."""

    def __init__(self, device: str, count: int) -> None:
        """Take the device, and how many of each kind are wanted."""
        self.device, self.wanted, self.done = device, count, 0

    def each(self) -> Iterator[Random]:
        """Yield the randomness of each case."""
        for seed in range(self.wanted):
            self.done += 1
            yield Random(seed)


def stamps(cases: Cases) -> Iterator[str]:
    """Compare stamped rows and ids with those of the twins, over poison."""
    for rng in cases.each():
        table = _table(rng, cases)
        dtype, width = rng.choice(ROW_DTYPES), _width(rng, cases)
        kernel = stamp_rows(table, _poisoned((table.rows, width), dtype, cases.device))
        twin = stamp_rows_torch(table, _poisoned((table.rows, width), dtype, cases.device))
        if not torch.equal(kernel, twin):
            yield f"{table.rows} rows of {width} {dtype} are not those of the twin"
        kind, codebook = rng.choice(ID_DTYPES), rng.choice((1, 1000, 16384, MOST_CODES))
        ids = stamp_ids(table, _poisoned((table.rows,), kind, cases.device), codebook)
        wanted = stamp_ids_torch(table, _poisoned((table.rows,), kind, cases.device), codebook)
        if not torch.equal(ids, wanted):
            yield f"{table.rows} ids of {codebook} are not those of the twin"


def audits(cases: Cases) -> Iterator[str]:
    """Compare audits with those of the twins, of disturbed rows of many sizes, each read twice."""
    for rng in cases.each():
        table = _table(rng, cases)
        generator = _generator(rng)
        dtype, width = rng.choice(ROW_DTYPES), _width(rng, cases)
        honest = torch.empty((table.rows, width), dtype=dtype, device=cases.device)
        honest = stamp_rows_torch(table, honest)
        order = _disturbed(table, rng, generator).to(cases.device)
        rows = honest[order]
        if len(rows):
            rows[rng.randrange(len(rows)), rng.randrange(width)] = 3
        with _unwaiting(cases.device):
            once, again = audit_rows(rows, table), audit_rows(rows, table)
        if not _same(once, audit_rows_torch(rows, table)):
            yield f"the audit of {len(rows)} rows of {width} {dtype} is not the twin's"
        if not _same(once, again):
            yield f"two audits of {len(rows)} rows of {width} {dtype} differ"
        codebook = rng.choice((2, 1000, 16384, MOST_CODES))
        ids = torch.empty(table.rows, dtype=rng.choice(ID_DTYPES), device=cases.device)
        ids = stamp_ids_torch(table, ids, codebook)[order]
        with _unwaiting(cases.device):
            read = audit_ids(ids, table, codebook)
        if not _same(read, audit_ids_torch(ids, table, codebook)):
            yield f"the audit of {len(ids)} ids of {codebook} is not the twin's"


def provenances(cases: Cases) -> Iterator[str]:
    """Compare whose rows the kernel reads with what the twin reads, among all that could be."""
    for rng in cases.each():
        slots, width, dtype = rng.randint(1, 128), _width(rng, cases), rng.choice(ROW_DTYPES)
        ends = MOST_POSITIONS - 4
        items = [
            (slot, Item(slot, 0, rng.randint(0, 5), rng.choice((0, rng.randrange(ends), ends - 1))))
            for slot in (rng.randint(0, slots) for _ in range(rng.randint(1, 9)))
        ]
        rows = torch.cat([stamped_rows(slot, item, width) for slot, item in items])
        rows = rows[torch.randperm(len(rows), generator=_generator(rng))].to(cases.device, dtype)
        if len(rows):
            rows[rng.randrange(len(rows)), rng.randrange(width)] = 3
        read = read_rows(rows, known(slots, rows.device)).targets
        if not torch.equal(read, targets_torch(rows, slots)):
            yield f"whose {len(rows)} rows of {width} {dtype} are is not what the twin reads"


def plantings(cases: Cases) -> Iterator[str]:
    """Compare audits with what a planter knows that it has done."""
    for rng in cases.each():
        ours, others = some_items(rng)
        table = table_of(ours, others)
        blank = torch.empty(table.rows, rng.randint(8, 40), dtype=rng.choice(ROW_DTYPES))
        stamped = stamp_rows_torch(table, blank)
        planted = planting(ours, others, rng)
        rows = rows_of(planted, stamped, rng).to(cases.device)
        audit = audit_rows(rows, table_of(ours, others, cases.device))
        if (audit.counts.tolist(), audit.first.tolist()) != expected(planted):
            yield f"rows are not as planted: {', '.join(planted.done)} among {ours}"
        codes = torch.empty(table.rows, dtype=rng.choice(ID_DTYPES))
        codes = stamp_ids_torch(table, codes, MOST_CODES)
        ids = ids_of(planted, codes, rng).to(cases.device)
        audit = audit_ids(ids, table_of(ours, others, cases.device), MOST_CODES)
        if (audit.counts.tolist(), audit.first.tolist()) != expected(read_by_pairs(planted)):
            yield f"ids are not as planted: {', '.join(planted.done)} among {ours}"


def far_rows(cases: Cases) -> Iterator[str]:
    """Stamp and audit rows whose numbers lie beyond 2**31; over 4 GB."""
    items = [Item(1, 0, 7), Item(2, 0, FAR_ROWS - 7)]
    table = table_of(items, device=cases.device)
    rows = torch.empty(FAR_ROWS, FAR_WIDTH, dtype=torch.bfloat16, device=cases.device)
    stamp_rows(table, rows)
    for slot, position in ((0, 6), (1, 0), (1, 262_137), (1, FAR_ROWS - 8)):
        cases.done += 1
        row = 7 * slot + position
        if PackedReader(items)(rows[row : row + 1].tolist()) != [Origin(slot, position)]:
            yield f"row {row} of {FAR_WIDTH} columns is not position {position} of item {slot}"
    cases.done += 2
    if audit_rows(rows, table).counts[:, 0].tolist() != [7, FAR_ROWS - 7, 0]:
        yield "honest rows beyond 2**31 numbers are not all right"
    rows[-1, -1] = 0
    if audit_rows(rows, table).first[1].tolist() != [7, -1, -1, FAR_ROWS - 1, -1, FAR_ROWS - 1]:
        yield "the last number of the last row changes unseen"


def _generator(rng: Random) -> torch.Generator:
    return torch.Generator().manual_seed(rng.randrange(2**32))


def _table(rng: Random, cases: Cases) -> ItemTable:
    most = rng.choice(_COUNTS[:3] if cases.device == "cpu" else _COUNTS)
    counts = [rng.choice((0, 1, rng.randint(0, most))) for _ in range(rng.randint(0, 12))]
    items = [
        Item(rng.randrange(2**32), slot, count, first=rng.randrange(10**6))
        for slot, count in enumerate(counts)
    ]
    ours = rng.randint(0, len(items))
    return table_of(items[:ours], items[ours:], cases.device)


def _width(rng: Random, cases: Cases) -> int:
    return rng.choice(_WIDTHS[:3] if cases.device == "cpu" else _WIDTHS)


def _disturbed(table: ItemTable, rng: Random, generator: torch.Generator) -> torch.Tensor:
    """Return rows of the table in an order: honest, turned, drawn at random, or some of each."""
    order = torch.arange(table.rows)
    way = rng.randrange(4)
    if way == 1 or table.rows == 0:
        return order[: table.rows_ours]
    if way == 2:
        return order.roll(rng.randrange(table.rows))
    if way == 3:
        return torch.randint(table.rows, (table.rows_ours,), generator=generator)
    return torch.cat((order[: table.rows // 2], order[table.rows // 3 :]))


def _poisoned(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    poison = float("nan") if dtype.is_floating_point else -1
    return torch.full(shape, poison, dtype=dtype, device=device)


def _same(one: Audit, other: Audit) -> bool:
    return torch.equal(one.counts, other.counts) and torch.equal(one.first, other.first)


@contextlib.contextmanager
def _unwaiting(device: str) -> Iterator[None]:
    """Make it an error to wait for a card, as a copy to the host does."""
    if device != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
