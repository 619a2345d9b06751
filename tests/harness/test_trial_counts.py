"""A user's own counts and rows on the real consumer: what the command says, and how it ends."""

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import UsageError
from harness.given_counts import Counts, counts_of
from harness.given_faults import fault_named
from harness.upstream.source import Tree
from harness.verdict import ExitCode, Promise, Verdict
from simulators.encoder import honest_items
from simulators.payload import Payload
from simulators.rng import stream

SHORT = "Encoder produced {} tokens, but preprocessor metadata expected {}"


def called(*words: str) -> Any:
    """Return what `seamproof try` said, run in this process: its workers share a fork server."""
    environment = {"COLUMNS": None, "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["try", *words], env=environment)


def said(done: Any) -> str:
    """Return an output as one line of words, however it was wrapped."""
    return " ".join(done.output.split())


# What is asked for; the verdict, the promise, and words of the report.
TRIED = {
    "honest": (
        "encoder-slice --counts 2,4", Verdict.TOLERATED, Promise.KEPT, ["breaks nothing"]
    ),
    "a row too many": (
        "encoder-slice --counts 2,4 --rows 7", Verdict.REFUSED, Promise.KEPT,
        [SHORT.format(7, 6), "rows-count at rows: expected 6 rows, got 7"],
    ),
    "a row too few": (
        "encoder-slice --counts 2,4 --rows 5", Verdict.REFUSED, Promise.KEPT, [SHORT.format(5, 6)]
    ),
    "no row": (
        "encoder-slice --counts 2,4 --rows 0", Verdict.REFUSED, Promise.KEPT, [SHORT.format(0, 6)]
    ),
    "a sum that fits": (
        "encoder-slice --counts 2,4 --rows 3,3", Verdict.SILENT, Promise.OPEN,
        ["expected row 0 of item 1, got row 2 of 0", "item 1 carries rows of item 0"],
    ),
    "counts swapped": (
        "encoder-slice --counts 4,2 --set pictures=2,4", Verdict.SILENT, Promise.OPEN,
        ["item 0 carries item 1's rows, rows 2 to 3", "counts[0]: expected 2, got 4"],
    ),
    "a count below nought": (
        "encoder-slice --counts -1,7 --set pictures=2,4", Verdict.SILENT, Promise.OPEN,
        ["item 0 carries item 1's rows", "lacks rows 1 to 3"],
    ),
    "a float": (
        "encoder-validate --counts 2.0,4", Verdict.MISREPORTED, Promise.OPEN,
        ["count-whole at counts[0]: expected an int, got 2.0"],
    ),
    "a row of another request": (
        "encoder-stage --counts 2,4 --rows 3,3", Verdict.SILENT, Promise.OPEN,
        ["request 1 carries rows of request 0", "damage cross-request leak: A user is answered"],
    ),
    "two pictures a request": (
        "encoder-stage --counts 2,4,5,1 --rows 2,4,6,1 --set each=2", Verdict.REFUSED,
        Promise.KEPT, [SHORT.format(13, 12)],
    ),
    "a row too few for the prompt": (
        "embedding-scatter --counts 2,4 --rows 5", Verdict.REFUSED, Promise.KEPT,
        ["num_mm_tokens_in_input_ids=6 vs num_mm_tokens_in_embedding=5"],
    ),
    "a row too many for the prompt": (
        "embedding-scatter --counts 2,4 --rows 3,4", Verdict.TOLERATED, Promise.KEPT,
        ["rows-spare"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TRIED)
def test_own_counts_are_judged_like_any_case(newest: Tree, what: str) -> None:
    """The verdict, the promise and what is broken; within 100 columns."""
    words, verdict, promise, wanted = TRIED[what]

    done = called(*words.split())

    assert done.exit_code == ExitCode.OK
    assert re.findall(r"^verdict +([a-z-]+)", done.output, re.M) == [verdict]
    assert re.findall(r"^promise +(\w+)", done.output, re.M) == [promise]
    assert all(text in said(done) for text in wanted), done.output
    assert max(map(len, done.output.splitlines())) <= 100


def test_a_release_without_the_guard_cuts_in_silence() -> None:
    """Before 0.5.19 nobody compares: the spare row is left over, and a missing one is not seen."""
    done = called(*"encoder-slice --counts 2,4 --rows 5 --sglang 0.5.16 --format json".split())

    (case,) = json.loads(done.stdout)["cases"]
    assert (case["verdict"], case["promise"]) == ("silent", "open")
    assert case["case"] == "try encoder-slice --counts 2,4 --rows 5"
    assert "lacks row" in case["detail"]
    assert case["damage"] == "loss"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("encoder-slice", "needs --counts, one of each item: --counts 2,4"),
        ("encoder-slice --counts 2,x", "--counts 2,x: expected numbers parted by commas, got 'x'"),
        ("encoder-slice --counts 2,,3", "expected numbers parted by commas, got ''"),
        ("encoder-slice --counts 2,1000000", "a count is at most 100000"),
        ("encoder-slice --counts 0,4", "1 to 1280; say how many each has: --set pictures=4,4"),
        ("encoder-slice --counts 2.5", "say how many each has: --set pictures=4"),
        ("encoder-slice --counts 2,4 --rows 1,2,3", "3 numbers for the 2 items of --counts 2,4"),
        ("encoder-slice --counts 2,4 --rows -1", "--rows -1: expected whole numbers from 0"),
        ("encoder-slice --counts 2,4 --rows 2.5", "expected whole numbers from 0 to 1280"),
        ("encoder-slice --counts 1,1,1,1,1,1,1,1,1", "expected a count of items, 1 to 8"),
        ("encoder-slice --counts 2,4 --set records=3", "--counts says how many items there are"),
        ("encoder-slice --counts 2,4 --set pictures=2", "not every item can have so many rows"),
        (
            "encoder-slice --counts 2,4 --set size=3",
            "encoder-slice 'size': known: pictures",
        ),
        ("encoder-stage --counts 2,4,5 --set each=2", "3 items cannot be shared out so"),
        ("embedding-scatter --counts 2,4 --set sizes=2,4", "--counts says how large they are"),
        ("embedding-scatter --counts 100,40", "a prompt has at most 128 tokens"),
        ("encoder-slice --splits 2", "--splits means nothing for encoder-slice: it takes --counts"),
        ("ar-batch --counts 2 --reply no.json", "--counts means nothing for ar-batch"),
        ("encoder-parts --counts 2", "takes no payload of your own"),
    ],
)
def test_bad_counts_get_one_line(words: str, told: str) -> None:
    """It names the option, what was expected and the mend; exit code 2."""
    done = called(*words.split())

    assert done.exit_code == ExitCode.USAGE
    assert told in said(done)
    assert len(done.output.strip().splitlines()) == 1


def test_a_name_carries_counts_and_rows() -> None:
    """A worker makes the fault from its name again: the same counts, and rows of the same items."""
    given = Counts((2, -1.5), (3, 0))

    fault = fault_named(given.name)
    payload = fault.done(honest_items(2, "2,4"), (), stream(0, "own"))

    assert Counts.named(given.name) == given
    assert [item.count for item in payload.records] == [2, -1.5]
    assert [tuple(item.rows.shape) for item in payload.records] == [(3, 8), (0, 8)]
    assert isinstance(payload, Payload)


@pytest.mark.parametrize("text", ["", "1,", "nan", "1e9", "0x1", "9" * 30])
def test_what_is_no_number_is_no_count(text: str) -> None:
    """Among them words that Python's float would take."""
    with pytest.raises(UsageError, match="expected numbers"):
        counts_of(text)
