"""One run over many files: what is done with each, and the exit status of all."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Literal, NamedTuple, Protocol

from aligncheck.audit import audit
from aligncheck.errors import BadFile, FixError, LfsPointer
from aligncheck.formats import format_of, read_container
from aligncheck.model import Container
from aligncheck.outcome import Outcome, Tally
from aligncheck.requests.backends import survey
from aligncheck.requests.sources import Sources

_FOLDS_CASE = sys.platform in {"win32", "darwin"}
Mode = Literal["audit", "diff", "fix"]


class Bar(Protocol):
    """Something that shows how far a fix is."""

    def update(self, done: int, total: int) -> None:
        """Called with the bytes that are done and the bytes in all."""


class Run(NamedTuple):
    """What to do with the files.

    `output` is a file for the only one, `output_dir` a folder for all; without either a fix is
    made in place.
    """

    mode: Mode
    sources: Sources
    output: str | None = None
    output_dir: str | None = None
    allow_lfs_pointers: bool = False
    strict: bool = False
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False

    def outcomes(
        self, files: Sequence[str], bar: Callable[[str], AbstractContextManager[Bar]]
    ) -> Iterator[Outcome]:
        """Each file's outcome; one bad file never keeps the others from being handled.

        A file that its configuration excludes has none.
        """
        self.sources.many = len(files) > 1
        if self.sources.many and {"pte", "ptd"} <= set(map(format_of, files)):
            self.sources.survey = survey(_readable(files))
        for path in files:
            try:
                if not self.sources.excludes(path):
                    yield self._handle(path, bar)
            except BadFile as error:
                tolerated = self.allow_lfs_pointers and isinstance(error, LfsPointer)
                yield Outcome(path=path, error=error, tolerated=tolerated)

    def _handle(self, path: str, bar: Callable[[str], AbstractContextManager[Bar]]) -> Outcome:
        if self.mode == "fix":
            return self._fix(path, bar)
        askers = self.sources.askers(path)
        audited = audit(path, askers, sidecar=False, backends=False)
        if self.mode == "audit":
            return Outcome(path=path, audit=audited)
        from aligncheck.plan import plan

        return Outcome(path=path, audit=audited, plan=plan(audited))

    def _fix(self, path: str, bar: Callable[[str], AbstractContextManager[Bar]]) -> Outcome:
        from aligncheck.rewrite import fix

        output = self._output(path)
        with bar(path) as progress:
            result = fix(
                path,
                self.sources.askers(path),
                sidecar=False,
                backends=False,
                output=output,
                on_progress=progress.update,
            )
        return Outcome(
            path=path if output is None else output,
            audit=result.after,
            plan=result.plan,
            applied=result.applied,
            source=path,
            removed=result.removed,
        )

    def _output(self, path: str) -> str | None:
        if self.output_dir is None:
            return self.output
        try:
            os.makedirs(self.output_dir, exist_ok=True)
        except OSError as error:
            raise FixError(self.output_dir, f"cannot be made: {error.strerror}") from error
        return output_path(path, self.output_dir)

    def status(self, tally: Tally) -> int:
        """The exit status: 2 if a file could not be handled, 1 if something is wrong, else 0."""
        if tally.unreadable:
            return 2
        wrong = tally.violations or tally.fixable or (self.strict and tally.warnings)
        if self.exit_non_zero_on_fix and tally.fixed:
            return 1
        return 1 if wrong and not self.exit_zero else 0


def _readable(files: Sequence[str]) -> Iterator[Container]:
    for path in files:
        with suppress(BadFile):
            yield read_container(path)


def output_path(path: str, output_dir: str) -> str:
    """Where in `output_dir` the new file for a path is written."""
    return os.path.join(output_dir, os.path.basename(path))


def clashes(files: Sequence[str], output_dir: str | None) -> list[str]:
    """The files that would be written over each other, or over an input, in `output_dir`."""
    if output_dir is None:
        return []
    seen: dict[str, str] = {}
    inputs = {os.path.realpath(path) for path in files}
    found = []
    for path in files:
        # Not every file system tells apart what differs in case only.
        name = os.path.basename(path).casefold() if _FOLDS_CASE else os.path.basename(path)
        target = os.path.realpath(output_path(path, output_dir))
        if name in seen or (target in inputs and target != os.path.realpath(path)):
            found.append(path)
        seen[name] = path
    return found
