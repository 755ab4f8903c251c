"""Annotations for GitHub's workflows: one command a line, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose
from aligncheck.report.rules import BY_CODE


def render(outcomes: Iterable[Outcome], tally: Tally) -> Iterator[str]:
    """Lines, each with its line feed; `tally` is complete once the outcomes are."""
    for outcome in outcomes:
        for rule, level, message in _told(outcome):
            file = prose.shown(PurePath(outcome.path).as_posix(), 4096)
            title = BY_CODE[rule].title
            yield f"::{level} file={_property(file)},title={_property(title)}::{_data(message)}\n"
    yield f"{prose.summary(tally)}\n"


def _told(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    """Rule, level and message of everything that is wrong with a file."""
    if outcome.error is not None:
        yield "AC001", "error", prose.shown(outcome.error.reason, 4096)
    if outcome.audit is not None:
        for finding in outcome.audit.findings:
            yield finding.rule, finding.level, prose.message(finding)
        for remark in outcome.audit.remarks:
            yield remark.rule, remark.level, prose.remark(remark)


def _data(text: str) -> str:
    """The escapes that GitHub's runner undoes in a command's message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Those that it undoes in a command's property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
