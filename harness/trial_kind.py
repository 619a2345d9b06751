"""What a seam takes in a trial: a payload from a file, splits, or counts and rows."""

from collections.abc import Iterable
from enum import Enum

from harness.case import seam_named
from harness.errors import UsageError
from harness.seam import Seam
from simulators.payload import ANSWER, EMBEDDINGS, PLACEHOLDERS, REPLY, ROWS, SPLITS


class Kind(Enum):
    """What a user's own payload is made of: the forms that it has, its options, and the mend."""

    FILE = (
        (REPLY, ANSWER, ROWS),
        ("--reply", "--prompts", "--size", "--status", "--content-type", "--stamped"),
        "--reply",
    )
    SPLITS = (
        (SPLITS,),
        ("--splits", "--rank-splits", "--lengths", "--set"),
        "--splits or --rank-splits, and --lengths",
    )
    COUNTS = (
        (EMBEDDINGS, PLACEHOLDERS),
        ("--counts", "--rows", "--set"),
        "--counts and --rows",
    )

    def __init__(self, forms: tuple[str, ...], options: tuple[str, ...], mend: str) -> None:
        self.forms = forms
        self.options = options
        self.mend = mend


def kind_of(name: str, typed: Iterable[str]) -> Kind:
    """Return what is tried at a seam.

    Args:
        name: The seam.
        typed: The options that the user has typed.

    Raises:
        UsageError: if there is no such seam, it takes nothing of the kind, an option means
            nothing for it, or there is no file.
    """
    seam = seam_named(name)
    kind = kind_of_seam(seam)
    known = {option for one in Kind for option in one.options}
    for option in typed:
        if option in known and option not in kind.options:
            raise UsageError(f"{option} means nothing for {name}: it takes {kind.mend}")
    if kind is Kind.FILE and "--reply" not in typed:
        raise UsageError(
            f"try {name} needs --reply: a file with the body of the reply, or the rows"
        )
    return kind


def kind_of_seam(seam: Seam) -> Kind:
    """Return what is tried at a seam.

    Raises:
        UsageError: if it takes nothing of the kind.
    """
    for kind in Kind:
        if set(seam.forms) & set(kind.forms):
            return kind
    raise UsageError(
        f"seam {seam.name!r} takes no payload of your own: its form is {seam.forms[0]}; "
        "seamproof run takes a fault of your own, FILE.py::FUNCTION"
    )
