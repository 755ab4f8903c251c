"""The command: it parses, calls, renders and exits."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from aligncheck.requests.sources import Sources
from aligncheck.requests.targets import BY_NAME, ForTarget
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
    "--target",
    "targets",
    type=click.Choice(list(BY_NAME)),
    multiple=True,
    help="Ask for what a platform wants. Repeatable. "
    + "; ".join(f"{t.name}: {t.meaning} ({t.alignment} bytes)" for t in BY_NAME.values()),
)
@click.option(
    "--requests",
    "request_files",
    metavar="FILE",
    multiple=True,
    help="Take recorded requests from FILE too. Repeatable.",
)
@click.option("--no-sidecar", is_flag=True, help="Ignore FILE.align.json beside FILE.")
@click.option("--config", metavar="FILE", help="Use this configuration for all files.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration.")
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
@click.option("--strict", is_flag=True, help="Exit with 1 also for warnings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if something is violated.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a file was fixed.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def main(
    *,
    paths: tuple[str, ...],
    requirements: list[tuple[str, int]],
    segment_alignment: int | None,
    targets: tuple[str, ...],
    request_files: tuple[str, ...],
    no_sidecar: bool,
    config: str | None,
    isolated: bool,
    report: str,
    fix: bool,
    diff: bool,
    output: str | None,
    output_dir: str | None,
    quiet: bool,
    verbose: bool,
    strict: bool,
    exit_zero: bool,
    exit_non_zero_on_fix: bool,
) -> None:
    """Report data in ExecuTorch .pte and .ptd files that is not aligned as it was asked to be.

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
    if config is not None and isolated:
        raise click.UsageError("--config and --isolated do not go together.")
    run = Run(
        mode=_mode(fix=fix, diff=diff),
        sources=Sources(
            declared=_declared(requirements, segment_alignment, targets),
            config=config,
            isolated=isolated,
            request_files=request_files,
            sidecars=not no_sidecar,
        ),
        output=output,
        output_dir=output_dir,
        strict=strict,
        exit_zero=exit_zero,
        exit_non_zero_on_fix=exit_non_zero_on_fix,
    )
    if not files:
        _note("no .pte or .ptd file found")
    tally = Tally()
    outcomes = tally.watch(run.outcomes(files, lambda path: progress.bar(path, sys.stderr)))
    outcomes = _announced(outcomes, quiet=quiet)
    with _exiting_well():
        _render(outcomes, tally, report=report, quiet=quiet, verbose=verbose)
        sys.stdout.flush()
    sys.exit(run.status(tally))


@contextmanager
def _exiting_well() -> Iterator[None]:
    """What a terminal cannot show is escaped; Ctrl-C and a closed pipe exit as signals do."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Python flushes once more at its end, into what is still a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _mode(*, fix: bool, diff: bool) -> Literal["audit", "diff", "fix"]:
    """`--diff` writes nothing, also beside `--fix`."""
    if diff:
        return "diff"
    return "fix" if fix else "audit"


def _declared(
    requirements: list[tuple[str, int]], segment_alignment: int | None, targets: tuple[str, ...]
) -> list[Asker]:
    askers: list[Asker] = [Declared(requirements, origin="--require")]
    if segment_alignment is not None:
        askers.append(SegmentAlignment(segment_alignment, origin="--segment-alignment"))
    askers += [ForTarget(BY_NAME[name]) for name in dict.fromkeys(targets)]
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
            _note(prose.shown(str(outcome.error), 8192))
        for path in outcome.removed:
            _note(f"removed {prose.shown(path, 4096)}, left by a fix that was killed")
        if outcome.audit is not None:
            audited += 1
            for key in outcome.audit.unmatched:
                unmatched[key] = unmatched.get(key, 0) + 1
        yield outcome
    for key, count in unmatched.items():
        if count == audited and not quiet:
            _note(f"no entry is named, or matches, {prose.shown(key)}")


def _note(text: str) -> None:
    click.echo(f"aligncheck: {text}", err=True)


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
    if verbose or outcome.has_news:
        from aligncheck.report import text

        sys.stdout.write(text.render(outcome, sys.stdout, verbose=verbose))
