"""A user's own splits on the ranks of a real group: what the command says, and how it ends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.case import parse
from harness.cli import app
from harness.errors import UsageError
from harness.given_splits import Splits
from harness.runner import run_one
from harness.upstream.source import Tree
from harness.verdict import ExitCode, Promise, Verdict
from simulators.rng import stream
from simulators.scheduler import MISSING, honest_batch, told_ranks

ALL = "all"
OWN_ROWS = "s_local ({}) must equal seq_lens[{}] ({})"


def called(*words: str) -> Any:
    """Return what `seamproof try` said, run in this process: its workers share a fork server."""
    environment = {"COLUMNS": None, "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["try", *words], env=environment)


def said(done: Any) -> str:
    """Return an output as one line of words, however it was wrapped."""
    return " ".join(done.output.split())


def shards(splits: str, lengths: str, seam: str = "shard-splits", *more: str) -> list[str]:
    """Return the words that try splits: lists parted by `/` are told to each rank its own."""
    option = "--rank-splits" if "/" in splits else "--splits"
    return [seam, option, splits, "--lengths", lengths, *more]


# What the ranks are told, and hold; the verdict, the promise, and words of the report.
TRIED = {
    "honest and ragged": (
        shards("5,3", "5,3"), Verdict.TOLERATED, Promise.KEPT, ["breaks nothing"]
    ),
    "honest and even": (
        shards("4,4", "4,4"), Verdict.TOLERATED, Promise.KEPT, ["breaks nothing"]
    ),
    "ragged, of even rows": (
        shards("5,3", "4,4"), Verdict.REFUSED, Promise.KEPT,
        [f"AssertionError: {OWN_ROWS.format(4, 0, 5)}", OWN_ROWS.format(4, 1, 3),
         "rank 0: raised AssertionError", "rank 1: raised AssertionError",
         "breaks split-true at ranks[0].splits[0]: expected 4, got 5"],
    ),
    "even, of ragged rows": (
        shards("4,4", "5,3"), Verdict.CRASHED, Promise.OPEN,
        ["rank 1: died by SIGABRT", "breaks alike-true at ranks[0].splits: expected 5, 3"],
    ),
    "to each rank its own": (
        shards("5,3/4,4", "5,3"), Verdict.CRASHED, Promise.OPEN,
        ["breaks told-alike at ranks", "alike-true at ranks[1].splits: expected 5, 3, got 4, 4"],
    ),
    "true to one rank only": (
        shards("5,3/3,5", "5,3"), Verdict.MISREPORTED, Promise.OPEN,
        [f"rank 1: raised AssertionError in _usp_input_all_to_all_varlen of usp.py: "
         f"{OWN_ROWS.format(3, 1, 5)}", "breaks refused-together", "rank 0: raised RuntimeError"],
    ),
    "null": (
        shards("none", "4,4"), Verdict.REFUSED, Promise.KEPT,
        ["requires forward_batch.sequence_shard_splits", "breaks splits-told"],
    ),
    "no such field": (
        shards("omitted", "5,3"), Verdict.REFUSED, Promise.KEPT,
        ["requires forward_batch.sequence_shard_splits", "breaks splits-told"],
    ),
    "no such field, to one rank": (
        shards("5,3/omitted", "5,3"), Verdict.MISREPORTED, Promise.OPEN,
        ["rank 1: raised ValueError", "breaks refused-together at ranks"],
    ),
    "floats": (
        shards("5.0,3.0", "5,3"), Verdict.MISREPORTED, Promise.OPEN,
        ["TypeError: empty()", "breaks splits-ints at ranks[0].splits: expected ints, got 5.0"],
    ),
    "a word": (
        shards("three,5", "5,5"), Verdict.MISREPORTED, Promise.OPEN,
        [OWN_ROWS.format(5, 0, "three"), "expected 5, got 'three'", "rank 1: raised TypeError"],
    ),
    "empty, of even rows": (
        shards("", "4,4"), Verdict.TOLERATED, Promise.KEPT, ["expected 4, 4, got none"]
    ),
    "empty, of ragged rows": (
        shards("", "5,3"), Verdict.CRASHED, Promise.OPEN, ["expected 5, 3, got none"]
    ),
    "below nought": (
        shards("-5,13", "5,3"), Verdict.REFUSED, Promise.KEPT, [OWN_ROWS.format(5, 0, -5)]
    ),
    "honest, to three ranks": (
        shards("3,3,2", "3,3,2"), Verdict.TOLERATED, Promise.KEPT, ["rank 2: returned"]
    ),
    "false, to three ranks": (
        shards("4,3,1", "3,3,2"), Verdict.MISREPORTED, Promise.OPEN,
        ["rank 2: raised AssertionError", "breaks refused-together"],
    ),
    "to five ranks, which share out more heads": (
        shards("2,2,2,1,1", "2, 2, 2, 1, 1"), Verdict.TOLERATED, Promise.KEPT,
        ['"heads": 15', "rank 4: returned"],
    ),
    "to one rank that is named": (
        shards("4,4", "5,3", "shard-splits", "--set", "told=1"), Verdict.CRASHED, Promise.OPEN,
        ["breaks told-alike at ranks"],
    ),
    "gathered": (
        shards("4,4/5,3", "5,3", "shard-gather", "--set", "entry=gather"),
        Verdict.SILENT, Promise.OPEN, ["rank 0: returned", "rank 1: returned", "the form of the"],
    ),
    "cut and gathered": (
        shards("5,3/4,4", "5,3", "shard-gather", "--set", "entry=both"),
        Verdict.CRASHED, Promise.OPEN, ["rank 1: died by SIGABRT", "breaks told-alike"],
    ),
    "cut": (
        shards("4,4", "5,3", "shard-gather", "--set", "entry=cut"), Verdict.SILENT, Promise.OPEN,
        ["rank 0 lacks rows 4 to 4", "breaks splits-held"],
    ),
    "exchanged on the way in": (
        shards("5,4", "5,3", "shard-all-to-all", "--set", "entry=varlen-in"),
        Verdict.MISREPORTED, Promise.OPEN, [OWN_ROWS.format(3, 1, 4)],
    ),
    "exchanged on the way out": (
        shards("5,4", "5,3", "shard-all-to-all", "--set", "entry=varlen-out"),
        Verdict.REFUSED, Promise.KEPT, ["s_global (8) must equal sum(seq_lens) (9)"],
    ),
    "with a strategy that never reads them": (
        shards("5,3", "4,4", "shard-strategy", "--set", "strategy=kvgather_sharded"),
        Verdict.TOLERATED, Promise.KEPT, ["expected 4, 4, got 5, 3"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TRIED)
def test_own_splits_are_judged_like_any_case(newest: Tree, what: str) -> None:
    """The verdict, the promise, what is broken, and a line for each rank; within 100 columns."""
    words, verdict, promise, wanted = TRIED[what]

    done = called(*words)

    ranks = words[words.index("--lengths") + 1].count(",") + 1
    lines = done.output.splitlines()
    assert done.exit_code == ExitCode.OK
    assert re.findall(r"^verdict +([a-z-]+)", done.output, re.M) == [verdict]
    assert re.findall(r"^promise +(\w+)", done.output, re.M) == [promise]
    assert re.findall(r"^did +rank (\d+): ", done.output, re.M) == list(map(str, range(ranks)))
    assert all(text in said(done) for text in wanted), done.output
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in done.output


def test_json_has_what_is_broken_and_what_each_rank_did(newest: Tree) -> None:
    """The keys of a check, and beside them what one case shows; the case is the command."""
    done = called(*shards("", "5,3"), "--format", "json")

    report = json.loads(done.stdout)
    (case,) = report["cases"]
    assert done.exit_code == ExitCode.OK
    assert (case["verdict"], case["promise"]) == ("crashed", "open")
    assert case["case"] == "try shard-splits --splits '' --lengths 5,3"
    assert case["clauses"] == ["alike-true"]
    assert [text.split()[0] for text in case["violations"]] == ["alike-true"] * 2
    assert [text.split(":")[0] for text in case["ranks"]] == ["rank 0", "rank 1"]
    assert report["summary"]["promises"] == {"open": 1}


def test_a_broken_promise_and_a_case_that_cannot_be_judged_end_like_a_check(
    newest: Tree, tmp_path: Path
) -> None:
    """1 where the guard is gone from a tree, 3 where the tree cannot be loaded."""
    package = tmp_path / "tree" / "sglang"
    package.parent.mkdir()
    package.symlink_to(newest.root / "sglang")
    usp = Path("multimodal_gen/runtime/layers/usp.py")
    for folder in (Path(), *list(usp.parents)[-2::-1]):
        _make_real(package / folder)
    text = (package / usp).read_text()
    for edit, code in ((text.replace("s_local == ", "s_local or "), 1), ("1 / 0\n", 3)):
        (package / usp).unlink()
        (package / usp).write_text(edit)

        done = called(*shards("5,3", "4,4"), "--sglang", str(tmp_path / "tree"))

        assert edit != text
        assert done.exit_code == code, done.output


def _make_real(folder: Path) -> None:
    # A link to a folder becomes a folder of links, so that one file in it can be another.
    linked = folder.resolve()
    folder.unlink()
    folder.mkdir()
    for item in linked.iterdir():
        (folder / item.name).symlink_to(item)


BAD = {
    "neither": (["shard-splits", "--lengths", "4,4"], "needs --splits, told to every rank, or"),
    "both": (
        [*shards("5,3", "5,3"), "--rank-splits", "5,3/5,3"], "--splits and --rank-splits both"
    ),
    "no lengths": (["shard-splits", "--splits", "5,3"], "shard-splits needs --lengths, the rows"),
    "lengths of words": (shards("5,3", "a,b"), "--lengths a,b: expected rows of each rank"),
    "one rank": (shards("8", "8"), "--lengths 8: expected rows of each rank, in rank order, as"),
    "nine ranks": (shards("1,1", ",".join("1" * 9)), "2 to 8 ranks, at most 32 rows in all"),
    "too many rows": (shards("30,3", "30,3"), "2 to 8 ranks, at most 32 rows in all"),
    "no rows": (shards("0,0", "0,0"), "--lengths 0,0: expected rows of each rank"),
    "lengths below nought": (shards("4,4", "-4,12"), "--lengths -4,12: expected rows"),
    "empty lengths": (shards("4,4", ""), "--lengths : expected rows of each rank"),
    "too few lists": (
        shards("5,3/4,4", "3,3,2"), "5,3/4,4: 2 lists, parted by /, for the 3 ranks of --lengths 3"
    ),
    "one list for each": (
        ["shard-splits", "--rank-splits", "5,3", "--lengths", "5,3"], "5,3: 1 lists, parted by /"
    ),
    "lists for all": (
        ["shard-splits", "--splits", "5,3/4,4", "--lengths", "5,3"], "tells each rank its own"
    ),
    "a comma too many": (shards("5,", "5,3"), "splits '5,': a split is missing beside a comma"),
    "one split omitted": (shards("5,omitted", "5,3"), "omitted stands for all splits"),
    "a split without end": (shards("9" * 5000 + ",3", "5,3"), "a split is at most 1000000"),
    "no entry": (shards("5,3", "5,3", "shard-gather"), "needs --set entry=...: cut, gather, or"),
    "no such entry": (
        shards("5,3", "5,3", "shard-gather", "--set", "entry=x"), "--set entry=x: expected cut"
    ),
    "an entry without splits": (
        shards("4,4", "4,4", "shard-all-to-all", "--set", "entry=fixed-in"),
        "--set entry=fixed-in takes no splits: varlen-in and varlen-out do",
    ),
    "an argument omitted": (
        shards("omitted", "5,3", "shard-gather", "--set", "entry=cut"),
        "takes splits as an argument: none tells a null",
    ),
    "a setting without value": (shards("5,3", "5,3", "shard-splits", "--set", "heads"), "KEY=VAL"),
    "no such setting": (
        shards("5,3", "5,3", "shard-splits", "--set", "entry=both"),
        "unknown dimension of shard-splits 'entry': known: heads, told, after",
    ),
    "lengths as a setting": (
        shards("5,3", "5,3", "shard-splits", "--set", "rows=5,3"), "--lengths says what the ranks"
    ),
    "a setting twice": (
        shards("5,3", "5,3", "shard-splits", "--set", "heads=2", "--set", "heads=4"),
        "heads is set twice",
    ),
    "heads that no ranks divide": (
        shards("5,3", "5,3", "shard-splits", "--set", "heads=13"), "heads=13 cannot be divided by"
    ),
    "a rank that is not there": (
        shards("5,3", "5,3", "shard-splits", "--set", "told=2"), "told=2 is no rank of 2"
    ),
    "one rank named twice": (
        shards("5,3/4,4", "5,3", "shard-splits", "--set", "told=1"), "says already what each rank"
    ),
    "ragged rows of a strategy": (
        shards("5,3", "5,3", "shard-strategy", "--set", "strategy=kvgather_sharded"),
        "gathers rows: all ranks hold as many",
    ),
    "prompts": (
        shards("5,3", "5,3", "shard-splits", "--prompts", "1"),
        "--prompts means nothing for shard-splits: it takes --splits or --rank-splits, and",
    ),
    "a reply": (
        ["shard-splits", "--reply", "body.json"], "--reply means nothing for shard-splits: it"
    ),
    "splits for a reply": (
        ["ar-batch", "--splits", "5,3"], "--splits means nothing for ar-batch: it takes --reply"
    ),
    "a setting for a reply": (
        ["ar-batch", "--reply", "body.json", "--set", "entry=batch"], "--set means nothing for ar"
    ),
    "no reply": (["ar-batch", "--prompts", "2"], "try ar-batch needs --reply: a file with the"),
    "a seam of neither": (shards("5,3", "5,3", "image-crop"), "takes no payload of your own"),
    "no such seam": (shards("5,3", "5,3", "shard-split"), "did you mean shard-splits"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_tried_is_one_line_and_exit_code_2(what: str) -> None:
    """It names the option and the mend, and nothing is run."""
    words, text = BAD[what]

    done = called(*words)

    (line,) = done.stderr.splitlines()
    assert done.exit_code == ExitCode.USAGE
    assert line.startswith("seamproof: ")
    assert text in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("5,3", ((5, 3),)),
        (" 5 , 3 / 4,4 ", ((5, 3), (4, 4))),
        ("", ((),)),
        ("/", ((), ())),
        ("8", ((8,),)),
        ("+5,-3", ((5, -3),)),
        ("5.0,.5,-3.", ((5.0, 0.5, -3.0),)),
        ("None/omitted", (None, MISSING)),
        ("none,5", ((None, 5),)),
        ("abc,5x,nan,1e3", (("abc", "5x", "nan", "1e3"),)),
    ],
)
def test_text_is_what_a_person_means(text: str, lists: Any) -> None:
    """Ints, floats, words, null, nothing, and no field at all, with their types."""
    assert Splits(text).lists == lists
    assert repr(Splits(text).lists) == repr(lists)


def test_what_single_ranks_are_told_stands_before_what_all_are() -> None:
    """A rank that is told nothing of its own hears the splits of all; the honest hear the truth."""
    honest = honest_batch([5, 3], 12)
    lied = Splits("4,4/omitted").fault.done(honest, (), stream(0, ""))

    heard = told_ranks(honest, lied, [0, 1])
    one = told_ranks(honest, lied, [1])

    assert [told.splits for told in heard] == [(4, 4), MISSING]
    assert [told.splits for told in one] == [(5, 3), MISSING]
    assert [told.rows for told in heard] == [5, 3]


def test_splits_of_ones_own_replay_as_a_case(newest: Tree) -> None:
    """A case's line carries them; lists for other ranks than there are cannot be judged."""
    _, result = run_one(newest.name, parse("shard-splits splits=5,3 rows=4,4"))
    _, misfit = run_one(newest.name, parse("shard-splits splits=5,3/5,3 rows=3,3,2"))

    assert (result.verdict, result.promise) == (Verdict.REFUSED, Promise.KEPT)
    assert misfit.verdict is Verdict.INCONCLUSIVE
    assert "2 lists of splits for 3 ranks" in misfit.detail
    with pytest.raises(UsageError, match="a split is missing"):
        parse("shard-splits splits=5, rows=4,4")
