"""What became of the paths of a run: what the reports are made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aligncheck.errors import BadFile
from aligncheck.model import Audit
from aligncheck.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One path: the audit of the file there as it is now, or the error that prevented it.

    `plan` is set if a fix was asked for; `applied` is True if the plan was carried out, and
    `source` is then the path of the file that was read, and `removed` are the unfinished files of
    a killed run that were found beside it.
    """

    path: str
    audit: Audit | None = None
    error: BadFile | None = None
    plan: Plan | None = None
    applied: bool = False
    source: str | None = None
    removed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """True if the file was changed or, if the plan was only made, would be."""
        return self.plan is not None and self.plan.changes

    @property
    def has_news(self) -> bool:
        """True if there is more to tell than that the file was audited."""
        audit = self.audit
        return audit is not None and bool(audit.findings or audit.remarks or self.changes)


@dataclass(slots=True)
class Tally:
    """The counts of a run, kept while its outcomes go by."""

    files: int = 0
    entries: int = 0
    violations: int = 0
    warnings: int = 0
    unknown: int = 0
    unreadable: int = 0
    fixed: int = 0
    fixable: int = 0

    def watch(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """The same outcomes, each counted as it passes."""
        for outcome in outcomes:
            self._add(outcome)
            yield outcome

    def _add(self, outcome: Outcome) -> None:
        self.files += 1
        self.fixed += outcome.changes and outcome.applied
        self.fixable += outcome.changes and not outcome.applied
        audit = outcome.audit
        if audit is None:
            self.unreadable += 1
            return
        self.entries += len(audit.container.entries)
        self.violations += audit.violations
        self.warnings += audit.warnings
        self.unknown += audit.unknown
