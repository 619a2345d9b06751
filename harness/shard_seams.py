"""Rows of the table of seams: what the ranks of one sequence are told, and exchange.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import CUDA, Device
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.attention_rows import MOST_ROWS
from simulators.exchanged_rows import WIDTH
from simulators.payload import SPLITS

_LINGBOT = "sglang.multimodal_gen.runtime.models.dits.lingbot_world"
_ATTENTION = "harness.consumers.shard_splits:ShardSplits"
_FORWARD = "LingBotWorldCausalSelfAttention.forward"
_MOST_RANKS = 8
#: A group ends a hang of its ranks itself, long before.
_DEADLINE_S = 30.0


def _rows(most: int) -> Dim:
    def accepts(value: str) -> bool:
        counts = value.split(",")
        return (
            2 <= len(counts) <= _MOST_RANKS
            and all(count.isdecimal() for count in counts)
            and 0 < sum(map(int, counts)) <= most
        )

    return Dim(
        f"rows of each rank, in rank order, as in 5,3: 2 to {_MOST_RANKS} ranks, at most {most} "
        "rows in all",
        accepts,
    )


ROWS = _rows(MOST_ROWS)
#: Where a row carries its stamp through, and no attention has to tell the rows apart.
_MANY_ROWS = _rows(1 << 20)
HEADS = Dim("attention heads, 1 to 24", whole_number(1, 24), "12")
TOLD = Dim(
    "all, or the one rank that is told the lie",
    lambda value: value == "all" or value.isdecimal(),
    "all",
    of_lie=True,
)
AFTER = Dim(
    "leaves or stays: what a rank does that has raised",
    one_of("leaves", "stays"),
    "leaves",
    of_lie=True,
)
_STRATEGY = Dim(
    "ulysses, kvgather_replicated, kvgather_sharded or ring",
    one_of("ulysses", "kvgather_replicated", "kvgather_sharded", "ring"),
)


_ENTRY = Dim(
    "fixed-in, varlen-in, fixed-out or varlen-out",
    one_of("fixed-in", "varlen-in", "fixed-out", "varlen-out"),
)
_GATHER = Dim("cut, gather, or both", one_of("cut", "gather", "both"))
#: No wider than a large model's hidden size: with many tokens, what a card has to do.
_WIDTH = Dim("columns of a row in a head, 8 to 16384", whole_number(WIDTH, 16384), str(WIDTH))
_HEAD_DIM = Dim("1 or 2: where the heads stand in the shape", one_of("1", "2"), "2")

#: Lies about splits, whatever the splits are.
_ANY_SPLITS = (
    "omission", "truncation", "duplication-extra", "substitution*", "body-null", "split-*",
    "splits-*",
)  # fmt: skip
#: Lies that change nothing where all splits are alike.
_RAGGED = ("duplication", "duplication-all", "reordering*")
#: A few of each kind, for other sizes and for a lie that one rank alone is told.
_FEW_SPLITS = (
    "omission", "duplication-extra", "body-null", "splits-omitted", "splits-stale", "splits-total",
    "splits-moved", "split-one-less", "split-one-more", "split-zero", "splits-floats",
    "splits-generator",
)  # fmt: skip
#: Lies about splits that are all alike.
_EVEN_SPLITS = (
    "omission", "duplication-extra", "substitution*", "body-null", "split-*", "splits-omitted",
    "splits-stale", "splits-total", "splits-per-request", "splits-ceil", "splits-moved",
    "splits-huge-alike", "splits-negative", "splits-list", "splits-floats", "splits-text*",
    "splits-number", "splits-tensor*", "splits-generator", "splits-by-rank",
)  # fmt: skip
#: Where splits are an argument, no field can be missing.
_NO_FIELD = ("splits-omitted",)
#: A rank whose own split is right takes a negative one of another to its memory: what that ends in
#: is chance.
_UNDEFINED = ("split-minus",)
_LOST = ("flag-lost", "flag-none", "batch-none")
_EXCHANGES = ("exchange-*", "rank-*", "shards-uneven")
_FEW_EXCHANGES = ("exchange-half", "exchange-row-less", "exchange-row-more", "rank-dies")
_GATHERING = ("kvgather_replicated", "kvgather_sharded")
#: A strategy takes the splits, and goes by them only in Ulysses.
_UNREAD = (
    "omission", "body-null", "splits-omitted", "splits-stale", "splits-moved", "splits-number",
    "splits-generator",
)  # fmt: skip


def count_of_ranks(dims: Mapping[str, str]) -> int:
    """Return how many ranks there are."""
    return len(dims["rows"].split(","))


def misfit(dims: Mapping[str, str]) -> str:
    """Return why a combination makes no sense; empty if it does."""
    ranks, heads = count_of_ranks(dims), int(dims["heads"])
    if dims["told"] != "all" and int(dims["told"]) >= ranks:
        return f"told={dims['told']} is no rank of {ranks}"
    if dims.get("strategy", "ulysses") == "ulysses" and heads % ranks:
        return f"heads={heads} cannot be divided by {ranks} ranks"
    if dims.get("strategy", "ulysses") != "ulysses" and len(set(dims["rows"].split(","))) > 1:
        return f"strategy={dims['strategy']} gathers rows: all ranks hold as many"
    return ""


def misfit_of_exchange(dims: Mapping[str, str]) -> str:
    """Return why a combination makes no sense for an exchange; empty if it does."""
    if dims["entry"].startswith("fixed") and len(set(dims["rows"].split(","))) > 1:
        return f"entry={dims['entry']} takes no splits: all ranks hold as many rows"
    return misfit(dims)


def misfit_of_gather(dims: Mapping[str, str]) -> str:
    """Return why a combination makes no sense for a gather; empty if it does."""
    return misfit({**dims, "heads": str(count_of_ranks(dims))})


def lacks_of_ring(dims: Mapping[str, str], device: Device) -> str:
    """Return what is missing for the ring, which needs a kernel that no CPU has."""
    if dims["strategy"] != "ring" or device.tensors == CUDA:
        return ""
    return "strategy=ring needs the flash-attention kernel of CUDA"


SHARD_SEAMS = (
    Seam(
        name="shard-splits",
        consumer=_ATTENTION,
        forms=(SPLITS,),
        modules=((Span(), _LINGBOT),),
        symbol=_FORWARD,
        dims={"rows": ROWS, "heads": HEADS, "told": TOLD, "after": AFTER},
        spaces=(
            Space(
                {"rows": ("5,3",)},
                faults=(*_ANY_SPLITS, *_RAGGED, *_LOST, "row-heads-more", "rank-*"),
                without=_UNDEFINED,
            ),
            Space(
                {"rows": ("4,4",)},
                faults=(*_EVEN_SPLITS, *_LOST, "row-heads-more", "rank-*"),
                without=_UNDEFINED,
            ),
            Space(
                {"rows": ("4,3,1", "4,3,2,1")},
                faults=(*_FEW_SPLITS, *_RAGGED, "splits-floor", "flag-lost", "rank-*"),
                every_place=False,
            ),
            Space(
                {"rows": ("3,3,3", "2,2,2,2")},
                faults=("omission", "split-one-less", "splits-moved", "flag-lost", "rank-away"),
                every_place=False,
            ),
            Space({"rows": ("8,0", "0,8")}, faults=("reordering", "split-one-more")),
            Space(
                {"rows": ("5,3", "4,4"), "told": ("0", "1")},
                faults=(*_FEW_SPLITS, *_LOST),
                every_place=False,
            ),
            Space(
                {"rows": ("5,3",), "told": ("0", "1"), "after": ("stays",)},
                faults=("splits-omitted", "split-one-less", "splits-floats"),
                every_place=False,
            ),
            Space(
                {"rows": ("5,3",), "after": ("stays",)},
                faults=("splits-omitted", "split-one-less", "rank-dies"),
                every_place=False,
            ),
        ),
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit,
    ),
    Seam(
        name="shard-strategy",
        consumer=_ATTENTION,
        forms=(SPLITS,),
        modules=((Span(), _LINGBOT),),
        symbol="lingbot_sp_strategy",
        dims={"rows": ROWS, "heads": HEADS, "strategy": _STRATEGY, "told": TOLD, "after": AFTER},
        spaces=(
            Space(
                {"rows": ("4,4",), "strategy": _GATHERING},
                faults=(*_UNREAD, *_LOST, "rank-*", "shards-uneven"),
                every_place=False,
            ),
            Space(
                {"rows": ("3,3,3", "2,2,2,2"), "strategy": _GATHERING},
                faults=("splits-omitted", "flag-lost", "shards-uneven"),
            ),
            Space(
                {"rows": ("4,4", "5,3"), "strategy": ("ulysses",), "told": ("all", "0", "1")},
                faults=("strategy-unknown", "strategy-empty"),
            ),
            Space(
                {"rows": ("4,4",), "strategy": ("ulysses",), "told": ("0", "1")},
                faults=("strategy-replicated", "strategy-sharded"),
            ),
            Space(
                {"rows": ("4,4",), "strategy": ("kvgather_replicated",), "told": ("0", "1")},
                faults=("strategy-ulysses", "strategy-sharded", "strategy-empty", "flag-lost"),
            ),
            Space(
                {"rows": ("4,4",), "strategy": ("kvgather_sharded",), "told": ("0", "1")},
                faults=("strategy-ulysses", "strategy-unknown", "splits-omitted"),
            ),
            Space({"rows": ("4,4",), "strategy": ("ulysses",)}, faults=("strategy-spaced",)),
            Space(
                {"rows": ("4,4",), "strategy": ("ring",)},
                faults=("splits-omitted", "flag-lost", "rank-away", "shards-uneven"),
                every_place=False,
            ),
        ),
        lacks=lacks_of_ring,
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit,
    ),
    Seam(
        name="shard-kv-guard",
        consumer=_ATTENTION,
        forms=(SPLITS,),
        modules=((Span(), _LINGBOT),),
        symbol=_FORWARD,
        dims={"rows": ROWS, "heads": HEADS, "told": TOLD, "after": AFTER},
        spaces=(
            Space({"rows": ("4,4", "5,3", "3,3,2", "2,2,2,2")}, scopes=("cache",)),
            Space({"rows": ("4,4", "5,3"), "told": ("0", "1")}, scopes=("cache",)),
        ),
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit,
    ),
    Seam(
        name="shard-all-to-all",
        consumer="harness.consumers.shard_all_to_all:ShardAllToAll",
        forms=(SPLITS,),
        modules=((Span(), "sglang.multimodal_gen.runtime.layers.usp"),),
        symbol="_usp_input_all_to_all_varlen",
        dims={
            "rows": _MANY_ROWS,
            "heads": HEADS,
            "entry": _ENTRY,
            "head_dim": _HEAD_DIM,
            "width": _WIDTH,
            "told": TOLD,
            "after": AFTER,
        },
        spaces=(
            Space(
                {"rows": ("5,3",), "entry": ("varlen-in",)},
                faults=(*_ANY_SPLITS, *_RAGGED, *_EXCHANGES),
                without=(*_NO_FIELD, *_UNDEFINED),
            ),
            Space(
                {"rows": ("5,3",), "entry": ("varlen-out",)},
                faults=(*_ANY_SPLITS, *_RAGGED, *_EXCHANGES),
                without=_NO_FIELD,
            ),
            Space({"rows": ("5,3",), "entry": ("varlen-in",)}, faults=("row-heads-more",)),
            Space({"rows": ("4,4",), "entry": ("fixed-in", "fixed-out")}, faults=_EXCHANGES),
            Space({"rows": ("4,4",), "entry": ("fixed-in",)}, faults=("row-heads-more",)),
            Space(
                {"rows": ("5,3",), "entry": ("varlen-in", "varlen-out"), "head_dim": ("1",)},
                faults=(*_FEW_SPLITS, "reordering", *_FEW_EXCHANGES),
                without=_NO_FIELD,
                every_place=False,
            ),
            Space(
                {"rows": ("4,4",), "entry": ("fixed-in", "fixed-out"), "head_dim": ("1",)},
                faults=_FEW_EXCHANGES,
                every_place=False,
            ),
            Space(
                {"rows": ("4,3,1", "4,3,2,1"), "entry": ("varlen-in", "varlen-out")},
                faults=("omission", "reordering", "splits-moved", *_FEW_EXCHANGES),
                every_place=False,
            ),
            Space(
                {"rows": ("3,3,3", "2,2,2,2"), "entry": ("fixed-in", "fixed-out")},
                faults=_FEW_EXCHANGES,
                every_place=False,
            ),
            Space(
                {
                    "rows": ("5,3",),
                    "entry": ("varlen-in", "varlen-out"),
                    "told": ("0", "1"),
                },
                faults=("omission", "reordering", "splits-floats", "exchange-flat"),
                every_place=False,
            ),
            Space(
                {"rows": ("4,4",), "entry": ("fixed-in", "fixed-out"), "told": ("0", "1")},
                faults=("exchange-half", "exchange-flat", "exchange-row-less"),
            ),
        ),
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit_of_exchange,
    ),
    Seam(
        name="shard-gather",
        consumer="harness.consumers.shard_gather:ShardGather",
        forms=(SPLITS,),
        modules=((Span(), _LINGBOT),),
        symbol="_sequence_all_gather_varlen",
        dims={
            "rows": _MANY_ROWS,
            "entry": _GATHER,
            "width": _WIDTH,
            "told": TOLD,
            "after": AFTER,
        },
        spaces=(
            Space(
                {"rows": ("5,3",), "entry": ("gather",)},
                faults=(*_ANY_SPLITS, *_RAGGED, "rank-*"),
                without=_NO_FIELD,
            ),
            Space(
                {"rows": ("5,3",), "entry": ("both",)},
                faults=(*_FEW_SPLITS, "reordering", "substitution", "splits-negative", "rank-*"),
                without=_NO_FIELD,
            ),
            Space(
                {"rows": ("5,3", "4,4"), "entry": ("gather",)},
                faults=("rows-*", "shards-uneven"),
            ),
            Space(
                {"rows": ("5,3",), "entry": ("cut",)},
                faults=(*_ANY_SPLITS, *_RAGGED),
                without=_NO_FIELD,
            ),
            Space(
                {"rows": ("4,4",), "entry": ("gather",)},
                faults=_EVEN_SPLITS,
                without=_NO_FIELD,
            ),
            Space(
                {"rows": ("4,4",), "entry": ("cut", "both")},
                faults=_FEW_SPLITS,
                without=_NO_FIELD,
                every_place=False,
            ),
            Space(
                {"rows": ("5,4", "4,3,2,1"), "entry": ("gather", "cut", "both")},
                faults=("splits-floor", "splits-ceil", "reordering", "omission"),
                every_place=False,
            ),
            Space(
                {"rows": ("4,3,1", "3,3,3"), "entry": ("gather", "both")},
                faults=("splits-moved", "split-one-less", "split-one-more", "rank-away"),
                every_place=False,
            ),
            Space(
                {"rows": ("5,3", "4,4"), "entry": ("gather",), "told": ("0", "1")},
                faults=("splits-moved", "splits-stale", "omission", "splits-floats"),
                every_place=False,
            ),
        ),
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit_of_gather,
    ),
)
