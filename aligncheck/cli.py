"""The command: it parses, calls, renders and exits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Literal

import click

from aligncheck import __version__
from aligncheck.errors import BadRequest
from aligncheck.outcome import Outcome, Tally
from aligncheck.paths import find_files
from aligncheck.report import progress, prose
from aligncheck.requests import Asker
from aligncheck.requests.declared import (
    Declared,
    SegmentAlignment,
    parse_alignment,
    parse_requirement,
)
from aligncheck.run import Run, clashes


def _requirements(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> list[tuple[str, int]]:
    try:
        return [parse_requirement(value) for value in values]
    except BadRequest as error:
        raise click.BadParameter(str(error)) from error


def _alignment(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else parse_alignment(value)
    except BadRequest as error:
        raise click.BadParameter(str(error)) from error


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-r",
    "--require",
    "requirements",
    metavar="KEY=BYTES",
    multiple=True,
    callback=_requirements,
    help="Ask for an alignment of the entry named KEY, or of all that match it. Repeatable.",
)
@click.option(
    "-s",
    "--segment-alignment",
    metavar="BYTES",
    callback=_alignment,
    help="Ask for an alignment of every segment that holds data.",
)
@click.option(
    "-f",
    "--format",
    "report",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option("--fix", is_flag=True, help="Rewrite the files so that all requests are met.")
@click.option("--diff", is_flag=True, help="Show what --fix would move, and write nothing.")
@click.option("-o", "--output", metavar="FILE", help="With --fix: write the one file's copy here.")
@click.option("--output-dir", metavar="DIR", help="With --fix: write all files' copies here.")
@click.option("-q", "--quiet", is_flag=True, help="Print violations only, one line each.")
@click.option("-v", "--verbose", is_flag=True, help="Print every entry and the file's layout.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if something is violated.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a file was fixed.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def main(
    *,
    paths: tuple[str, ...],
    requirements: list[tuple[str, int]],
    segment_alignment: int | None,
    report: str,
    fix: bool,
    diff: bool,
    output: str | None,
    output_dir: str | None,
    quiet: bool,
    verbose: bool,
    exit_zero: bool,
    exit_non_zero_on_fix: bool,
) -> None:
    r"""Report data in ExecuTorch .pte and .ptd files that is not aligned as it was asked to be.

    PATH is a file, or a folder that is searched for *.pte and *.ptd. BYTES is a number such as
    256, 0x100, 4K, 16KiB or 1MiB, up to 1 GiB.

    \b
    Exit status:
      0  nothing is violated, or nothing any more after --fix
      1  something is violated; with --diff, something would change
      2  bad usage, or a file that could not be audited or fixed
    """
    files = find_files(paths)
    _check_outputs(files, output, output_dir, fixing=fix and not diff)
    run = Run(
        mode=_mode(fix=fix, diff=diff),
        askers=_askers(requirements, segment_alignment),
        output=output,
        output_dir=output_dir,
        exit_zero=exit_zero,
        exit_non_zero_on_fix=exit_non_zero_on_fix,
    )
    if not files:
        click.echo("aligncheck: no .pte or .ptd file found", err=True)
    tally = Tally()
    outcomes = tally.watch(run.outcomes(files, lambda path: progress.bar(path, sys.stderr)))
    _render(_announced(outcomes, quiet=quiet), tally, report=report, quiet=quiet, verbose=verbose)
    sys.exit(run.status(tally))


def _mode(*, fix: bool, diff: bool) -> Literal["audit", "diff", "fix"]:
    """`--diff` writes nothing, also beside `--fix`."""
    if diff:
        return "diff"
    return "fix" if fix else "audit"


def _askers(requirements: list[tuple[str, int]], segment_alignment: int | None) -> list[Asker]:
    askers: list[Asker] = [Declared(requirements, origin="--require")]
    if segment_alignment is not None:
        askers.append(SegmentAlignment(segment_alignment, origin="--segment-alignment"))
    return askers


def _check_outputs(
    files: Sequence[str], output: str | None, output_dir: str | None, *, fixing: bool
) -> None:
    """Raises UsageError for output options that do not go together."""
    if output is None and output_dir is None:
        return
    if not fixing:
        raise click.UsageError("-o and --output-dir go with --fix.")
    if output is not None and output_dir is not None:
        raise click.UsageError("-o and --output-dir do not go together.")
    if output is not None and len(files) != 1:
        raise click.UsageError(f"-o takes one file, not {len(files)}; use --output-dir.")
    for path in clashes(files, output_dir):
        raise click.UsageError(f"--output-dir: {prose.shown(path)} would overwrite another file.")


def _announced(outcomes: Iterator[Outcome], *, quiet: bool) -> Iterator[Outcome]:
    """The same outcomes; what went wrong outside the files' data is told on standard error."""
    audited = 0
    unmatched: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            click.echo(f"aligncheck: {prose.shown(str(outcome.error), 8192)}", err=True)
        if outcome.audit is not None:
            audited += 1
            for key in outcome.audit.unmatched:
                unmatched[key] = unmatched.get(key, 0) + 1
        yield outcome
    for key, count in unmatched.items():
        if count == audited and not quiet:
            note = f"no entry is named, or matches, {prose.shown(key)!r}"
            click.echo(f"aligncheck: {note}", err=True)


def _render(
    outcomes: Iterator[Outcome], tally: Tally, *, report: str, quiet: bool, verbose: bool
) -> None:
    if report == "json":
        from aligncheck.report import json_v1

        for piece in json_v1.render(outcomes, tally):
            click.echo(piece, nl=False)
        click.echo()
    elif quiet:
        from aligncheck.report import quiet as one_line_each

        for line in one_line_each.render(outcomes):
            click.echo(line)
    else:
        for outcome in outcomes:
            _show(outcome, verbose=verbose)
        click.echo(prose.summary(tally))


def _show(outcome: Outcome, *, verbose: bool) -> None:
    if outcome.audit is not None and (verbose or outcome.audit.findings or outcome.plan):
        from aligncheck.report import text

        text.show(outcome, sys.stdout, verbose=verbose)
