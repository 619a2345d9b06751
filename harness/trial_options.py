"""The options of `seamproof try`, and which of them a user has typed."""

from pathlib import Path
from typing import Annotated

import typer

SeamArgument = Annotated[
    str, typer.Argument(help="The seam: ar-batch, shard-splits, encoder-slice, ...")
]
ReplyOption = Annotated[
    Path | None, typer.Option(help="A file with the body of the reply, or the rows.")
]
PromptsOption = Annotated[int, typer.Option(min=1, max=64, help="How many were asked for.")]
SizeOption = Annotated[str, typer.Option(help="Width x height in pixels.")]
StatusOption = Annotated[int, typer.Option(help="HTTP status of the reply.")]
ContentTypeOption = Annotated[str, typer.Option(help="Content type of the reply.")]
StampedOption = Annotated[
    bool, typer.Option("--stamped", help="The ids are stamped: judge whose they are, too.")
]
SplitsOption = Annotated[
    str | None,
    typer.Option(
        help="At a seam of shards: what every rank is told. Ints, floats (5.0), words; none "
        '(null), omitted (no such field), "" (empty).',
        metavar="5,3",
    ),
]
RankSplitsOption = Annotated[
    str | None, typer.Option(help="What each rank is told: one list a rank.", metavar="5,3/4,4")
]
LengthsOption = Annotated[
    str | None, typer.Option(help="Rows that each rank holds, in rank order.", metavar="4,4")
]
CountsOption = Annotated[
    str | None,
    typer.Option(
        help="At a seam of the encoder: the count that is told of each item, or its placeholders.",
        metavar="2,4",
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        help="Rows that the encoder makes: of all items, or of each. As counted by default.",
        metavar="7",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Beside splits or counts: entry=gather, heads=8, pictures=2,4 or another dimension of "
        "the seam; seamproof explain SEAM lists them. May be repeated.",
        metavar="KEY=VALUE",
    ),
]
EXAMPLES = (
    "Examples: seamproof try ar-batch --prompts 3 --reply body.json; "
    "seamproof try shard-splits --splits 5,3 --lengths 4,4; "
    "seamproof try encoder-slice --counts 2,4 --rows 7; "
    "seamproof try shard-gather --rank-splits 5,3/none --lengths 5,3 --set entry=both"
)


def typed(context: typer.Context) -> list[str]:
    """Return the options that stand on the command line, as they are typed."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    there = [name for name, given in sources.items() if given and given.name == "COMMANDLINE"]
    return [f"--{name.replace('_', '-')}" for name in there]
