"""Cases with a name: those retold from public reports, and those that a user has kept.

A user's are kept in `seamproof-cases.json` in the current folder, written whole or not at all.
"""

import json
from pathlib import Path

from harness.case import Case, parse
from harness.errors import UsageError, unknown
from harness.reported_cases import REPORTED

KEPT = Path("seamproof-cases.json")


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
