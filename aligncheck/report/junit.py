"""JUnit's XML, as CI servers read it: a suite a file, a case an entry.

There is no schema that all readers share; what is written here is what all of them know. A
violation of level "warning" fails no case and is told as the case's output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from aligncheck.model import Audit, Finding, Level
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose
from aligncheck.report.markup import escaped
from aligncheck.report.rules import BY_CODE

_Told = tuple[str, Level, str]
"""The rule, the level and the message of something that is wrong."""


def render(outcomes: Iterable[Outcome], _tally: Tally) -> Iterator[str]:
    """The document in pieces, a suite at a time."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="aligncheck">\n'
    for outcome in outcomes:
        yield from _suite(outcome)
    yield "</testsuites>\n"


def _suite(outcome: Outcome) -> Iterator[str]:
    cases = list(_cases(outcome))
    failures = sum(level == "error" for _, told in cases for _, level, _ in told[:1])
    path = prose.shown(outcome.path, 4096)
    counts = {
        "name": path,
        "tests": str(len(cases)),
        "failures": "0" if outcome.error else str(failures),
        "errors": "1" if outcome.error else "0",
        "skipped": "0",
    }
    yield f"  <testsuite{_attributes(counts)}>\n"
    for name, told in cases:
        attributes = _attributes({"classname": path, "name": name})
        body = "".join(_body(told, "error" if outcome.error else "failure"))
        yield f"    <testcase{attributes}>{body}</testcase>\n"
    yield "  </testsuite>\n"


def _cases(outcome: Outcome) -> Iterator[tuple[str, list[_Told]]]:
    """The cases: names, and what is wrong, errors first."""
    if outcome.error is not None:
        reason = prose.shown(outcome.error.reason, 4096)
        yield BY_CODE["AC001"].title, [("AC001", "error", reason)]
    if outcome.audit is not None:
        yield from _entries(outcome.audit)
        yield from _segments(outcome.audit)
        yield from _remarks(outcome.audit)


def _entries(audit: Audit) -> Iterator[tuple[str, list[_Told]]]:
    found = {finding.entry: finding for finding in audit.findings}
    for entry in audit.container.entries:
        finding = found.get(entry)
        yield prose.shown(entry.name), [_told(finding)] if finding else []


def _segments(audit: Audit) -> Iterator[tuple[str, list[_Told]]]:
    """A case for each segment that somebody asked for."""
    found = {finding.segment: finding for finding in audit.findings if finding.entry is None}
    for index, asked in enumerate(audit.segment_requests):
        if asked:
            finding = found.get(index)
            yield f"segment {index}", [_told(finding)] if finding else []


def _remarks(audit: Audit) -> Iterator[tuple[str, list[_Told]]]:
    """A case for each rule about the whole file that has something to say."""
    for rule, remarks in groupby(audit.remarks, key=lambda remark: remark.rule):
        told: list[_Told] = [(rule, item.level, prose.remark(item)) for item in remarks]
        yield BY_CODE[rule].title, sorted(told, key=lambda item: item[1])


def _told(finding: Finding) -> _Told:
    return finding.rule, finding.level, prose.message(finding)


def _body(told: list[_Told], element: str) -> Iterator[str]:
    """One failure with all messages, or all of them as output if they are warnings."""
    if not told:
        return
    rule, level, first = told[0]
    text = escaped("\n".join(message for _, _, message in told))
    if level == "warning":
        yield f"<system-out>{rule} warning: {text}</system-out>"
    else:
        yield f"<{element}{_attributes({'type': rule, 'message': first})}>{text}</{element}>"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {name}="{escaped(value)}"' for name, value in values.items())
