"""The command line. Modules that import torch are reached only in worker processes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from contracts.releases import NEWEST, RELEASE
from harness import trial_options
from harness.device import AUTO, choose
from harness.errors import HarnessError, UsageError
from harness.options import DeviceOption, Format, Listed, Plain, SourceArgument, SourceOption
from harness.telling import Telling
from harness.verdict import ExitCode, exit_code

app = typer.Typer(
    name="seamproof",
    help="Drives SGLang's own multimodal code with every lie that its other side can tell.",
    epilog=(
        "Exit codes, first that applies: 130 interrupted, 2 bad usage or input, 1 a promise is "
        "broken (with --strict: or open), 3 a case could not be judged (with --require-all: or "
        "not be run), 0. Example: seamproof check 0.5.23"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except HarnessError as error:
        print(f"seamproof: {error}", file=sys.stderr)
        raise typer.Exit(ExitCode.USAGE) from error
    except KeyboardInterrupt as error:
        print("seamproof: interrupted", file=sys.stderr)
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def _source(argument: str | None, option: str | None) -> str:
    if argument is not None and option is not None and argument != option:
        raise UsageError(f"two sources are named: {argument} and --sglang {option}")
    named = argument if argument is not None else option
    return NEWEST if named is None else named


@app.command(epilog="Example: seamproof check 0.5.23 --seam ar-batch --against 0.5.18")
def check(
    source: SourceArgument = None,
    sglang: SourceOption = None,
    seam: Annotated[
        list[str] | None, typer.Option(help="Only these seams; globs, may be repeated.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option(help="Only these faults; globs, may be repeated.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Say what differs from this source.", metavar="SOURCE")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="An open promise fails too.")] = False,
    require_all: Annotated[
        bool, typer.Option("--require-all", help="A case that cannot run here fails too.")
    ] = False,
    format: Annotated[Format, typer.Option(help="How to write the report.")] = Format.TABLE,
    device: DeviceOption = AUTO,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes.", show_default="cores")
    ] = None,
) -> None:
    """Run the contracts on a source and say what it does with every fault."""
    from harness.against import compare, prepare
    from harness.runner import Selection
    from harness.runner import check as run_check

    with _told():
        selection = Selection(tuple(seam or ()), tuple(fault or ()))
        telling = Telling()

        def run(named: str) -> Any:
            try:
                return run_check(named, selection, device, jobs, telling.progress, telling.say)
            finally:
                telling.close()

        if against is not None:
            prepare(against, selection, choose(device), telling.say)
        report = run(_source(source, sglang))
        found = None if against is None else compare(report, against, selection, run)
        _write(report, format, strict, against, found)
        raise typer.Exit(exit_code(*_ends(report), strict, require_all))


def _ends(report: Any) -> tuple[list[Any], list[Any]]:
    results = report.results
    return [result.verdict for result in results], [result.promise for result in results]


def _write(
    report: Any,
    format: Format,
    strict: bool,
    against: str | None = None,
    differences: Any = None,
) -> None:
    from harness.console import console
    from harness.report import junit, machine, markdown, table

    if format is Format.TABLE:
        table.show(report, console())
        if against is not None:
            table.show_differences(against, differences, console())
    elif format is Format.JSON:
        changes = {} if against is None else machine.changes(against, differences)
        print(machine.text({**machine.document(report), **changes}))
    elif format is Format.MARKDOWN:
        changed = "" if against is None else markdown.changes(against, differences)
        print(markdown.text(report) + changed, end="")
    else:
        print(junit.text(report, strict), end="")


@app.command(epilog="Example: seamproof run 'ar-batch reordering records=3 shape=64x96 at=0,2'")
def run(
    case: Annotated[
        str, typer.Argument(help="The case's line, as every report prints it, or its name.")
    ],
    sglang: SourceOption = None,
    format: Annotated[Plain, typer.Option(help="How to write it.")] = Plain.TABLE,
    device: DeviceOption = AUTO,
) -> None:
    """Run one case and show everything that was seen."""
    from harness.console import console
    from harness.named_cases import case_of
    from harness.report.one import document, show
    from harness.runner import run_one

    with _told():
        named = case_of(case)
        tree, result = run_one(_source(None, sglang), named, device, Telling().say)
        if format is Plain.JSON:
            from harness.report.machine import text

            print(text(document(tree, choose(device), result)))
        else:
            show(tree, choose(device), named, result, console())
        raise typer.Exit(exit_code([result.verdict], [result.promise]))


@app.command("try", epilog=trial_options.EXAMPLES)
def try_(
    context: typer.Context,
    seam: trial_options.SeamArgument,
    reply: trial_options.ReplyOption = None,
    prompts: trial_options.PromptsOption = 1,
    size: trial_options.SizeOption = "1024x1024",
    status: trial_options.StatusOption = 200,
    content_type: trial_options.ContentTypeOption = "application/json",
    stamped: trial_options.StampedOption = False,
    splits: trial_options.SplitsOption = None,
    rank_splits: trial_options.RankSplitsOption = None,
    lengths: trial_options.LengthsOption = None,
    counts: trial_options.CountsOption = None,
    rows: trial_options.RowsOption = None,
    set: trial_options.SetOption = None,
    sglang: SourceOption = None,
    format: Annotated[Plain, typer.Option(help="How to write it.")] = Plain.TABLE,
    device: DeviceOption = AUTO,
) -> None:
    """Give your own payload to the real consumer, and hold it against the contract.

    A reply or rows come from a file; splits are told to the ranks of a real group; counts are told
    by a preprocessor, and rows made by an encoder.
    """
    from harness.console import console
    from harness.given_faults import Reply
    from harness.report import machine, one
    from harness.trial import trial
    from harness.trial_counts import AskedCounts, trial_of_counts
    from harness.trial_kind import Kind, kind_of
    from harness.trial_splits import AskedSplits, trial_of_splits

    with _told():
        source, say = _source(None, sglang), Telling().say
        kind = kind_of(seam, trial_options.typed(context))
        if kind is Kind.SPLITS:
            asked = AskedSplits(splits, rank_splits, lengths, tuple(set or ()))
            report, case = trial_of_splits(source, seam, asked, device, say)
        elif kind is Kind.COUNTS:
            told = AskedCounts(counts, rows, tuple(set or ()))
            report, case = trial_of_counts(source, seam, told, device, say)
        else:
            assert reply is not None
            given = Reply(reply, status, content_type, stamped)
            report, case = trial(source, seam, given, prompts, size, device, say)
        if format is Plain.JSON:
            whole = [one.in_full(result) for result in report.results]
            print(machine.text({**machine.document(report), "cases": whole}))
        else:
            one.show(report.tree, report.device, case, report.results[0], console())
        raise typer.Exit(exit_code(*_ends(report)))


@app.command(epilog="Example: seamproof fuzz ar-batch --find silent --examples 2000")
def fuzz(
    seam: Annotated[str, typer.Argument(help="The seam whose payloads are fuzzed.")],
    examples: Annotated[int, typer.Option(min=1, help="Cases to try.")] = 1000,
    looked_for: Annotated[
        list[str] | None,
        typer.Option("--find", help="A verdict to look for; without it, what is broken."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Keep the case that is found under this name.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds try equal cases.")] = 0,
    sglang: SourceOption = None,
    format: Annotated[Plain, typer.Option(help="How to write it.")] = Plain.TABLE,
    device: DeviceOption = AUTO,
) -> None:
    """Look for the smallest case with a verdict, over requests, payloads and faults."""
    from harness.console import console
    from harness.fuzzing import fuzz_seam, show
    from harness.report.machine import text

    with _told():
        telling, source = Telling(), _source(None, sglang)
        asked = (tuple(looked_for or ()), examples, seed, keep)
        try:
            found = fuzz_seam(source, seam, *asked, device, telling)
        finally:
            telling.close()
        if format is Plain.JSON:
            print(text(found.document()))
        else:
            show(found, console())
        raise typer.Exit(ExitCode.BROKEN if found.is_unfit else ExitCode.OK)


serve = typer.Typer(help="Run a simulator as a process.", no_args_is_help=True)
app.add_typer(serve, name="serve")


@serve.command("ar", epilog="Example: seamproof serve ar --fault reordering --dose every:3")
def serve_ar(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 30000,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    release: Annotated[str, typer.Option(help="The SGLang release to speak like.")] = NEWEST,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="A fault, with its place if not the first: reordering:0,2. Repeatable."),
    ] = None,
    dose: Annotated[
        str,
        typer.Option(help="always, nth:3, first:2, every:3, match:TEXT or probability:0.25."),
    ] = "always",
    seed: Annotated[int, typer.Option(help="Seed of the dose and the faults.")] = 0,
    record: Annotated[
        Path | None, typer.Option(help="Append each exchange to this file, a line of JSON each.")
    ] = None,
) -> None:
    """Serve SGLang's /generate, honest or at fault, for a fault-injection session."""
    from harness.session import Record, plan_of, run

    with _told():
        if not RELEASE.fullmatch(release):
            raise UsageError(f"--release {release}: expected a release, as in {NEWEST}")
        plan = plan_of(fault or [], dose, seed)
        kept = Record(record, lambda line: print(line, flush=True))
        try:
            run(host, port, release, plan, kept, lambda text: print(text, flush=True))
        finally:
            kept.close()


@app.command("list", epilog="Example: seamproof list faults")
def list_(
    what: Annotated[
        str, typer.Argument(help="seams, clauses, faults, verdicts, releases, cases or holes.")
    ] = "seams",
    format: Annotated[Listed, typer.Option(help="How to write it.")] = Listed.TABLE,
) -> None:
    """List the tables: what there is to check, and with what.

    Holes are what the newest release takes without a word, hangs or dies of, read from the
    committed snapshots.
    """
    from harness.console import console
    from harness.report.listing import listing, markdown, show
    from harness.report.machine import text

    with _told():
        if what == "holes":
            Telling().say("reading the snapshots of all releases")
        if format is Listed.JSON:
            print(text(listing(what)))
        elif format is Listed.MARKDOWN:
            print(markdown(what), end="")
        else:
            show(what, listing(what), console())


@app.command(epilog="Example: seamproof explain ar-batch/reply-count")
def explain(
    name: Annotated[str, typer.Argument(help="A seam, SEAM/CLAUSE, a fault or a verdict.")],
    sglang: SourceOption = None,
    format: Annotated[Plain, typer.Option(help="How to write it.")] = Plain.TABLE,
) -> None:
    """Explain one seam, clause, fault or verdict in full."""
    from harness.report.explanation import explanation
    from harness.report.machine import text

    with _told():
        said = explanation(name, _source(None, sglang))
        print(text(said) if format is Plain.JSON else _indented(said))


def _indented(said: dict[str, Any]) -> str:
    lines = []
    for key, value in said.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  {line}" for item in value for line in str(item).split("\n"))]
        elif "\n" in str(value):
            lines += [f"{key}:", *(f"  {line}" for line in str(value).split("\n"))]
        else:
            lines.append(f"{key}: {value}")
    return "\n".join(lines)


@app.command(epilog="Example: seamproof doctor --format json")
def doctor(
    format: Annotated[Plain, typer.Option(help="How to write it.")] = Plain.TABLE,
) -> None:
    """Say what this machine can run, and what is missing."""
    from harness.doctor import findings
    from harness.report.machine import text

    with _told():
        found = findings()
        if format is Plain.JSON:
            print(text(found))
        else:
            for name, said in found.items():
                print(f"{name:<20} {said}")


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
