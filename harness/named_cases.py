"""Cases with a name: those retold from public reports, and those that a user has kept.

A user's are kept in `seamproof-cases.json` in the current folder, written whole or not at all.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from harness.case import Case, parse
from harness.errors import UsageError, unknown
from harness.verdict import Verdict

KEPT = Path("seamproof-cases.json")


@dataclass(frozen=True)
class Named:
    """One case with a name, and what it retells."""

    line: str
    #: What the newest release does with it.
    verdict: Verdict
    story: str


#: Public reports, retold as small inputs; `docs/wild.md` says which are not here, and why.
REPORTED = {
    "B01": Named(
        "image-resolution canvas-twelve-less shape=512x512",
        Verdict.TOLERATED,
        "500x500 is rounded one way before the AR server and another way before the denoiser",
    ),
    "B03a": Named(
        "ar-batch duplication-extra records=2 shape=64x96 at=1",
        Verdict.REFUSED,
        "an over-long prompt of a batch is answered twice: three outputs for two prompts",
    ),
    "B03b": Named(
        "ar-batch omission records=3 shape=64x96 at=1",
        Verdict.REFUSED,
        "an over-long prompt of a batch is dropped: two outputs for three prompts",
    ),
    "B03c": Named(
        "ar-batch duplication records=3 shape=64x96 at=1,2",
        Verdict.SILENT,
        "one output doubled and one dropped: the count is right, and a prompt gets another's",
    ),
    "B05": Named(
        "ar-batch truncation records=4 shape=64x96 entry=forward outputs=4 at=1",
        Verdict.REFUSED,
        "n=4 is accepted and ignored: one output for four",
    ),
    "B06": Named(
        "ar-tokens ids-prompt-front shape=1024x1024",
        Verdict.SILENT,
        "output_ids begin with the prompt's last five: every token stands five places off",
    ),
    "B09": Named(
        "ar-tokens finish-error+ids-empty shape=64x96 at=0;0",
        Verdict.REFUSED,
        "status 200, no ids, and a finish reason that says error",
    ),
    "B10": Named(
        "ar-tokens item-aborted+ids-half shape=1024x1024 at=0;0",
        Verdict.REFUSED,
        "an aborted request is answered with status 200 and half of the ids",
    ),
    "B10full": Named(
        "ar-single item-aborted shape=64x96",
        Verdict.TOLERATED,
        "an aborted request is answered with all of the ids: the finish reason is not read",
    ),
    "B11": Named(
        "ar-batch body-error records=8 shape=64x64",
        Verdict.REFUSED,
        "a proxy wraps an error into status 200",
    ),
    "B12": Named(
        "ar-transport html-504 shape=64x96",
        Verdict.REFUSED,
        "a gateway answers with its time-out page and status 504",
    ),
    "B12ok": Named(
        "ar-transport html-200 shape=64x96",
        Verdict.MISREPORTED,
        "a gateway answers with its time-out page and status 200",
    ),
    "B14": Named(
        "ar-transport error-404 shape=64x96",
        Verdict.REFUSED,
        "another process on the port is healthy, and has no such path",
    ),
    "B14old": Named(
        "ar-batch substitution records=2 shape=64x96 at=1",
        Verdict.SILENT,
        "another process on the port answers, with other weights",
    ),
    "B35": Named(
        "shard-gather splits-floor rows=5,4 entry=both",
        Verdict.SILENT,
        "a sequence is shared out by floor division: no rank holds the row that is left over",
    ),
    "B36": Named(
        "shard-gather split-one-more+split-one-more rows=5,3 entry=gather at=0;1",
        Verdict.SILENT,
        "every shard is counted with a row of padding: more is gathered than was shared out",
    ),
    "B36ceil": Named(
        "shard-gather splits-ceil rows=5,4 entry=both",
        Verdict.CRASHED,
        "equal shards of the rounded-up size, where the last rank has a row less",
    ),
    "B37": Named(
        "shard-gather rows-joined rows=4,4 entry=gather",
        Verdict.SILENT,
        "each rank joins its part of the noise and its part of the image, and calls it one run",
    ),
    "B38": Named(
        "shard-gather rows-repeated rows=4,4 entry=gather",
        Verdict.SILENT,
        "text that every rank holds whole is counted as if it were shared out",
    ),
    "B42": Named(
        "shard-splits rank-away rows=5,3 at=0",
        Verdict.HUNG,
        "one rank has dropped a request that the others kept, and never comes to the exchange",
    ),
    "B44": Named(
        "shard-all-to-all shards-uneven rows=4,4 entry=fixed-in",
        Verdict.CRASHED,
        "a collective over unequal shapes",
    ),
    "B45": Named(
        "shard-splits split-one-less rows=5,3 at=0",
        Verdict.MISREPORTED,
        "a count off by one ends one rank, and the others with it",
    ),
    "B45stays": Named(
        "shard-splits split-one-less rows=5,3 after=stays at=0",
        Verdict.HUNG,
        "the same, where the rank goes on to the next request and the others wait for it",
    ),
    "B51": Named(
        "ar-batch item-extra-field records=2 shape=64x96 at=0",
        Verdict.TOLERATED,
        "one release adds a field that is always null",
    ),
    "B55": Named(
        "ar-batch duplication-all records=3 shape=64x96 at=0",
        Verdict.SILENT,
        "a later stage reads only the first entry of a batch",
    ),
    "collapse": Named(
        "ar-tokens ids-few-distinct shape=256x256",
        Verdict.SILENT,
        "a collapsed sampler: fifteen distinct ids in all of a picture",
    ),
}


def kept() -> dict[str, str]:
    """Return the lines that a user has kept, by name.

    Raises:
        UsageError: if the file is no such list.
    """
    if not KEPT.is_file():
        return {}
    try:
        value = json.loads(KEPT.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{KEPT} cannot be read: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise UsageError(f"{KEPT} is no list of cases: expected an object of name to line")
    return value


def check_name(name: str) -> None:
    """See that a case can be kept under a name, before it is looked for.

    Raises:
        UsageError: if the name is no single word, or is a reported case's.
    """
    if not name.isidentifier():
        raise UsageError(f"--keep {name}: a name is one word of letters, digits and _")
    if name in REPORTED:
        raise UsageError(f"--keep {name}: the name is taken")


def keep(name: str, case: Case) -> None:
    """Keep a case under a name.

    Raises:
        UsageError: if the name is taken, is no single word, or the file cannot be written.
    """
    names = kept()
    check_name(name)
    if names.get(name, case.line) != case.line:
        raise UsageError(f"--keep {name}: the name is taken")
    text = json.dumps({**names, name: case.line}, indent=1, sort_keys=True) + "\n"
    beside = KEPT.with_suffix(".writing")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(KEPT)
    except OSError as error:
        raise UsageError(f"{KEPT} cannot be written: {error.strerror}") from error


def case_of(text: str) -> Case:
    """Return the case that a line or a name stands for.

    Raises:
        UsageError: if it is neither.
    """
    if " " in text.strip():
        return parse(text)
    names = kept()
    if text in REPORTED:
        return parse(REPORTED[text].line)
    if text in names:
        return parse(names[text])
    if text.isidentifier():
        raise unknown("case", text, [*REPORTED, *names])
    return parse(text)
