"""What became of the paths of a run: what the reports are made from."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from aligncheck.errors import BadFile
from aligncheck.model import Audit

if TYPE_CHECKING:
    from aligncheck.plan import Plan


class Outcome(NamedTuple):
    """One path: the audit of the file there as it is now, or the error that prevented it.

    `plan` is set if a fix was asked for; `applied` is True if the plan was carried out, and
    `source` is then the path of the file that was read, and `removed` are the unfinished files of
    a killed run that were found beside it. `tolerated` says that the error is not to count.
    """

    path: str
    audit: Audit | None = None
    error: BadFile | None = None
    plan: "Plan | None" = None
    applied: bool = False
    source: str | None = None
    removed: tuple[str, ...] = ()
    tolerated: bool = False

    @property
    def changes(self) -> bool:
        """True if the file was changed or, if the plan was only made, would be."""
        return self.plan is not None and self.plan.changes

    @property
    def has_news(self) -> bool:
        """True if there is more to tell than that the file was audited."""
        audit = self.audit
        return audit is not None and bool(audit.findings or audit.remarks or self.changes)


class Tally:
    """The counts of a run, kept while its outcomes go by."""

    def __init__(self) -> None:
        self.files = 0
        self.entries = 0
        self.violations = 0
        self.warnings = 0
        self.unknown = 0
        self.unreadable = 0
        self.passed_over = 0
        self.fixed = 0
        self.fixable = 0

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
            self.passed_over += outcome.tolerated
            self.unreadable += not outcome.tolerated
            return
        self.entries += len(audit.container.entries)
        self.violations += audit.violations
        self.warnings += audit.warnings
        self.unknown += audit.unknown
