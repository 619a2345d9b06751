"""Rows of the table of seams: what the ranks of one sequence are told, and exchange.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.attention_rows import MOST_ROWS
from simulators.payload import SPLITS

_LINGBOT = "sglang.multimodal_gen.runtime.models.dits.lingbot_world"
_ATTENTION = "harness.consumers.shard_splits:ShardSplits"
_FORWARD = "LingBotWorldCausalSelfAttention.forward"
_MOST_RANKS = 8
#: One group and its golden run; a hang in it is ended by the group itself.
_DEADLINE_S = 20.0


def _rows(value: str) -> bool:
    counts = value.split(",")
    return (
        2 <= len(counts) <= _MOST_RANKS
        and all(count.isdecimal() for count in counts)
        and 0 < sum(map(int, counts)) <= MOST_ROWS
    )


ROWS = Dim(f"rows of each rank, in rank order, as in 5,3; at most {MOST_ROWS} in all", _rows)
HEADS = Dim("attention heads, 1 to 24", whole_number(1, 24), "12")
TOLD = Dim(
    "all, or the one rank that is told the lie", lambda v: v == "all" or v.isdecimal(), "all"
)
AFTER = Dim(
    "leaves or stays: what a rank does that has raised", one_of("leaves", "stays"), "leaves"
)
_STRATEGY = Dim(
    "ulysses, kvgather_replicated, kvgather_sharded or ring",
    one_of("ulysses", "kvgather_replicated", "kvgather_sharded", "ring"),
)


_ENTRY = Dim(
    "fixed-in, varlen-in, fixed-out or varlen-out",
    one_of("fixed-in", "varlen-in", "fixed-out", "varlen-out"),
)
_HEAD_DIM = Dim("1 or 2: where the heads stand in the shape", one_of("1", "2"), "2")

_OF_ROWS = ("exchange", "ranks", "shards")
_OF_SPLITS = ("records", "items", "splits", "body", *_OF_ROWS)


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
                scopes=("records", "items", "splits", "body", "batch", "ranks"),
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
        modules=((Span("0.5.23"), _LINGBOT),),
        symbol="lingbot_sp_strategy",
        dims={"rows": ROWS, "heads": HEADS, "strategy": _STRATEGY, "told": TOLD, "after": AFTER},
        spaces=(Space({"rows": ("4,4",), "strategy": ("kvgather_replicated",)}),),
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
            "rows": ROWS,
            "heads": HEADS,
            "entry": _ENTRY,
            "head_dim": _HEAD_DIM,
            "told": TOLD,
            "after": AFTER,
        },
        spaces=(
            Space({"rows": ("5,3",), "entry": ("varlen-in", "varlen-out")}, scopes=_OF_SPLITS),
            Space({"rows": ("4,4",), "entry": ("fixed-in", "fixed-out")}, scopes=_OF_ROWS),
        ),
        deadline_s=_DEADLINE_S,
        count=count_of_ranks,
        misfit=misfit_of_exchange,
    ),
)
