"""SARIF 2.1.0: for code scanning. What GitHub's upload needs beyond the standard is there too."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from urllib.parse import quote

from aligncheck.model import Audit, Finding, Remark
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose
from aligncheck.report.json_v1 import dumps
from aligncheck.report.rules import BY_CODE, RULES, Rule
from aligncheck.version import __version__

Json = dict[str, object]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_NOTIFIED = BY_CODE["AC001"]
_RULES = [rule for rule in RULES if rule is not _NOTIFIED]
_INDEX = {rule.code: index for index, rule in enumerate(_RULES)}


def render(
    outcomes: Iterable[Outcome], _tally: Tally, *, version: str = __version__
) -> Iterator[str]:
    """The log in pieces, a file's results at a time; `version` is that of this program."""
    yield f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{{'
    yield f'"tool": {dumps(_tool(version))}, "results": ['
    notifications = []
    separator = "\n"
    for outcome in outcomes:
        if outcome.error is not None:
            notifications.append(_notification(outcome.path, outcome.error.reason))
        for result in _results(outcome):
            yield separator + dumps(result)
            separator = ",\n"
    invocation = {
        "executionSuccessful": not notifications,
        "toolExecutionNotifications": notifications,
    }
    yield f'\n], "invocations": [{dumps(invocation)}]}}]}}\n'


def _tool(version: str) -> Json:
    return {
        "driver": {
            "name": "aligncheck",
            "version": version,
            "semanticVersion": version,
            "rules": [_rule(rule) for rule in _RULES],
            "notifications": [_rule(_NOTIFIED)],
        }
    }


def _rule(rule: Rule) -> Json:
    markdown = f"**{rule.title}**: {rule.summary}\n\n{rule.help}"
    result: Json = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary} {rule.help}"},
        "help": {"text": rule.help, "markdown": markdown},
        "defaultConfiguration": {"level": rule.level},
    }
    return result if rule.uri is None else {**result, "helpUri": rule.uri}


def _results(outcome: Outcome) -> Iterator[Json]:
    audit = outcome.audit
    if audit is None:
        return
    seen: Counter[str] = Counter()
    for finding in audit.findings:
        yield _result(
            outcome.path, finding, prose.message(finding), _of_finding(audit, finding), seen
        )
    for remark in audit.remarks:
        yield _result(outcome.path, remark, prose.remark(remark), _of_remark(remark), seen)


def _result(
    path: str, item: Finding | Remark, message: str, facts: tuple[str, Json], seen: Counter[str]
) -> Json:
    name, region = facts
    fingerprint = _fingerprint(item.rule, _uri(path), name)
    seen[fingerprint] += 1
    unique = f"{fingerprint}:{seen[fingerprint]}"
    return {
        "ruleId": item.rule,
        "ruleIndex": _INDEX[item.rule],
        "level": item.level,
        "message": {"text": message},
        "locations": [_location(path, {"startLine": 1, **region})],
        # GitHub knows results again by the second name only, and would compute it from the line.
        "partialFingerprints": {"aligncheck/v1": unique, "primaryLocationLineHash": unique},
    }


def _of_finding(audit: Audit, finding: Finding) -> tuple[str, Json]:
    """What is violated, in words that stay when data moves, and where its bytes are."""
    entry, segment = finding.entry, finding.segment
    if entry is not None:
        name, size = f"{entry.kind} {entry.name}", entry.size
    else:
        assert segment is not None, "a finding without an entry is a segment's"
        name, size = f"segment {segment}", audit.container.segments[segment].size
    return f"{name} {finding.required}", _bytes(finding.absolute_offset, size)


def _of_remark(remark: Remark) -> tuple[str, Json]:
    name = f"{remark.key or ''} {remark.segment} {remark.other}"
    return name, _bytes(remark.absolute_offset, remark.size)


def _bytes(offset: int | None, size: int | None) -> Json:
    if offset is None:
        return {}
    return {"byteOffset": offset} if size is None else {"byteOffset": offset, "byteLength": size}


def _location(path: str, region: Json) -> Json:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _notification(path: str, reason: str) -> Json:
    return {
        "level": "error",
        "descriptor": {"id": _NOTIFIED.code, "index": 0},
        "message": {"text": prose.shown(f"{path}: {reason}", 8192)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}],
    }


def _uri(path: str) -> str:
    """Relative as it was given, without a leading `./`; bytes that are not UTF-8 are kept."""
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(os.fsencode(pure.as_posix()))


def _fingerprint(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "backslashreplace")
    return hashlib.sha256(joined).hexdigest()[:32]
