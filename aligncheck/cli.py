"""The command: it parses, calls, renders and exits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from aligncheck import __version__
from aligncheck.audit import audit
from aligncheck.errors import BadFile, BadRequest
from aligncheck.model import Outcome, Tally
from aligncheck.paths import find_files
from aligncheck.report import prose
from aligncheck.requests import Asker
from aligncheck.requests.declared import (
    Declared,
    SegmentAlignment,
    parse_alignment,
    parse_requirement,
)


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
@click.option("-q", "--quiet", is_flag=True, help="Print violations only, one line each.")
@click.option("-v", "--verbose", is_flag=True, help="Print every entry and the file's layout.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if something is violated.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def main(
    *,
    paths: tuple[str, ...],
    requirements: list[tuple[str, int]],
    segment_alignment: int | None,
    report: str,
    quiet: bool,
    verbose: bool,
    exit_zero: bool,
) -> None:
    r"""Report data in ExecuTorch .pte and .ptd files that is not aligned as it was asked to be.

    PATH is a file, or a folder that is searched for *.pte and *.ptd. BYTES is a number such as
    256, 0x100, 4K, 16KiB or 1MiB, up to 1 GiB.

    \b
    Exit status:
      0  nothing is violated
      1  something is violated
      2  bad usage, or a file that could not be audited
    """
    askers: list[Asker] = [Declared(requirements, origin="--require")]
    if segment_alignment is not None:
        askers.append(SegmentAlignment(segment_alignment, origin="--segment-alignment"))
    files = find_files(paths)
    if not files:
        click.echo("aligncheck: no .pte or .ptd file found", err=True)
    tally = Tally()
    outcomes = _announced(tally.watch(_audited(files, askers)), quiet=quiet)
    _render(outcomes, tally, report=report, quiet=quiet, verbose=verbose)
    sys.exit(_status(tally, exit_zero=exit_zero))


def _audited(paths: Sequence[str], askers: Sequence[Asker]) -> Iterator[Outcome]:
    for path in paths:
        try:
            yield Outcome(path=path, audit=audit(path, askers))
        except BadFile as error:
            yield Outcome(path=path, error=error)


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
    if outcome.audit is not None and (verbose or outcome.audit.findings):
        from aligncheck.report import text

        text.show(outcome, sys.stdout, verbose=verbose)


def _status(tally: Tally, *, exit_zero: bool) -> int:
    if tally.unreadable:
        return 2
    return 1 if tally.violations and not exit_zero else 0
