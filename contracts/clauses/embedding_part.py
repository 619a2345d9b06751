"""What must hold of the parts in which an encoder's embedding arrives, one after the other.

- A part is an `EmbeddingData`, and says how many parts there are and which of them it is.
- All parts of a request say one request and one number, and each comes once.
- Its modality is one of three, and its grid says how many rows it has.
- All rows of a modality have one width and one dtype, and row k is the request's row k.

A part holds `kind`, `request`, `num_parts`, `part_idx`, `modality` (a name; `as_text`: sent as
that text and not as the member of the enumeration), `grid`, `embedding` (rows, columns) and
`shape` (None: the embedding's own). The request says `request`, `modalities` and `grids` (of each
part), `width` and `dtype`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from contracts.clauses.token_rows import is_tensor
from contracts.contract import Clause, Guard, OwnerOf, Unchecked, Violation

PART = "EmbeddingData"
#: What the rows of a modality are called.
PLURAL = {"IMAGE": "images", "VIDEO": "videos", "AUDIO": "audios"}
#: Cells of a grid that become one row, two by two; frames of audio that do.
CELLS, FRAMES = 4, 2

Found = Iterator[Violation | Unchecked]
#: What upstream says of a part's head, by the name of the clause that it breaks.
TEXTS = {
    "part-kind": "expected EmbeddingData, got {got}",
    "part-count-positive": "num_parts must be a positive integer",
    "part-index-within": "part_idx must be in [0, {count}), got {got}",
    "part-same-request": "embedding req_id mismatch: expected {expected}, got {got}",
    "part-count-same": "num_parts changed from {expected} to {got}",
    "part-once": "duplicate embedding part {index}",
    "part-modality-known": "Invalid modality: {got}",
}
#: Makes the guards of a text that upstream raises with, from the function that raises.
Guarded = Callable[[str, str], tuple[Guard, ...]]


@dataclass(frozen=True)
class PartClauses:
    """The clauses of one part's head, as one seam guards them."""

    kind: Clause
    count_positive: Clause
    index_within: Clause
    same_request: Clause
    count_same: Clause
    once: Clause
    modality_known: Clause

    @property
    def all(self) -> tuple[Clause, ...]:
        """All clauses of this module, in the order in which upstream meets them."""
        return (
            self.kind, self.count_positive, self.index_within, REQUEST_ASKED, self.same_request,
            self.count_same, self.once, self.modality_known, GRID_KIND, NONE_FOLLOWS,
            PARTS_COMPLETE, *BODY_CLAUSES,
        )  # fmt: skip


def part_clauses(guarded: Guarded, known: Guarded) -> PartClauses:
    """Return the clauses of a part's head.

    Args:
        guarded: Makes the guards of the checks of a part.
        known: Makes those of the check of the modality.
    """
    check = "_validate_embedding_part"

    def clause(name: str, sentence: str) -> Clause:
        return Clause(name, sentence, guarded(TEXTS[name], check))

    modality = "part-modality-known"
    return PartClauses(
        clause("part-kind", f"A part is an `{PART}`."),
        clause("part-count-positive", "The number of parts is a positive int."),
        clause("part-index-within", "A part's index is an int below the number of parts."),
        clause("part-same-request", "All parts say the request of the first."),
        clause("part-count-same", "All parts say the number of parts that the first says."),
        clause("part-once", "Each part comes once."),
        Clause(
            modality,
            "The modality is an image, a video or audio.",
            known(TEXTS[modality], "MultiModalEmbeddingData._set_part_grid"),
        ),
    )


REQUEST_ASKED = Clause("part-request-asked", "The first part says the request that waits for it.")
GRID_KIND = Clause("part-grid-kind", "A grid is a tensor.")
NONE_FOLLOWS = Clause("parts-none-follow", "Nothing follows once every part has come.")
PARTS_COMPLETE = Clause("parts-complete", "Every part comes.")
EMBEDDING_THERE = Clause("part-embedding-there", "A part brings its rows.")
ROW_WIDTH = Clause("part-row-width", "The rows of all parts have the model's width.")
ROW_DTYPE = Clause("part-row-dtype", "The rows of all parts have the model's dtype.")
SHAPE_TRUE = Clause("part-shape-true", "The shape that a part says is that of its rows.")
GRID_ASKED = Clause("part-grid-asked", "A part's grid is that of the items asked for.")
ROWS_FIT = Clause("part-rows-fit", "A part has as many rows as its grid says.")
MODALITY_ASKED = Clause("part-modality-asked", "A part has the modality of the items asked for.")
ROW_IDENTITY = Clause("part-row-identity", "Row k is the request's row k.", identity=True)

BODY_CLAUSES = (
    EMBEDDING_THERE, ROW_WIDTH, ROW_DTYPE, SHAPE_TRUE, GRID_ASKED, ROWS_FIT, MODALITY_ASKED,
    ROW_IDENTITY,
)  # fmt: skip


class Gathering:
    """Which places of how many are taken, by which part: of a receiver that checks nothing."""

    def __init__(self) -> None:
        self.count: Any = None
        self.request = ""
        self.slots = 0
        self.taken: dict[int, Mapping[str, Any]] = {}

    @property
    def begun(self) -> bool:
        """Whether a part has come."""
        return bool(self.request)

    @property
    def complete(self) -> bool:
        """Whether every part has come."""
        return self.begun and len(self.taken) == self.count

    def take(self, part: Mapping[str, Any]) -> None:
        """Take a part. One of another request is left out; an index counts from the end too."""
        index = part["part_idx"]
        if not self.begun:
            self.request, self.count = part["request"], part["num_parts"]
            self.slots = int(self.count) if isinstance(self.count, int) else 0
            if isinstance(index, int) and 0 <= index < self.slots:
                self.taken[int(index)] = part
        elif self.request == part["request"] and isinstance(index, int) and self.slots:
            self.taken[index % self.slots] = part


def walk_head(part: Mapping[str, Any], so_far: Gathering, asked: str, where: str,
              clauses: PartClauses) -> Iterator[Violation]:  # fmt: skip
    """Yield what one part's head breaks, and let it be gathered."""
    if part["kind"] != PART:
        fields = {"got": part["kind"]}
        yield Violation(clauses.kind, where, PART, part["kind"], fields, ("AttributeError",))
        return
    yield from _walk_numbers(part, so_far, where, clauses)
    yield from _walk_sameness(part, so_far, asked, where, clauses)
    modality, grid = part["modality"], part["grid"]
    if modality not in PLURAL or part["as_text"]:
        fields = {"got": modality}
        yield Violation(clauses.modality_known, where, "a modality", repr(modality), fields)
    elif grid is not None and not is_tensor(grid):
        # Only that of audio is asked for what a tensor alone has.
        accident = ("AttributeError",) if modality == "AUDIO" else ()
        kind = type(grid).__name__
        yield Violation(GRID_KIND, f"{where}.grid", "a tensor", kind, incidental=accident)
    elif grid is None and modality == "AUDIO":
        asked_for = ("AttributeError",)
        yield Violation(GRID_KIND, f"{where}.grid", "a tensor", "nothing", incidental=asked_for)
    so_far.take(part)


def _walk_numbers(
    part: Mapping[str, Any], so_far: Gathering, where: str, clauses: PartClauses
) -> Iterator[Violation]:
    count, index = part["num_parts"], part["part_idx"]
    if type(count) is not int or count <= 0:
        yield Violation(
            clauses.count_positive, f"{where}.num_parts", "a positive int", repr(count),
            incidental=() if so_far.begun else _accident_of_count(count),
        )  # fmt: skip
    if type(index) is not int or type(count) is not int or not 0 <= index < count:
        slots = so_far.slots if so_far.begun else count
        yield Violation(
            clauses.index_within, f"{where}.part_idx", f"an index below {count}", repr(index),
            {"count": count, "got": index}, _accident_of_index(index, slots),
        )  # fmt: skip


def _accident_of_count(count: Any) -> tuple[str, ...]:
    if not isinstance(count, int):
        return ("TypeError",)
    return () if count > 0 else ("IndexError",)


def _accident_of_index(index: Any, slots: Any) -> tuple[str, ...]:
    if not isinstance(index, int):
        return ("TypeError",)
    within = isinstance(slots, int) and -slots <= index < slots
    return () if within else ("IndexError",)


def _walk_sameness(part: Mapping[str, Any], so_far: Gathering, asked: str, where: str,
                   clauses: PartClauses) -> Iterator[Violation]:  # fmt: skip
    request, count, index = part["request"], part["num_parts"], part["part_idx"]
    if not so_far.begun:
        if request != asked:
            yield Violation(REQUEST_ASKED, where, asked, request)
        return
    if request != so_far.request:
        fields = {"expected": so_far.request, "got": request}
        yield Violation(clauses.same_request, where, so_far.request, request, fields)
    if count != so_far.count:
        fields = {"expected": so_far.count, "got": count}
        yield Violation(clauses.count_same, where, str(so_far.count), repr(count), fields)
    if isinstance(index, int) and so_far.slots and index % so_far.slots in so_far.taken:
        # A part of another request is left out before anyone looks where it stands.
        accident = ("AssertionError",) if request == so_far.request else ()
        beyond = index >= so_far.slots or index < -so_far.slots
        yield Violation(
            clauses.once, where, "another part", f"part {index} again", {"index": index},
            ("IndexError",) if beyond and accident else accident,
        )  # fmt: skip


def rows_of(modality: str, grid: Sequence[Any]) -> int:
    """Return how many rows a grid stands for."""
    if modality == "AUDIO":
        return sum(int(frames) // FRAMES for frames in grid)
    return sum(prod(item) // CELLS for item in grid)


def walk_bodies(
    gathered: Mapping[int, Mapping[str, Any]], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Found:
    """Yield what the rows and grids of all parts break, in the order of the parts."""
    if owner_of is None:
        yield Unchecked(ROW_IDENTITY, "whose a row is can be told only by a stamp reader")
    first: dict[str, int] = {}
    for index, (modality, grid) in enumerate(
        zip(request["modalities"], request["grids"], strict=True)
    ):
        start = first.get(modality, 0)
        first[modality] = start + rows_of(modality, grid)
        if index in gathered:
            part, where = gathered[index], f"part {index}"
            others = [gathered[i] for i in gathered if i != index]
            yield from _walk_rows(part, others, request, where)
            yield from _walk_grid(part, others, modality, grid, where)
            if owner_of is not None:
                yield from _walk_owners(part, request, start, where, owner_of)


def _walk_rows(part: Mapping[str, Any], others: Sequence[Mapping[str, Any]],
               request: Mapping[str, Any], where: str) -> Iterator[Violation]:  # fmt: skip
    rows, said = part["embedding"], part["shape"]
    if rows is None:
        yield Violation(EMBEDDING_THERE, where, "rows", "nothing")
        return
    shape = tuple(rows.shape)
    if shape[1:] != (request["width"],):
        # They are joined with the rows of the other parts, if there are any.
        joined = [o for o in others if o["modality"] == part["modality"]]
        accident = ("RuntimeError",) if any(o["embedding"] is not None for o in joined) else ()
        yield Violation(ROW_WIDTH, where, str(request["width"]), str(shape), incidental=accident)
    if str(rows.dtype) != request["dtype"]:
        yield Violation(ROW_DTYPE, where, request["dtype"], str(rows.dtype))
    if said is not None and tuple(said) != shape:
        yield Violation(SHAPE_TRUE, f"{where}.shape", str(shape), str(tuple(said)))


def _walk_grid(part: Mapping[str, Any], others: Sequence[Mapping[str, Any]], modality: str,
               asked: Sequence[Any], where: str) -> Iterator[Violation]:  # fmt: skip
    grid, rows = part["grid"], part["embedding"]
    values = grid.tolist() if is_tensor(grid) else grid
    if values != list(asked):
        yield Violation(
            GRID_ASKED, f"{where}.grid", str(asked), str(values),
            incidental=_accident_of_grid(part, others),
        )  # fmt: skip
    known = part["modality"] in PLURAL and values and _is_grid(part["modality"], values)
    if known and rows is not None and len(rows) != rows_of(part["modality"], values):
        expected = rows_of(part["modality"], values)
        yield Violation(ROWS_FIT, where, f"{expected} rows", str(len(rows)))
    if part["modality"] != modality:
        yield Violation(MODALITY_ASKED, where, modality, str(part["modality"]))


def _accident_of_grid(
    part: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    def columns(one: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(one["grid"].shape[1:])

    if not is_tensor(part["grid"]) or part["modality"] == "AUDIO":
        return ()
    joined = [o for o in others if o["modality"] == part["modality"] and is_tensor(o["grid"])]
    return ("RuntimeError",) if any(columns(o) != columns(part) for o in joined) else ()


def _is_grid(modality: str, values: Sequence[Any]) -> bool:
    depth = 1 if isinstance(values[0], list) else 0
    return depth == (modality != "AUDIO")


def _walk_owners(part: Mapping[str, Any], request: Mapping[str, Any], start: int, where: str,
                 owner_of: OwnerOf) -> Iterator[Violation]:  # fmt: skip
    rows = part["embedding"]
    if rows is None or tuple(rows.shape[1:]) != (request["width"],):
        return
    owner = f"{request['request']}'s {PLURAL.get(part['modality'], 'rows')}"
    for row, origin in enumerate(owner_of(rows.tolist())):
        if origin != (owner, start + row):
            said = "no known stamp" if origin is None else f"{origin.owner}, row {origin.position}"
            wanted = f"{owner}, row {start + row}"
            yield Violation(ROW_IDENTITY, f"{where}, row {row}", wanted, said)
            return
