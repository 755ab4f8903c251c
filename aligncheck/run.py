"""One run over many files: what is done with each, and the exit status of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from aligncheck.audit import audit
from aligncheck.errors import BadFile, FixError
from aligncheck.outcome import Outcome, Tally
from aligncheck.plan import plan
from aligncheck.requests import Asker
from aligncheck.rewrite import fix


class Bar(Protocol):
    """Something that shows how far a fix is."""

    def update(self, done: int, total: int) -> None:
        """Called with the bytes that are done and the bytes in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What to do with the files.

    `output` is a file for the only one, `output_dir` a folder for all; without either a fix is
    made in place.
    """

    mode: Literal["audit", "diff", "fix"]
    askers: Sequence[Asker]
    output: str | None = None
    output_dir: str | None = None
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False

    def outcomes(
        self, files: Sequence[str], bar: Callable[[str], AbstractContextManager[Bar]]
    ) -> Iterator[Outcome]:
        """Each file's outcome; one bad file never keeps the others from being handled."""
        for path in files:
            try:
                yield self._handle(path, bar)
            except BadFile as error:
                yield Outcome(path=path, error=error)

    def _handle(self, path: str, bar: Callable[[str], AbstractContextManager[Bar]]) -> Outcome:
        if self.mode == "fix":
            return self._fix(path, bar)
        audited = audit(path, self.askers)
        planned = plan(audited) if self.mode == "diff" else None
        return Outcome(path=path, audit=audited, plan=planned)

    def _fix(self, path: str, bar: Callable[[str], AbstractContextManager[Bar]]) -> Outcome:
        output = self._output(path)
        with bar(path) as progress:
            result = fix(path, self.askers, output=output, on_progress=progress.update)
        return Outcome(
            path=path if output is None else output,
            audit=result.after,
            plan=result.plan,
            applied=result.applied,
            source=path,
        )

    def _output(self, path: str) -> str | None:
        if self.output_dir is None:
            return self.output
        try:
            os.makedirs(self.output_dir, exist_ok=True)
        except OSError as error:
            raise FixError(self.output_dir, f"cannot be made: {error.strerror}") from error
        return os.path.join(self.output_dir, os.path.basename(path))

    def status(self, tally: Tally) -> int:
        """The exit status: 2 if a file could not be handled, 1 if something is wrong, else 0."""
        if tally.unreadable:
            return 2
        wrong = tally.violations or tally.fixable
        if self.exit_non_zero_on_fix and tally.fixed:
            return 1
        return 1 if wrong and not self.exit_zero else 0


def clashes(files: Sequence[str], output_dir: str | None) -> list[str]:
    """The files that would be written over each other, or over an input, in `output_dir`."""
    if output_dir is None:
        return []
    seen: dict[str, str] = {}
    inputs = {os.path.realpath(path) for path in files}
    found = []
    for path in files:
        name = os.path.basename(path)
        target = os.path.realpath(os.path.join(output_dir, name))
        if name in seen or (target in inputs and target != os.path.realpath(path)):
            found.append(path)
        seen[name] = path
    return found
