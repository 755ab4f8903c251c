"""Machine output, version 1: docs/aligncheck-v1.schema.json describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from aligncheck.model import (
    Audit,
    Container,
    Entry,
    Finding,
    Remark,
    Request,
    alignment_of,
    lcm_of,
)
from aligncheck.outcome import Outcome, Tally
from aligncheck.plan import Plan
from aligncheck.report import prose

Json = dict[str, object]


def render(outcomes: Iterable[Outcome], tally: Tally) -> Iterator[str]:
    """The document in pieces, a file at a time; `tally` is complete once the outcomes are."""
    yield '{"version": 1, "files": ['
    separator = ""
    for outcome in outcomes:
        yield f"{separator}\n  {dumps(file(outcome))}"
        separator = ","
    yield f'\n], "summary": {json.dumps(_summary(tally))}}}\n'


def dumps(value: Json) -> str:
    """JSON in one line. CI runners look for commands in lines, which begin with `##` or `::`."""
    return json.dumps(value).replace("##", "\\u0023#").replace("::", "\\u003a:")


def file(outcome: Outcome) -> Json:
    """One element of `files`."""
    result: Json = {"path": _text(outcome.path)}
    result |= _nothing() if outcome.audit is None else _audited(outcome.audit)
    if outcome.plan is not None:
        result["fix"] = _fix(outcome.plan, applied=outcome.applied)
    result["error"] = _text(outcome.error.reason) if outcome.error else None
    return result


def _summary(tally: Tally) -> Json:
    return {
        "files": tally.files,
        "entries": tally.entries,
        "violations": tally.violations,
        "warnings": tally.warnings,
        "unknown": tally.unknown,
        "unreadable": tally.unreadable,
    }


def _nothing() -> Json:
    return {
        "format": None,
        "size": None,
        "segment_base_offset": None,
        "segments": [],
        "entries": [],
        "findings": [],
        "unresolved": [],
    }


def _audited(audit: Audit) -> Json:
    container = audit.container
    judged = zip(audit.judged(), audit.users, strict=True)
    entries = sorted(judged, key=lambda item: item[0][0].absolute_offset or 0)
    return {
        "format": container.format,
        "size": container.size,
        "segment_base_offset": container.segment_base_offset,
        "segments": _segments(container),
        "entries": [_entry(*item, users) for item, users in entries],
        "findings": [*map(_finding, audit.findings), *map(_remark, audit.remarks)],
        "unresolved": [_text(key) for key in audit.unresolved],
    }


def _segments(container: Container) -> list[Json]:
    return [
        {
            "index": segment.index,
            "offset": segment.offset,
            "absolute_offset": segment.absolute_offset,
            "size": segment.size,
            "alignment": alignment_of(segment.absolute_offset),
        }
        for segment in container.segments
    ]


def _entry(entry: Entry, asked: tuple[Request, ...], ok: bool, users: tuple[str, ...]) -> Json:
    offset = entry.absolute_offset
    result: Json = {
        "kind": entry.kind,
        "name": _text(entry.name),
        "segment": entry.segment,
        "absolute_offset": offset,
        "size": entry.size,
        "alignment": None if offset is None else alignment_of(offset),
        "required": lcm_of(r.alignment for r in asked) if asked else None,
        "requests": [
            {"alignment": r.alignment, "origin": _text(r.origin), "level": r.level} for r in asked
        ],
        "ok": ok if asked else None,
    }
    if entry.kind == "named_data":
        result["used_by"] = [_text(user) for user in users]
    if entry.kind == "delegate":
        result |= {"backend": _text(entry.backend or ""), "method": _text(entry.method or "")}
    return result


def _finding(finding: Finding) -> Json:
    return {
        "rule": finding.rule,
        "level": finding.level,
        "entry": _text(finding.entry.name) if finding.entry else None,
        "segment": finding.segment,
        "absolute_offset": finding.absolute_offset,
        "required": finding.required,
        "actual": finding.actual,
        "remainder": finding.remainder,
        "cause": finding.cause,
        "message": _text(prose.message(finding)),
    }


def _remark(remark: Remark) -> Json:
    return {
        "rule": remark.rule,
        "level": remark.level,
        "entry": None if remark.key is None else _text(remark.key),
        "segment": remark.segment,
        "absolute_offset": remark.absolute_offset,
        "required": None,
        "actual": None,
        "remainder": None,
        "cause": None,
        "message": _text(prose.remark(remark)),
    }


def _fix(plan: Plan, *, applied: bool) -> Json:
    return {
        "applied": applied,
        "old_size": plan.old_size,
        "new_size": plan.new_size,
        "moves": [{"segment": m.segment, "from": m.old, "to": m.new} for m in plan.moves],
        "unfixable": [
            {
                "entry": _text(item.entry.name) if item.entry else None,
                "reason": _text(prose.why(item)),
            }
            for item in plan.unfixable
        ],
    }


def _text(text: str) -> str:
    """Text without the lone surrogates that file names can hold, which JSON readers refuse."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
