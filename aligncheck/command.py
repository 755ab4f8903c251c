"""What the command does with its options: it calls, renders and returns the exit status."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, TextIO

import click

from aligncheck.errors import BadRequest
from aligncheck.garbage import uncollected
from aligncheck.outcome import Outcome, Tally
from aligncheck.paths import find_files
from aligncheck.report import progress, prose, renderer
from aligncheck.requests import Asker
from aligncheck.requests.declared import (
    Declared,
    SegmentAlignment,
    parse_alignment,
    parse_requirement,
)
from aligncheck.requests.sources import Sources
from aligncheck.run import Mode, Run, clashes, output_path


class Options(NamedTuple):
    """The command line, by the names of its options."""

    paths: tuple[str, ...]
    requirements: tuple[str, ...]
    segment_alignment: str | None
    targets: tuple[str, ...]
    request_files: tuple[str, ...]
    no_sidecar: bool
    config: str | None
    isolated: bool
    report: str
    output_file: str | None
    fix: bool
    diff: bool
    output: str | None
    output_dir: str | None
    quiet: bool
    verbose: bool
    allow_lfs_pointers: bool
    strict: bool
    exit_zero: bool
    exit_non_zero_on_fix: bool

    @property
    def mode(self) -> Mode:
        """`--diff` writes nothing, also beside `--fix`."""
        if self.diff:
            return "diff"
        return "fix" if self.fix else "audit"


def execute(options: Options) -> int:
    """Does what the options say, and returns the exit status. Raises click.UsageError."""
    try:
        with uncollected():
            return _execute(options)
    except KeyboardInterrupt:
        return 130  # as a shell has it for a signal


def _execute(options: Options) -> int:
    files = find_files(options.paths)
    _check_outputs(options, files)
    run = _run(options)
    if not files:
        _note("no .pte or .ptd file found")
    tally = Tally()
    outcomes = tally.watch(run.outcomes(files, lambda path: progress.bar(path, sys.stderr)))
    with _report_stream(options) as stream:
        for piece in _pieces(options, _announced(options, outcomes), tally, stream):
            _write(stream, piece)
        _write(stream, None)
    return run.status(tally)


def _run(options: Options) -> Run:
    return Run(
        mode=options.mode,
        sources=Sources(
            declared=_declared(options),
            config=options.config,
            isolated=options.isolated,
            request_files=options.request_files,
            sidecars=not options.no_sidecar,
        ),
        output=options.output,
        output_dir=options.output_dir,
        allow_lfs_pointers=options.allow_lfs_pointers and not options.strict,
        strict=options.strict,
        exit_zero=options.exit_zero,
        exit_non_zero_on_fix=options.exit_non_zero_on_fix,
    )


def _declared(options: Options) -> list[Asker]:
    """The requests on the command line. Raises BadParameter."""
    try:
        requirements = [parse_requirement(text) for text in options.requirements]
    except BadRequest as error:
        raise click.BadParameter(str(error), param_hint="'-r' / '--require'") from error
    askers: list[Asker] = [Declared(requirements, origin="--require")]
    if options.segment_alignment is not None:
        try:
            alignment = parse_alignment(options.segment_alignment)
        except BadRequest as error:
            hint = "'-s' / '--segment-alignment'"
            raise click.BadParameter(str(error), param_hint=hint) from error
        askers.append(SegmentAlignment(alignment, origin="--segment-alignment"))
    if options.targets:
        from aligncheck.requests.targets import askers_for

        askers += askers_for(options.targets)
    return askers


def _check_outputs(options: Options, files: Sequence[str]) -> None:
    """Raises UsageError for options that do not go together."""
    if options.config is not None and options.isolated:
        raise click.UsageError("--config and --isolated do not go together.")
    if options.output_file is not None and _is_one_of(options.output_file, options, files):
        raise click.UsageError("--output-file would overwrite a model.")
    if options.output is None and options.output_dir is None:
        return
    if options.mode != "fix":
        raise click.UsageError("-o and --output-dir go with --fix.")
    if options.output is not None and options.output_dir is not None:
        raise click.UsageError("-o and --output-dir do not go together.")
    if options.output is not None and len(files) != 1:
        raise click.UsageError(f"-o takes one file, not {len(files)}; use --output-dir.")
    for path in clashes(files, options.output_dir):
        raise click.UsageError(f"--output-dir: {prose.shown(path)} would overwrite another file.")


def _is_one_of(path: str, options: Options, files: Sequence[str]) -> bool:
    """True if a path is, by whatever name, one of the inputs or outputs."""
    models = [*files, *([options.output] if options.output is not None else [])]
    if options.output_dir is not None:
        models += [output_path(name, options.output_dir) for name in files]
    for model in models:
        if os.path.realpath(model) == os.path.realpath(path):
            return True
        with suppress(OSError):
            if os.path.samefile(model, path):
                return True
    return False


@contextmanager
def _report_stream(options: Options) -> Iterator[TextIO]:
    """Standard output, or the file that the report goes to. Raises UsageError.

    What a terminal cannot show is escaped.
    """
    for standard in (sys.stdout, sys.stderr):
        if isinstance(standard, io.TextIOWrapper):
            standard.reconfigure(errors="backslashreplace")
    if options.output_file is None:
        if sys.stdout is None:
            raise click.UsageError("Standard output is closed.")
        yield sys.stdout
        return
    try:
        stream = open(options.output_file, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - closed below; only opening it is the user's mistake
    except OSError as error:
        raise click.UsageError(f"--output-file: {error.strerror}") from error
    try:
        yield stream
    finally:
        with suppress(OSError):  # it has been flushed, or that has failed and been told
            stream.close()


def _write(stream: TextIO, piece: str | None) -> None:
    """Writes a piece of the report; None is its end. Exits where it cannot be written."""
    try:
        stream.flush() if piece is None else stream.write(piece)
    except OSError as error:
        # Python flushes once more at its end, into what is still closed or full.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(141)
        _note(f"the report cannot be written: {error.strerror or error}")
        sys.exit(2)


def _announced(options: Options, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
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
        if count == audited and not options.quiet:
            _note(f"no entry is named, or matches, {prose.shown(key)}")


def _note(text: str) -> None:
    click.echo(f"aligncheck: {text}", err=True)


def _pieces(
    options: Options, outcomes: Iterator[Outcome], tally: Tally, stream: TextIO
) -> Iterator[str]:
    """The report, piece by piece; `stream` tells how wide and how colourful text may be."""
    if options.report != "text":
        yield from renderer(options.report)(outcomes, tally)
        return
    if options.quiet:
        from aligncheck.report import quiet

        yield from quiet.render(outcomes)
        return
    for outcome in outcomes:
        if options.verbose or outcome.has_news:
            from aligncheck.report import text

            yield text.render(outcome, stream, verbose=options.verbose)
    yield f"{prose.summary(tally)}\n"
