"""Violations only, one line each: `--quiet`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.model import Finding
from aligncheck.outcome import Outcome
from aligncheck.report import prose


def render(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Lines, each with its line feed."""
    for outcome in outcomes:
        if outcome.audit is not None:
            path = prose.shown(outcome.path, 4096)
            for finding in outcome.audit.findings:
                yield f"{path}: {_line(finding)}\n"
            for remark in outcome.audit.remarks:
                yield f"{path}: {remark.rule} {remark.level}: {prose.remark(remark)}\n"


def _line(finding: Finding) -> str:
    return (
        f"{finding.rule} {finding.level}: {prose.subject(finding)} at {finding.absolute_offset}"
        f" needs {finding.required}, has {finding.actual}"
        f" ({prose.place(finding)}, {finding.cause}, asked by {prose.askers(finding.requests)})"
    )
