"""Options that several commands have, and how each writes what it found."""

from enum import StrEnum
from typing import Annotated

import typer

from contracts.releases import NEWEST


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


class Plain(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"


class Listed(StrEnum):
    """How a list is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


_SOURCE_HELP = "A release (0.5.23), a path to a checkout, git:PATH@REF, or installed."
SourceArgument = Annotated[str | None, typer.Argument(help=_SOURCE_HELP, show_default=NEWEST)]
SourceOption = Annotated[str | None, typer.Option("--sglang", help="The source, as an option.")]
DeviceOption = Annotated[
    str,
    typer.Option(
        help="Where tensors live and kernels run: auto, cpu, interpreter (kernels in Triton's "
        "interpreter, even where there is a card) or cuda."
    ),
]
